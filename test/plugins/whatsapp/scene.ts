/** The plugin in a gateway, beside a Cloud API, and runs of its accounts. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { inspect } from "node:util";
import { GatewayError } from "@svc/sdk";
import { Channel, type ChannelReport, type ChannelRun, type InboundMessage } from "@svc/sdk/channels";
import type { OutboundMessage, Receipt } from "@svc/sdk/channels";
import { accountStateInMemory, testGateway } from "@svc/sdk/testing";
import { pluginOf } from "../../plugin-of.ts";
import { until } from "../../until.ts";
import { ADA, NUMBER_ID, SECRET, startServer, TOKEN, VERIFY } from "./server.ts";

/** Milliseconds after which a group of tests has failed. */
export const SUITE_MS = 120_000;
export const LOGIN = { phoneNumberId: NUMBER_ID, accessToken: TOKEN, appSecret: SECRET, verifyToken: VERIFY };

/** Asserts that nothing shows a secret. */
export function hidesSecrets(value: unknown): void {
  const shown = inspect(value, { depth: 10, showHidden: true });
  for (const secret of [TOKEN, SECRET, VERIFY]) assert.ok(!shown.includes(secret), shown);
}

/** Asserts an error of the gateway that hides the secrets. */
export const rejects = (promise: unknown, code: string, message: RegExp, retryAfterMs?: number) =>
  assert.rejects(Promise.resolve(promise), (error: unknown) => {
    hidesSecrets(error);
    assert.ok(error instanceof GatewayError, String(error));
    assert.deepEqual([error.code, error.retryAfterMs], [code, retryAfterMs], error.message);
    assert.match(error.message, message);
    return true;
  });

/** `receive` replaces the acceptance of a message. */
type RunOptions = { readonly accountId?: string; readonly receive?: (message: InboundMessage) => Receipt | undefined };

/** A gateway with the plugin and its server. The extension point has no other owner: the test runs the accounts. */
export async function openScene(t: { after(cleanUp: () => Promise<void>): void }, settings: object = {}) {
  const server = await startServer(t);
  let find = (): Channel | undefined => undefined;
  const owner = pluginOf("channel-owner", (gateway) => {
    const view = gateway.own(Channel);
    find = () => view.get("whatsapp")?.value;
  });
  const whatsapp = { ...LOGIN, graphUrl: server.graphUrl, ...settings };
  const { gateway } = await testGateway(t, { plugins: ["whatsapp", owner], config: { channels: { whatsapp } } });
  const channel = find() ?? assert.fail(JSON.stringify(gateway.plugins()));
  server.state.gateway = `http://127.0.0.1:${gateway.port}`;
  const factsOf = (accountId: string) => {
    const account = channel.accounts.find(({ id }) => id === accountId) ?? assert.fail(accountId);
    return { accountId, settings: account.settings, signal: new AbortController().signal };
  };
  const call = factsOf("default");

  /** Runs an account until the test is over, or until `stop`. */
  function start({ accountId = "default", receive = () => undefined }: RunOptions = {}) {
    const stopping = new AbortController();
    const messages: InboundMessage[] = [];
    const reports: ChannelReport[] = [];
    let proofs = 0;
    const run: ChannelRun = {
      ...factsOf(accountId),
      commands: [],
      async receive(message) {
        const receipt = receive(message) ?? { accepted: true, sessionKey: "agent:main:test" };
        if (receipt.accepted) messages.push(structuredClone(message));
        return receipt;
      },
      report: (report) => void reports.push(report),
      alive: () => void proofs++,
      openState: accountStateInMemory(),
      signal: stopping.signal,
    };
    const ended = channel.run(run);
    ended.catch(() => undefined); // the test may look at it later
    const stop = () => (stopping.abort(), ended);
    t.after(() => stop().catch(() => undefined));
    const reported = (state: ChannelReport["state"]) =>
      until(() => reports.at(-1)?.state === state, `the report ${state}`);
    return { messages, reports, ended, stop, reported, proofs: () => proofs };
  }

  return {
    server,
    channel,
    call,
    start,
    /** A run that is connected. */
    async run(options: RunOptions = {}) {
      const running = start(options);
      await running.reported("connected");
      return running;
    },
    send: async (message: Partial<OutboundMessage> = {}) =>
      channel.send({ ...call, id: randomBytes(16).toString("hex"), to: ADA, text: "", ...message }),
  };
}
