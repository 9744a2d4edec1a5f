/** The plugin with a BlueBubbles server, and runs of its account. */
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
import imessage from "../../../plugins/imessage/plugin.ts";
import { until } from "../../until.ts";
import { ANN, PASSWORD, startServer } from "./server.ts";

/** Asserts that nothing shows the password. */
export const hidesPassword = (value: unknown) =>
  assert.doesNotMatch(inspect(value, { depth: 10, showHidden: true }), /pass(?:&|%26)word/);

/** Asserts an error of the gateway that hides the password. */
export const rejects = async (promise: unknown, code: string, message: RegExp) =>
  assert.rejects(Promise.resolve(promise), (error: unknown) => {
    hidesPassword(error);
    assert.ok(error instanceof GatewayError, String(error));
    assert.equal(error.code, code, error.message);
    assert.match(error.message, message);
    return true;
  });

export const channelOf = (t: TestContext, settings: object) =>
  contributionOf(t, Channel, "imessage", { plugin: imessage, config: { channels: { imessage: settings } } });

export async function openScene(t: TestContext, settings: object = {}) {
  const server = await startServer(t);
  const channel = await channelOf(t, { serverUrl: server.url, password: PASSWORD, pollMs: 50, ...settings });
  return { server, channel, ...sceneOf(channel) };
}

export function sceneOf(channel: Channel) {
  const [account] = channel.accounts;
  if (!account) throw new Error("no account");
  const { id: accountId, settings } = account;
  const call = { accountId, settings, signal: new AbortController().signal };
  return {
    call,
    send: async (message: Partial<OutboundMessage> = {}) =>
      channel.send({ ...call, id: "0".repeat(32), to: ANN, text: "", ...message }),

    /** Runs the account until the test is over, or until `stop`. @param onReceive runs before a message counts as received */
    start(t: TestContext, onReceive: (message: InboundMessage) => Receipt | void = () => undefined) {
      const stopping = new AbortController();
      const messages: InboundMessage[] = [];
      const reports: ChannelReport[] = [];
      let proofs = 0;
      const ended = channel
        .run({
          accountId,
          settings,
          commands: [],
          async receive(message) {
            const receipt = onReceive(message);
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
        /** Rejects with the error of the run. */
        failed: () => ended.then((error) => Promise.reject(error as Error)),
        stop,
        proofs: () => proofs,
        async received(count: number) {
          await until(() => messages.length >= count, `${count} messages`);
          return messages;
        },
        reported: (state: ChannelReport["state"]) =>
          until(() => reports.at(-1)?.state === state, `the report ${state}`),
      };
    },
  };
}
