/** The plugin in a gateway, beside a Cloud API, and runs of its accounts. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { inspect } from "node:util";
import { GatewayError } from "@svc/sdk";
import {
  Channel,
  type ChannelAccount,
  type ChannelReport,
  type InboundMessage,
  type OutboundMessage,
  type Receipt,
} from "@svc/sdk/channels";
import { testGateway } from "@svc/sdk/testing";
import { pluginOf } from "../../plugin-of.ts";
import { until } from "../../until.ts";
import { ADA, NUMBER_ID, SECRET, startServer, TOKEN, VERIFY } from "./server.ts";

/** Milliseconds after which a group of tests has failed. */
export const SUITE_MS = 60_000;

export const LOGIN = { phoneNumberId: NUMBER_ID, accessToken: TOKEN, appSecret: SECRET, verifyToken: VERIFY };

interface TestContext {
  after(cleanUp: () => Promise<void>): void;
}

/** Asserts that nothing shows a secret. */
export function hidesSecrets(value: unknown): void {
  const shown = inspect(value, { depth: 10, showHidden: true });
  for (const secret of [TOKEN, SECRET, VERIFY]) assert.ok(!shown.includes(secret), shown);
}

/** Asserts an error of the gateway that hides the secrets and names the next step. */
export const rejects = (promise: unknown, code: string, message: RegExp) =>
  assert.rejects(Promise.resolve(promise), (error: unknown) => {
    hidesSecrets(error);
    assert.ok(error instanceof GatewayError, String(error));
    assert.equal(error.code, code, error.message);
    assert.match(error.message, message);
    return true;
  });

interface RunOptions {
  readonly accountId?: string;
  /** Replaces the acceptance of a message. */
  readonly receive?: (message: InboundMessage) => Receipt | undefined;
}

/** A gateway with the plugin and its server. The extension point has no other owner: the test runs the accounts. */
export async function openScene(t: TestContext, settings: object = {}) {
  const server = await startServer(t);
  let find = (): Channel | undefined => undefined;
  const owner = pluginOf("channel-owner", (gateway) => {
    const view = gateway.own(Channel);
    find = () => view.get("whatsapp")?.value;
  });
  const whatsapp = { ...LOGIN, graphUrl: server.graphUrl, ...settings };
  const { gateway } = await testGateway(t, { plugins: ["whatsapp", owner], config: { channels: { whatsapp } } });
  const channel = find();
  if (!channel) throw new Error(JSON.stringify(gateway.plugins()));
  server.state.gateway = `http://127.0.0.1:${gateway.port}`;
  const accountOf = (id = channel.accounts[0]?.id): ChannelAccount => {
    const account = channel.accounts.find((one) => one.id === id);
    if (!account) throw new Error(`no account ${id}`);
    return account;
  };
  const call = { accountId: accountOf().id, settings: accountOf().settings, signal: new AbortController().signal };

  /** Runs an account until the test is over, or until `stop`. */
  function start({ accountId, receive = () => undefined }: RunOptions = {}) {
    const { id, settings: own } = accountOf(accountId);
    const stopping = new AbortController();
    const messages: InboundMessage[] = [];
    const reports: ChannelReport[] = [];
    let proofs = 0;
    const ended = channel!
      .run({
        accountId: id,
        settings: own,
        commands: [],
        async receive(message) {
          const receipt = receive(message);
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
    t.after(async () => void (await stop()));
    return {
      messages,
      reports,
      /** Resolves with the error of the run, if any. */
      ended,
      stop,
      proofs: () => proofs,
      async received(count: number) {
        await until(() => messages.length >= count, `${count} messages`, 5_000);
        return messages;
      },
      reported: (state: ChannelReport["state"]) =>
        until(() => reports.at(-1)?.state === state, `the report ${state}`, 5_000),
    };
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
