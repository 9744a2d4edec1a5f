/** The plugin with a homeserver, and runs of its account. */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { inspect } from "node:util";
import { GatewayError } from "@svc/sdk";
import {
  Channel,
  type ChannelReport,
  type InboundMessage,
  type OutboundMessage,
  type Receipt,
} from "@svc/sdk/channels";
import { contributionOf } from "@svc/sdk/testing";
import matrix from "../../../plugins/matrix/plugin.ts";
import { until } from "../../until.ts";
import { DIRECT, startServer, TOKEN } from "./server.ts";

/** Asserts that nothing shows the token. */
export const hidesToken = (value: unknown) =>
  assert.doesNotMatch(inspect(value, { depth: 10, showHidden: true }), /syt_secret|password-of/);

/** Asserts an error of the gateway that hides the token. */
export const rejects = async (promise: unknown, code: string, message: RegExp) =>
  assert.rejects(Promise.resolve(promise), (error: unknown) => {
    hidesToken(error);
    assert.ok(error instanceof GatewayError, String(error));
    assert.equal(error.code, code, error.message);
    assert.match(error.message, message);
    return true;
  });

export const channelOf = (t: TestContext, settings: object, stateDir?: string) =>
  contributionOf(t, Channel, "matrix", {
    plugin: matrix,
    config: { channels: { matrix: settings } },
    ...(stateDir === undefined ? {} : { stateDir }),
  });

export async function openScene(t: TestContext, settings: object = {}) {
  const server = await startServer(t);
  const channel = await channelOf(t, {
    homeserverUrl: server.url,
    accessToken: TOKEN,
    syncTimeoutMs: 1_000,
    ...settings,
  });
  return { server, channel, ...sceneOf(channel) };
}

/** Replaces the acceptance of a message. */
type Receive = (message: InboundMessage) => Receipt | void | Promise<Receipt | void>;

export function sceneOf(channel: Channel) {
  const [account] = channel.accounts;
  if (!account) throw new Error("no account");
  const call = { accountId: account.id, settings: account.settings, signal: new AbortController().signal };
  let count = 0;
  return {
    call,
    send: async (message: Partial<OutboundMessage> = {}) =>
      channel.send({ ...call, id: String(++count).padStart(32, "0"), to: DIRECT, text: "", ...message }),

    /** Runs the account until the test is over, or until `stop`. */
    start(t: TestContext, onReceive: Receive = () => undefined) {
      const stopping = new AbortController();
      const messages: InboundMessage[] = [];
      const reports: ChannelReport[] = [];
      let proofs = 0;
      const ended = channel
        .run({
          accountId: account.id,
          settings: account.settings,
          commands: [],
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
        async received(number: number) {
          await until(() => messages.length >= number, `${number} messages`);
          return messages;
        },
        reported: (state: ChannelReport["state"]) =>
          until(() => reports.at(-1)?.state === state, `the report ${state}`),
      };
    },
  };
}
