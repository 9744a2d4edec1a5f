/** The channel of a running gateway, one of its accounts, and what Slack sends. */
import { EventEmitter, once } from "node:events";
import type { TestContext } from "node:test";
import { definePlugin, type ExtensionView } from "@svc/sdk";
import { Channel, type ChannelReport, type InboundMessage, type Receipt } from "@svc/sdk/channels";
import { testGateway } from "@svc/sdk/testing";
import { openStateOf } from "../channels/states.ts";
import { BOT, TEAM } from "./server.ts";

export const ANN = "U0000000ANN";
export const ROOM = "C0000000001";
export const DIRECT = "D0000000001";
export const TOKENS = { botToken: "xoxb-secret-1", appToken: "xapp-secret-2" };

/** The contribution of the packaged plugin: its route needs the list in package.json. */
export async function slackChannel(t: TestContext, config: object, port = 0) {
  let view: ExtensionView<Channel> | undefined;
  const owner = definePlugin({
    id: "owner",
    api: "^1.0.0",
    setup: (gateway) => void (view = gateway.own(Channel)),
  });
  const { gateway } = await testGateway(t, {
    plugins: ["slack", owner],
    config: { channels: { slack: config } },
    gateway: { port },
  });
  const channel = view?.get("slack")?.value;
  if (!channel) throw new Error(`no channel: ${JSON.stringify(gateway.plugins())}`);
  return { channel, address: gateway.url.replace(/^ws/, "http") };
}

type Receive = (message: InboundMessage) => Receipt | Promise<Receipt>;

/** Runs an account until the test is over, or `stop`. */
export function startAccount(t: TestContext, channel: Channel, receive?: Receive, accountId = "default") {
  const account = channel.accounts.find(({ id }) => id === accountId) ?? channel.accounts[0];
  if (!account) throw new Error("no account");
  const controller = new AbortController();
  const news = new EventEmitter();
  const messages: InboundMessage[] = [];
  const reports: ChannelReport[] = [];
  let lives = 0;
  let isOver = false;
  const happened = () => void news.emit("news");
  const ended = channel
    .run({
      accountId: account.id,
      settings: account.settings,
      commands: ["status", "help"].map((name) => ({ name, description: name })),
      signal: controller.signal,
      openState: openStateOf(channel, account.id),
      async receive(message) {
        const receipt = await (receive?.(message) ?? { accepted: true, sessionKey: "agent:main:main" });
        messages.push(structuredClone(message));
        happened();
        return receipt;
      },
      report: (report) => {
        reports.push(report);
        happened();
      },
      alive: () => {
        lives += 1;
        happened();
      },
    })
    .finally(() => {
      isOver = true;
      happened();
    });
  ended.catch(() => undefined);
  const stop = async () => {
    controller.abort();
    await ended.catch(() => undefined);
  };
  t.after(stop);
  const until = async (holds: () => boolean): Promise<void> => {
    while (!holds()) {
      if (isOver) throw new Error(`the run ended: ${JSON.stringify(reports)}`);
      await once(news, "news");
    }
  };
  return {
    account,
    messages,
    reports,
    ended,
    stop,
    until,
    lives: () => lives,
    states: () => reports.map(({ state }) => state),
    connected: () => until(() => reports.at(-1)?.state === "connected"),
    async received(count: number) {
      await until(() => messages.length >= count);
      return messages;
    },
  };
}

let seconds = 1_700_000_000;
export const nextTs = () => `${++seconds}.000100`;

/** The body of an event. */
export const callback = (event: object, eventId = `Ev${++seconds}`) => ({
  type: "event_callback",
  team_id: TEAM,
  event_id: eventId,
  event,
});

/** The body of a message event. */
export const said = (text: string, more: object = {}) => {
  const ts = nextTs();
  return callback({ type: "message", channel: DIRECT, channel_type: "im", user: ANN, text, ts, ...more });
};

export const inRoom = (text: string, more: object = {}) =>
  said(text, { channel: ROOM, channel_type: "channel", ...more });

export const mention = `<@${BOT}>`;
