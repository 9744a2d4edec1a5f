/** Who was refused, why and how often, for the operator: a log line, and what `channels.status` shows. In memory only. */
import type { Clock, Logger } from "@svc/sdk";
import type { ChannelAccount, ChannelAccountSnapshot } from "@svc/sdk/channels";
import { commandText } from "@svc/sdk/cli";
import type { Inbound } from "./inbound-message.ts";

/** Choice: milliseconds between two log lines, or two answers, for the same sender. */
export const QUIET_MS = 3_600_000;
/** Choice: senders that are remembered, and so log lines in an hour: a flood of names is counted and not logged. */
export const MAX_SENDERS = 100;

export type Refused = Pick<ChannelAccountSnapshot, "refusedInbound" | "lastRefusedInbound">;

interface RefusalsSources {
  readonly clock: Pick<Clock, "now" | "elapsed">;
  readonly log: Pick<Logger, "info">;
}

export class Refusals {
  readonly #sources: RefusalsSources;
  /** Elapsed milliseconds of the last line, oldest first. */
  readonly #senders = new Map<string, number>();
  readonly #accounts = new Map<string, Refused>();

  constructor(sources: RefusalsSources) {
    this.#sources = sources;
  }

  /** A person or a group that is not listed. */
  refused(channel: string, account: ChannelAccount, { chat, sender }: Pick<Inbound, "chat" | "sender">): void {
    const [who, list] = chat.type === "direct" ? [sender.id, "allowFrom"] : [chat.id, "groups"];
    const why = `not in ${list}`;
    const next = nextStep(channel, account, chat.type, who);
    const { refusedInbound = 0 } = this.of(channel, account.id);
    const lastRefusedInbound = { who, why, next, at: this.#sources.clock.now() };
    this.#accounts.set(keyOf(channel, account.id), { refusedInbound: refusedInbound + 1, lastRefusedInbound });
    if (!this.isFirst(channel, account.id, who)) return;
    this.#sources.log.info({ channel, account: account.id, who, why, next }, "a message was refused");
  }

  /** Whether nobody was told of this sender in the last hour; counts as told then. */
  isFirst(channel: string, accountId: string, who: string): boolean {
    const now = this.#sources.clock.elapsed();
    for (const [key, at] of this.#senders) {
      if (now - at < QUIET_MS) break;
      this.#senders.delete(key);
    }
    const key = JSON.stringify([channel, accountId, who]);
    if (this.#senders.has(key) || this.#senders.size >= MAX_SENDERS) return false;
    this.#senders.set(key, now);
    return true;
  }

  of(channel: string, accountId: string): Refused {
    return this.#accounts.get(keyOf(channel, accountId)) ?? {};
  }
}

/** The command that lets somebody in: the whole list, as the gateway knows it. */
function nextStep(
  channel: string,
  { id, allowFrom = [] }: ChannelAccount,
  type: "direct" | "group",
  who: string,
): string {
  const section = `channels.${channel}`;
  if (type === "group" || id !== "default")
    return `list ${commandText([who])} in the configuration: svc config get ${section}`;
  return commandText(["svc", "config", "set", `${section}.allowFrom`, JSON.stringify([...allowFrom, who])]); // an id is what a stranger chose
}

function keyOf(channel: string, accountId: string): string {
  return JSON.stringify([channel, accountId]);
}
