/** A channel without a gateway: runs of its account, calls, and refusals. */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { inspect } from "node:util";
import { GatewayError } from "@svc/sdk";
import type { Channel, ChannelReport, InboundMessage, MenuCommand, OutboundMessage, Receipt } from "@svc/sdk/channels";
import { until } from "../../until.ts";
import { openStateOf } from "./states.ts";

/** Asserts errors of the gateway that hide a secret. */
export function refusalsWithout(secret: RegExp) {
  const hides = (value: unknown) => assert.doesNotMatch(inspect(value, { depth: 10, showHidden: true }), secret);
  const rejects = async (promise: unknown, code: string, message: RegExp) =>
    assert.rejects(Promise.resolve(promise), (error: unknown) => {
      hides(error);
      assert.ok(error instanceof GatewayError, String(error));
      assert.equal(error.code, code, error.message);
      assert.match(error.message, message);
      return true;
    });
  return { hides, rejects };
}

/** Replaces the acceptance of a message. */
export type Receive = (message: InboundMessage) => Receipt | void | Promise<Receipt | void>;

/** @param to recipient of sent messages */
export function sceneOf(channel: Channel, to: string) {
  const [account] = channel.accounts;
  if (!account) throw new Error("no account");
  const call = { accountId: account.id, settings: account.settings, signal: new AbortController().signal };
  let count = 0;
  return {
    call,
    send: async (message: Partial<OutboundMessage> = {}) =>
      channel.send({ ...call, id: String(++count).padStart(32, "0"), to, text: "", ...message }),

    /** Runs the account until the test is over, or until `stop`. */
    start(t: TestContext, onReceive: Receive = () => undefined, commands: readonly MenuCommand[] = []) {
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
          openState: openStateOf(channel, account.id),
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
