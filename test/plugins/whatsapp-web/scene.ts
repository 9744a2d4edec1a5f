/** A gateway with the channel, linked with a number on the server of the test; and Ada, who writes to it. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { type Channel, channelLogin, channels, ChannelTransport } from "@svc/sdk/channels";
import { Storage } from "@svc/sdk/storage";
import { testGateway } from "@svc/sdk/testing";
import type { Settings } from "../../../plugins/whatsapp-web/settings.ts";
import { pluginOf } from "../../plugin-of.ts";
import { sceneOf } from "../channels/direct-scene.ts";
import { type MemoryStorage, memoryStorage } from "../channels/memory-storage.ts";
import { startScene, until } from "../channels/scene.ts";
import { createPerson } from "./person.ts";
import { type FakeWhatsApp, startServer } from "./server.ts";

/** The number that the gateway is linked with. */
export const OWN = "4915100000001";
export const ADA = "4915100000002";
export const EVE = "4915100000003";
export const GROUP = "120363000000000001@g.us";

/** Milliseconds after which a group of tests has failed. */
export const SUITE_MS = 120_000;

/** Nobody knows the certificate of the server of files. */
export const trustAll = () => void (process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = "0");

export type Gateway = Awaited<ReturnType<typeof gatewayFor>>;

/** A gateway whose number is not linked yet. @param more `channels.whatsapp` */
export async function gatewayFor(t: TestContext, server: FakeWhatsApp, more: object = {}) {
  const stateDir = await mkdtemp(join(tmpdir(), "svc-whatsapp-"));
  t.after(() => rm(stateDir, { recursive: true, force: true, maxRetries: 10 }));
  const config = {
    agents: { defaults: { skipBootstrap: true } },
    channels: { whatsapp: { transport: "web", webUrl: server.url, allowFrom: [ADA], ...more } },
  };
  await writeFile(join(stateDir, "svc.json"), JSON.stringify(config));
  return gatewayOf(t, server, stateDir);
}

/** A gateway with the state of an earlier one. */
export async function gatewayOf(t: TestContext, server: FakeWhatsApp, stateDir: string) {
  const scene = await startScene(t, ["config", "whatsapp", "whatsapp-web"], {
    stateDir,
    gateway: { config: undefined },
  });
  const { client } = scene;
  const account = async () => (await client.call(channels.status, {})).channelAccounts["whatsapp"]?.[0];
  const section = async () => {
    const { channels } = JSON.parse(await readFile(join(stateDir, "svc.json"), "utf8")) as {
      readonly channels: { readonly whatsapp: Readonly<Record<string, unknown>> };
    };
    return channels.whatsapp;
  };
  /** Begins a login and fills in its form. */
  async function begins(answers: Readonly<Record<string, string>> = {}) {
    const { loginId } = await client.call(channelLogin.start, { channel: "whatsapp" });
    const next = (more = {}) => client.call(channelLogin.next, { loginId, answers: more });
    const { step } = await next(answers);
    return { step, next };
  }
  return {
    ...scene,
    stateDir,
    account,
    /** `channels.whatsapp` in the file. */
    section,
    begins,
    connects: () => until(async () => (await account())?.connected, "the connection"),
    /** Links the number by a QR code. */
    async links() {
      const { step, next } = await begins();
      const done = next();
      await server.scans(step.qr ?? "", OWN);
      await done;
    },
  };
}

/** A linked gateway, and Ada. @param more `channels.whatsapp` */
export async function linked(t: TestContext, more: object = {}) {
  const server = await startServer(t);
  server.name(OWN, "Agent");
  const ada = await createPerson(t, server, ADA);
  const gateway = await gatewayFor(t, server, more);
  await gateway.links();
  await gateway.connects();
  return { server, ada, ...gateway };
}

/** What a channel needs beside the network. */
export interface World {
  readonly memory: MemoryStorage;
  readonly settings: Settings;
}

export function worldOf(server: { readonly url: string }, more: Partial<Settings> = {}): World {
  const usual = { number: OWN, selfChat: false, sendReadReceipts: true, showOnline: false, pingMs: 30_000 };
  return { memory: memoryStorage(), settings: { ...usual, webUrl: server.url, ...more } };
}

/** The transport alone, as a channel with one account. A second one with the same world is a restarted gateway. */
export async function channelOf(t: TestContext, { memory, settings }: World): Promise<Channel> {
  let find = (): ChannelTransport<Settings> | undefined => undefined;
  const storage = pluginOf("storage-test", { provides: [Storage] }, (gateway) => {
    gateway.provide(Storage, memory.storage);
  });
  const owner = pluginOf("transport-owner", (gateway) => {
    const view = gateway.own(ChannelTransport);
    find = () => view.get("whatsapp.web")?.value as ChannelTransport<Settings>; // of this plugin
  });
  await testGateway(t, { plugins: [storage, owner, "whatsapp-web"] });
  const transport = find();
  if (!transport) throw new Error("the plugin contributes nothing");
  return { ...transport, label: "WhatsApp", accounts: [{ id: "default", settings }] };
}

/** A linked number without a gateway around it, and Ada. */
export async function linkedChannel(t: TestContext, more: Partial<Settings> = {}) {
  const server = await startServer(t);
  server.name(OWN, "Agent");
  const ada = await createPerson(t, server, ADA);
  const world = worldOf(server, more);
  const channel = await channelOf(t, world);
  await link(channel, server);
  return { server, ada, world, channel, ...sceneOf(channel, ADA) };
}

/** Links the account of a channel by a QR code. */
export async function link({ login, accounts }: Channel, server: FakeWhatsApp): Promise<void> {
  const [{ id: accountId, settings } = { id: "", settings: undefined }] = accounts;
  const call = { accountId, settings, answers: {}, signal: new AbortController().signal };
  const step = await login?.next({ ...call, state: undefined });
  if (step?.kind !== "show") throw new Error("no code");
  const done = login?.next({ ...call, state: step.state });
  await server.scans(step.qr ?? "", OWN);
  await done;
}
