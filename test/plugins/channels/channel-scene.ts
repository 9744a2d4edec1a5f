/** The plugin of a channel in a gateway, and runs of its accounts. */
import type { Plugin } from "@svc/sdk";
import { Channel, type ChannelAccount, type ChannelReport, type InboundMessage, type Receipt } from "@svc/sdk/channels";
import { testGateway } from "@svc/sdk/testing";
import { pluginOf } from "../../plugin-of.ts";
import { until } from "../../until.ts";
import { openStateOf } from "./states.ts";

interface TestContext {
  after(cleanUp: () => Promise<void>): void;
}

/** Options of a run. */
interface RunOptions {
  readonly accountId?: string;
  /** Replaces the acceptance of a message. */
  readonly receive?: (message: InboundMessage) => Promise<Receipt> | undefined;
}

export interface Running {
  readonly messages: readonly InboundMessage[];
  readonly reports: readonly ChannelReport[];
  /** Number of proofs that the connection works. */
  alive(): number;
  /** Resolves with the outcome of `run`. */
  readonly ended: Promise<"returned" | Error>;
  /** Resolves when so many messages were accepted. */
  received(count: number): Promise<readonly InboundMessage[]>;
  reported(state: ChannelReport["state"]): Promise<ChannelReport>;
  stop(): Promise<"returned" | Error>;
}

/** Starts a gateway with the plugin. The extension point has no other owner, so that the test runs the accounts. */
export async function channelScene(t: TestContext, id: string, settings: object) {
  let find = (): Channel | undefined => undefined;
  const owner: Plugin = pluginOf("channel-owner", (gateway) => {
    const view = gateway.own(Channel);
    find = () => view.get(id)?.value;
  });
  const { gateway } = await testGateway(t, {
    plugins: [id, owner],
    config: { channels: { [id]: settings } },
  });
  const channel = find();
  if (!channel) {
    const report = gateway.plugins().find((plugin) => plugin.id === id);
    throw new Error(`the plugin contributes nothing: ${report?.state} ${report?.reason}`);
  }
  const account = accountOf(channel);

  return {
    channel,
    url: gateway.url.replace(/^ws/, "http"),
    account,
    /** Account and signal of a call. */
    facts: { accountId: account.id, settings: account.settings, signal: new AbortController().signal },
    /** Runs an account until the end of the test; resolves when it is connected. */
    async run(options: RunOptions = {}): Promise<Running> {
      const running = start(channel, options);
      t.after(async () => void (await running.stop()));
      await Promise.race([running.reported("connected"), running.ended]);
      return running;
    },
    start: (options: RunOptions = {}) => {
      const running = start(channel, options);
      t.after(async () => void (await running.stop()));
      return running;
    },
  };
}

function accountOf({ accounts }: Channel, id = accounts[0]?.id): ChannelAccount {
  const account = accounts.find((one) => one.id === id);
  if (!account) throw new Error(`no account ${id}`);
  return account;
}

function start(channel: Channel, { accountId, receive }: RunOptions): Running {
  const { id, settings } = accountOf(channel, accountId);
  const ending = new AbortController();
  const messages: InboundMessage[] = [];
  const reports: ChannelReport[] = [];
  let alive = 0;
  const ended = channel
    .run({
      accountId: id,
      settings,
      commands: ["status", "new", "help"].map((name) => ({ name, description: name })),
      signal: ending.signal,
      alive: () => void (alive += 1),
      openState: openStateOf(channel, id),
      report: (report) => void reports.push(report),
      async receive(message) {
        const receipt = await receive?.(message);
        if (receipt) return receipt;
        messages.push(structuredClone(message));
        return { accepted: true, sessionKey: "main" };
      },
    })
    .then(
      () => "returned" as const,
      (error: unknown) => (error instanceof Error ? error : new Error(String(error))),
    );
  return {
    messages,
    reports,
    ended,
    alive: () => alive,
    async received(count) {
      await until(() => messages.length >= count, `${count} messages`);
      return messages;
    },
    async reported(state) {
      await until(() => reports.some((report) => report.state === state), `the report ${state}`);
      return reports.findLast((report) => report.state === state) ?? { state };
    },
    stop() {
      ending.abort();
      return ended;
    },
  };
}
