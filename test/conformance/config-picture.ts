/** The visible effects of a gateway's configuration: two pictures differ if a key took effect between them. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { agents } from "@svc/sdk/agents";
import { type Message, models } from "@svc/sdk/models";
import type { InboundAddress } from "@svc/sdk/sessions";
import type { TestGateway } from "@svc/sdk/testing";
import { connectFrame, openRaw } from "../raw-socket.ts";
import type { Bundle } from "./config-bundle.ts";
import { hooksPicture } from "./hooks-picture.ts";
import { approvalsPicture, devicesPicture, nodesPicture, secretsPicture } from "./people-pictures.ts";

type Look = (bundle: Bundle, client: TestGateway["client"]) => Promise<unknown>;

/** By section; another test must check each key of a section that is missing here. */
export const PICTURES: Readonly<Record<string, Look>> = {
  async gateway(bundle) {
    const { gateway } = bundle;
    const http = gateway.url.replace("ws", "http");
    const me = (headers: Record<string, string>) =>
      fetch(`${http}/plugins/probe/me`, { headers }).then((answer) => answer.text());
    return {
      auth: structuredClone(gateway.auth),
      asProxied: await me({ "x-forwarded-for": "203.0.113.7" }),
      realIp: await me({ "x-real-ip": "203.0.113.8" }),
      aliased: await me({ "x-acme-agent-id": "a1" }),
      fromPage: await connected(bundle, "https://page.example"),
      fromHost: await connected(bundle, "http://gateway.example", "gateway.example"),
    };
  },
  logging: ({ inside }) => Promise.resolve(inside.logLevel()),
  async agents({ inside }, client) {
    const run = async (sessionKey: string) => {
      const params = { message: "hi", sessionKey, idempotencyKey: `picture-${++serial}` };
      inside.asked.length = 0;
      const { status, summary } = await client
        .call(agents.run, params, { expectFinal: true })
        .catch((error: Error) => ({
          status: "refused",
          summary: error.message,
        }));
      const [first] = inside.asked;
      const { model, system, thinking } = first?.request ?? {};
      return { status, summary, model, system, thinking };
    };
    const list = await client.call(agents.list, {});
    return {
      list,
      infos: inside.agents().list(),
      hearts: inside
        .agents()
        .list()
        .map(({ id }) => inside.agents().heartbeat(id)),
      models: await client.call(models.list, {}),
      aliases: (await client.call(models.status, {})).aliases,
      run: await run("main"),
    };
  },
  async messages({ inside }) {
    const runs = inside.runs();
    return [await runs.queueMode("agent:main:main"), await runs.queueMode("agent:main:main", "acme")];
  },
  async models({ inside }, client) {
    const list = await client.call(models.list, {});
    const status = await client.call(models.status, {});
    const ask = async (ref: string | undefined) => {
      inside.asked.length = 0;
      try {
        const model = inside.models().resolve(ref);
        const request = { model, system: "", messages: [] as Message[], tools: [] };
        const events = [];
        for await (const event of inside.models().stream(request, new AbortController().signal)) events.push(event);
        return { asked: structuredClone(inside.asked), events };
      } catch (error) {
        return (error as Error).message;
      }
    };
    return { list, status, byDefault: await ask(undefined), acme: await ask("acme/sample") };
  },
  async session({ inside }) {
    const sessions = inside.sessions();
    const routes = ADDRESSES.map((address) => sessions.route(address));
    const policies = KEYS.map((key) => sessions.sendPolicy(key, undefined));
    return Promise.resolve({ defaults: sessions.defaults(), routes, policies });
  },
  hooks: hooksPicture,
  devices: devicesPicture,
  "gateway.nodes": nodesPicture,
  approvals: (_bundle, client) => approvalsPicture(client),
  secrets: (_bundle, client) => secretsPicture(client),
  bindings: ({ inside }) => Promise.resolve(ADDRESSES.map((address) => inside.sessions().route(address))),
  "storage-sqlite": ({ stateDir }) =>
    Promise.resolve(readdirSync(join(stateDir, "plugins/storage-sqlite")).filter((name) => name.endsWith("-wal"))), // open
};

let serial = 0;

const KEYS = [
  "agent:main:main",
  "agent:main:acme:direct:ann",
  "agent:main:sample:direct:ann",
  "agent:main:sample:group:g1",
];

const ADDRESSES: readonly InboundAddress[] = [
  { channel: "acme", peer: { kind: "direct", id: "sample" } },
  { channel: "acme", peer: { kind: "direct", id: "ann" } },
  { channel: "sample", peer: { kind: "direct", id: "sample" } },
  { channel: "sample", accountId: "sample", peer: { kind: "direct", id: "ann" } },
  { channel: "sample", peer: { kind: "group", id: "sample" } },
  { channel: "sample", guildId: "sample", roles: ["sample"], peer: { kind: "channel", id: "c" } },
  { channel: "sample", teamId: "sample", peer: { kind: "channel", id: "c" } },
];

/** The outcome for a page that knows the secret. */
async function connected({ gateway }: Bundle, origin: string, host?: string): Promise<string> {
  const socket = await openRaw(gateway.url, { origin, ...(host ? { host } : {}) });
  socket.send(connectFrame(gateway.auth.token));
  const { ok, error } = await socket.next(({ id }) => id === "c1");
  socket.ws.close();
  await socket.closed;
  return ok ? "ok" : (error?.message ?? "?");
}
