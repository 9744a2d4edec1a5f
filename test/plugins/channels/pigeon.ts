/** A channel controlled by a test: the test provides incoming messages, and outgoing texts are recorded. */
import { definePlugin } from "@svc/sdk";
import {
  Channel,
  type ChannelAccount,
  type ChannelRun,
  defineChannel,
  type InboundMessage,
  type OutboundMessage,
} from "@svc/sdk/channels";

export interface PigeonOptions {
  readonly id?: string;
  readonly accounts?: readonly Partial<ChannelAccount>[];
  readonly maxTextChars?: number;
  readonly more?: Partial<Channel>;
  /** Outcome of a text; default: it is accepted. */
  readonly send?: (message: OutboundMessage) => Promise<{ messageId?: string }>;
  /** One run of an account after it reported `connected`; default: it runs until stopped. */
  readonly run?: (run: ChannelRun) => Promise<void>;
}

export type Pigeon = ReturnType<typeof pigeon>;

export function pigeon(options: PigeonOptions = {}) {
  const { id = "pigeon", accounts = [{}], maxTextChars = 200, more = {}, send, run } = options;
  const sent: { readonly account: string; readonly to: string; readonly text: string }[] = [];
  const running = new Map<string, ChannelRun>();
  const runs: string[] = [];
  const channel = defineChannel({
    label: "Pigeon",
    aliases: [`${id}-post`],
    capabilities: { chats: ["direct", "group"], maxTextChars },
    accounts: accounts.map((account) => ({ id: "default", allowFrom: ["ann"], settings: {}, ...account })),
    target: (text) => (/^[#a-z][a-z0-9-]*$/i.test(text) ? text.toLowerCase() : undefined),
    chatType: (to) => (to.startsWith("#") ? "group" : "direct"),
    async run(current) {
      runs.push(current.accountId);
      running.set(current.accountId, current);
      try {
        current.report({ state: "connected" });
        await (run ?? untilStopped)(current);
      } finally {
        running.delete(current.accountId);
      }
    },
    async send(message) {
      const receipt = send ? await send(message) : { messageId: `m${sent.length + 1}` };
      sent.push({ account: message.accountId, to: message.to, text: message.text });
      return receipt;
    },
    ...(more as object),
  });
  const plugin = definePlugin({ id, api: "^1.0.0", setup: (gateway) => gateway.extend(Channel, id, channel) });
  return {
    plugin,
    sent,
    /** The accounts that run now. */
    running,
    /** Ids of the accounts, for each run so far. */
    runs,
    /** A message, by default from `ann`. */
    async says(text: string, { account = "default", ...rest }: Partial<InboundMessage> & { account?: string } = {}) {
      const current = running.get(account);
      if (!current) throw new Error(`account ${account} does not run`);
      const chat = { type: "direct", id: "ann" } as const;
      return current.receive({ chat, sender: { id: "ann", name: "Ann" }, text, ...rest });
    },
  };
}

/** The texts that the network accepted. */
export const textsOf = ({ sent }: Pigeon): string[] => sent.map(({ text }) => text);

export function untilStopped({ signal }: Pick<ChannelRun, "signal">): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
