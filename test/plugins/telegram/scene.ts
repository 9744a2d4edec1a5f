/** The plugin with a Bot API server, and runs of its account. */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { inspect } from "node:util";
import { GatewayError } from "@svc/sdk";
import {
  Channel,
  type ChannelReport,
  type InboundMessage,
  type MenuCommand,
  type OutboundMessage,
  type Receipt,
} from "@svc/sdk/channels";
import { contributionOf } from "@svc/sdk/testing";
import telegram from "../../../plugins/telegram/plugin.ts";
import { until } from "../../until.ts";
import { startBotServer, TOKEN } from "./server.ts";

export const CHAT = 77;
export const GROUP = -100_500;
export const ann = { id: CHAT, is_bot: false, first_name: "Ann", last_name: "Lee", username: "ann" };
const place = { id: CHAT, type: "private", first_name: "Ann" };
let messageIds = 100;

/** An update with a text of Ann. */
export const says = (text: string, more: object = {}) => ({
  message: { message_id: ++messageIds, date: 1_700_000_000, chat: place, from: ann, text, ...more },
});

/** Asserts that nothing shows the token. */
export const hidesToken = (value: unknown) =>
  assert.doesNotMatch(inspect(value, { depth: 10, showHidden: true }), /token-of/);

/** Asserts an error of the gateway that hides the token. */
export const rejects = async (promise: unknown, code: string, message: RegExp) =>
  assert.rejects(Promise.resolve(promise), (error: unknown) => {
    hidesToken(error);
    assert.ok(error instanceof GatewayError);
    assert.equal(error.code, code, error.message);
    assert.match(error.message, message);
    return true;
  });

/** A refusal of Telegram. */
export const refusal = (description: string, error_code = 400, parameters = {}) => ({
  error_code,
  description,
  parameters,
});

export const channelOf = (t: TestContext, settings: object) =>
  contributionOf(t, Channel, "telegram", { plugin: telegram, config: { channels: { telegram: settings } } });

export async function openScene(t: TestContext, settings: object = {}) {
  const server = await startBotServer(t);
  const channel = await channelOf(t, { botToken: TOKEN, apiRoot: server.apiRoot, pollSeconds: 1, ...settings });
  return { server, channel, ...sceneOf(channel) };
}

type RunOptions = {
  /** Runs before a message counts as received. */
  readonly onReceive?: (message: InboundMessage) => Receipt | void | Promise<Receipt | void>;
  readonly commands?: readonly MenuCommand[];
};

export function sceneOf(channel: Channel) {
  const [account] = channel.accounts;
  if (!account) throw new Error("no account");
  const call = { accountId: account.id, settings: account.settings, signal: new AbortController().signal };
  return {
    call,
    send: async (message: Partial<OutboundMessage> = {}) =>
      channel.send({ ...call, id: "0".repeat(32), to: String(CHAT), text: "", ...message }),

    /** Runs the account until the test is over, or until `stop`. */
    start(t: TestContext, { onReceive = () => undefined, commands = [] }: RunOptions = {}) {
      const stopping = new AbortController();
      const messages: InboundMessage[] = [];
      const reports: ChannelReport[] = [];
      let proofs = 0;
      const ended = channel
        .run({
          accountId: account.id,
          settings: account.settings,
          commands,
          async receive(message) {
            const receipt = await onReceive(message);
            if (receipt?.accepted !== false) messages.push(structuredClone(message));
            return receipt ?? { accepted: true, sessionKey: "agent:main:test" };
          },
          report: (report) => void reports.push(report),
          alive: () => void proofs++,
          signal: stopping.signal,
        })
        .then(
          () => undefined,
          (error: unknown) => error,
        );
      const stop = () => (stopping.abort(), ended);
      t.after(stop);
      return {
        messages,
        reports,
        /** Resolves with the error of the run, if any. */
        ended,
        stop,
        proofs: () => proofs,
        async received(count: number) {
          await until(() => messages.length >= count, `${count} messages`, 3_000);
          return messages;
        },
        reported: (state: ChannelReport["state"]) =>
          until(() => reports.at(-1)?.state === state, `the report ${state}`, 3_000),
      };
    },
  };
}
