/** Records refused senders, reason and count for the operator: a log line, and the output of `channels.status`. In memory only. */
import type { Clock, Logger } from "@svc/sdk";
import type { ChannelAccount, ChannelAccountSnapshot, InboundMessage } from "@svc/sdk/channels";
import { commandText, setCommand } from "@svc/sdk/cli";

/** Choice: milliseconds between two log lines, or two replies, for the same sender. */
export const QUIET_MS = 3_600_000;
/** Choice: remembered senders, and thereby log lines per hour: a flood of senders is counted but not logged. */
export const MAX_SENDERS = 100;

export type Refused = Pick<ChannelAccountSnapshot, "refusedInbound" | "lastRefusedInbound">;

interface RefusalsSources {
  readonly clock: Pick<Clock, "now" | "elapsed">;
  readonly log: Pick<Logger, "info">;
}

export class Refusals {
  readonly #sources: RefusalsSources;
  /** Time of the last log line by sender, elapsed milliseconds, oldest first. */
  readonly #senders = new Map<string, number>();
  readonly #accounts = new Map<string, Refused>();

  constructor(sources: RefusalsSources) {
    this.#sources = sources;
  }

  /** Records a message of a person or group that is not listed. @param pairing words of `svc channels pairing` that let the person in */
  refused(
    channel: string,
    account: ChannelAccount,
    { chat, sender }: Pick<InboundMessage, "chat" | "sender">,
    pairing?: readonly string[],
  ): void {
    const [who, list] = chat.type === "direct" ? [sender.id, "allowFrom"] : [chat.id, "groups"];
    const why = `not in ${list}`;
    const next = pairing
      ? commandText(["svc", "channels", "pairing", ...pairing])
      : nextStep(channel, account, chat.type, who);
    const { refusedInbound = 0 } = this.of(channel, account.id);
    const lastRefusedInbound = { who, why, next, at: this.#sources.clock.now() };
    this.#accounts.set(keyOf(channel, account.id), { refusedInbound: refusedInbound + 1, lastRefusedInbound });
    if (!this.isFirst(channel, account.id, who)) return;
    this.#sources.log.info({ channel, account: account.id, who, why, next }, "a message was refused");
  }

  /** Call this when the person has access now: the status shows the last refusal of somebody else, if any. */
  admitted(channel: string, accountId: string, who: string): void {
    const key = keyOf(channel, accountId);
    if (this.#accounts.get(key)?.lastRefusedInbound?.who === who) this.#accounts.delete(key);
  }

  /** Whether this is the first message of the sender within an hour; records it. */
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

/** The command that lets the sender in: sets the whole list, as the gateway knows it. The id is untrusted, so it is quoted. */
function nextStep(channel: string, account: ChannelAccount, type: "direct" | "group", who: string): string {
  const { id, allowFrom = [], mentionByGroup, groupAllowFrom } = account;
  const section = ["channels", channel, ...(id === "default" ? [] : ["accounts", id])];
  if (type === "direct") return setCommand([...section, "allowFrom"], [...allowFrom, who]);
  // `accountsOf` of the kit reads groups from a map; other channels have lists of their own.
  const hasMap = mentionByGroup !== undefined && groupAllowFrom === undefined;
  return hasMap
    ? setCommand([...section, "groups", who], {})
    : `add ${commandText([who])} to the configuration: svc config get channels.${channel}`;
}

function keyOf(channel: string, accountId: string): string {
  return JSON.stringify([channel, accountId]);
}
