/** Records refused senders, reason and count for the operator: a log line, and the output of `channels.status`. In memory only. */
import { DEFAULT_ACCOUNT } from "@svc/kit/channels";
import type { Clock, Logger } from "@svc/sdk";
import type { ChannelAccount, ChannelAccountSnapshot, InboundMessage } from "@svc/sdk/channels";
import { commandText, setCommand } from "@svc/sdk/cli";
import { EVERYBODY } from "./admission.ts";

/** Choice: milliseconds between two log lines for the same sender. */
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
    const { who, why, next } = explained(channel, account, { chat, sender }, pairing);
    const { refusedInbound = 0 } = this.of(channel, account.id);
    const lastRefusedInbound = { who, why, next, at: this.#sources.clock.now() };
    this.#accounts.set(keyOf(channel, account.id), { refusedInbound: refusedInbound + 1, lastRefusedInbound });
    if (!this.#isFirst(channel, account.id, who)) return;
    this.#sources.log.info({ channel, account: account.id, who, why, next }, "a message was refused");
  }

  /** Call this when the person has access now: the status shows the last refusal of somebody else, if any. */
  admitted(channel: string, accountId: string, who: string): void {
    const key = keyOf(channel, accountId);
    if (this.#accounts.get(key)?.lastRefusedInbound?.who === who) this.#accounts.delete(key);
  }

  /** Whether this is the first message of the sender within an hour; records it. */
  #isFirst(channel: string, accountId: string, who: string): boolean {
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

/** Why the sender is refused, and the command that lets it in. The command sets whole lists; ids are untrusted, so they are quoted. */
function explained(
  channel: string,
  account: ChannelAccount,
  { chat, sender }: Pick<InboundMessage, "chat" | "sender">,
  pairing?: readonly string[],
): { readonly who: string; readonly why: string; readonly next: string } {
  const { id, allowFrom = [], dmPolicy, groupPolicy, groupAllowFrom, groups = [], mentionByGroup } = account;
  const set = (key: string, value: unknown, ...below: readonly string[]) =>
    setCommand(["channels", channel, ...(id === DEFAULT_ACCOUNT ? [] : ["accounts", id]), key, ...below], value);
  const off = (key: string, value: string) => ({ why: `${key} is disabled`, next: set(key, value) });
  if (chat.type === "direct") {
    const who = sender.id;
    if (pairing) return { who, why: "not paired", next: commandText(["svc", "channels", "pairing", ...pairing]) };
    if (dmPolicy === "disabled") return { who, ...off("dmPolicy", "pairing") };
    return { who, why: "not in allowFrom", next: set("allowFrom", [...allowFrom, who]) };
  }
  if (groupPolicy === "disabled") return { who: chat.id, ...off("groupPolicy", "allowlist") };
  const isListed = [chat.id, chat.parentId, EVERYBODY].some((one) => one !== undefined && groups.includes(one));
  if (groupPolicy === "open" || isListed) {
    const next = set("groupAllowFrom", [...(groupAllowFrom ?? []), sender.id]);
    return { who: sender.id, why: "not in groupAllowFrom", next };
  }
  // `accountsOf` of the kit reads groups from a map; other channels may have a list.
  const next = mentionByGroup === undefined ? set("groups", [...groups, chat.id]) : set("groups", {}, chat.id);
  return { who: chat.id, why: "not in groups", next };
}

function keyOf(channel: string, accountId: string): string {
  return JSON.stringify([channel, accountId]);
}
