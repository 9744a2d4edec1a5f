/** The plugin in a gateway with an HTTP server, and runs of its accounts. */
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
import { testGateway } from "@svc/sdk/testing";
import { pluginOf } from "../../plugin-of.ts";
import { until } from "../../until.ts";
import { ADA, said, SECRETS, startServer } from "./server.ts";

export const SUITE_MS = 120_000;

/** Asserts an error of the gateway that hides all secrets. */
export const rejects = (promise: unknown, code: string, message: RegExp) =>
  assert.rejects(Promise.resolve(promise), (error: unknown) => {
    assert.doesNotMatch(inspect(error, { depth: 10 }), SECRETS);
    assert.ok(error instanceof GatewayError, String(error));
    assert.equal(error.code, code, error.message);
    assert.match(error.message, message);
    return true;
  });

type Receive = (message: InboundMessage) => Promise<Receipt | void> | void;

export async function openScene(t: TestContext, settings: object = {}, stateDir?: string) {
  const server = await startServer(t);
  let find = (): Channel | undefined => undefined;
  const owner = pluginOf("channel-owner", (gateway) => {
    const view = gateway.own(Channel);
    find = () => view.get("msteams")?.value;
  });
  const msteams = { ...server.settings, ...server.login, ...settings };
  const { gateway } = await testGateway(t, {
    plugins: ["msteams", owner],
    config: { channels: { msteams } },
    ...(stateDir === undefined ? {} : { stateDir }),
  });
  const channel = find() ?? assert.fail("the plugin contributes no channel");
  const account = channel.accounts[0] ?? assert.fail("no account");
  server.meets(gateway.url.replace(/^ws/, "http"));
  const call = { accountId: account.id, settings: account.settings, signal: new AbortController().signal };

  /** Runs the account until the test is over, or until `stop`. */
  function start(receive: Receive = () => undefined) {
    const stopping = new AbortController();
    const messages: InboundMessage[] = [];
    const reports: ChannelReport[] = [];
    const ended = channel
      .run({
        accountId: account.id,
        settings: account.settings,
        commands: [],
        alive: () => undefined,
        report: (report) => void reports.push(report),
        signal: stopping.signal,
        async receive(message) {
          const receipt = await receive(message);
          messages.push(structuredClone(message));
          return receipt ?? { accepted: true, sessionKey: "agent:main:test" };
        },
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
      ended,
      stop,
      reported: (state: ChannelReport["state"]) => until(() => reports.at(-1)?.state === state, `the report ${state}`),
    };
  }

  return {
    server,
    channel,
    call,
    start,
    async run(receive?: Receive) {
      const running = start(receive);
      await running.reported("connected");
      return running;
    },
    async meet() {
      const running = start();
      await running.reported("connected");
      await server.delivers(said("hi"));
      running.messages.length = 0;
      return running;
    },
    send: async (message: Partial<OutboundMessage> = {}) =>
      channel.send({ ...call, id: "0".repeat(32), to: `user:${ADA}`, text: "", ...message }),
  };
}
