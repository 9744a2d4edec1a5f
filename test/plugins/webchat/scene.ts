/** The plugin in a gateway, and runs of its accounts. */
import type { TestContext } from "node:test";
import type { Plugin } from "@svc/sdk";
import {
  Channel,
  type ChannelAccount,
  type InboundMessage,
  type OutboundMessage,
  type Receipt,
} from "@svc/sdk/channels";
import { accountStateInMemory, testGateway } from "@svc/sdk/testing";
import { randomBytes } from "node:crypto";
import { pluginOf } from "../../plugin-of.ts";
import { until } from "../../until.ts";
import { meet, openSocket, ORIGIN, type SocketOptions } from "./visitor.ts";

export const SUITE_MS = 120_000;

export interface SceneOptions {
  readonly stateDir?: string;
  /** Replaces the acceptance of a message. */
  readonly receive?: (message: InboundMessage, signal: AbortSignal) => Promise<Receipt> | undefined;
}

/** Starts a gateway whose accounts the test runs itself. */
export async function scene(t: TestContext, website: object = {}, { stateDir, receive }: SceneOptions = {}) {
  let find = (): Channel | undefined => undefined;
  const owner: Plugin = pluginOf("channel-owner", (gateway) => {
    const view = gateway.own(Channel);
    find = () => view.get("website")?.value;
  });
  const { gateway, connect } = await testGateway(t, {
    plugins: ["storage-sqlite", "webchat", owner],
    config: { channels: { website: { allowedOrigins: [ORIGIN], ...website } } },
    ...(stateDir === undefined ? {} : { stateDir }),
  });
  const channel = find();
  if (!channel) throw new Error(`the plugin contributes nothing: ${JSON.stringify(gateway.plugins())}`);
  const http = gateway.url.replace(/^ws/, "http");
  const messages: InboundMessage[] = [];

  /** Runs an account until the end of the test. */
  async function run(accountId = "default") {
    const account = accountOf(channel as Channel, accountId); // checked above
    const ending = new AbortController();
    let isConnected = false;
    const ended = (channel as Channel).run({
      accountId,
      settings: account.settings,
      commands: [],
      signal: ending.signal,
      alive: () => undefined,
      openState: accountStateInMemory(),
      report: ({ state }) => (isConnected = state === "connected"),
      async receive(message) {
        const receipt = await receive?.(message, ending.signal);
        messages.push(structuredClone(message));
        return receipt ?? { accepted: true, sessionKey: "main" };
      },
    });
    await until(() => isConnected, "the connection");
    const stop = async () => {
      ending.abort();
      await ended;
    };
    t.after(stop);
    return { stop };
  }

  const facts = (accountId = "default") => ({
    accountId,
    settings: accountOf(channel, accountId).settings,
    signal: new AbortController().signal,
  });
  return {
    gateway,
    connect,
    channel,
    http,
    messages,
    run,
    facts,
    send: (to: string, message: Partial<OutboundMessage>) =>
      channel.send({ ...facts(), id: randomBytes(16).toString("hex"), to, text: "", ...message }),
    open: (options?: SocketOptions) => openSocket(t, http, options),
    meet: (options?: SocketOptions & { readonly token?: string }) => meet(t, http, options),
  };
}

function accountOf({ accounts }: Channel, id: string): ChannelAccount {
  const account = accounts.find((one) => one.id === id);
  if (!account) throw new Error(`no account ${id}`);
  return account;
}
