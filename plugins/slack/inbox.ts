/** Submits what arrives: in the order of each conversation, again until it is on disk, and a repeated delivery once. */
import { type Clock, type Logger, pause, unavailable } from "@svc/sdk";
import type { ChannelRun, Receipt } from "@svc/sdk/channels";
import { nameOf } from "./api.ts";
import type { Settings } from "./config.ts";
import { type Bot, type DeliveryKind, type Incoming, named, toIncoming } from "./translate.ts";

/** Maximum messages that wait for the gateway; Slack repeats further ones. */
const MAX_WAITING = 500;
/** Milliseconds before the first and at most before further attempts. */
const RETRY_MS = { first: 200, most: 5_000 };
/** Remembered names: number, and milliseconds until they are looked up again. */
const NAMES = { most: 1_000, ms: 3_600_000, unknownMs: 300_000 };

export interface SlackContext {
  readonly clock: Clock;
  readonly log: Logger;
}

/** Answer to a delivery, shown to the person who used a command; `undefined`: none. */
export type Answer = { readonly response_type: "ephemeral"; readonly text: string } | undefined;

/**
 * Accepts one delivery; resolves when it may be acknowledged. Malformed deliveries are logged, and acknowledged because
 * a repetition would be malformed again.
 * @throws GatewayError `UNAVAILABLE`: it was not accepted; Slack must repeat it
 */
export type Accept = (kind: DeliveryKind, body: unknown) => Promise<Answer>;

export function createInbox(run: ChannelRun<Settings>, bot: Bot, { clock, log }: SlackContext): Accept {
  /** By id of the message. */
  const waiting = new Map<string, Promise<Receipt>>();
  /** The last message of each conversation. */
  const last = new Map<string, Promise<unknown>>();
  const namesOf = createNames(run, clock);

  async function deliver(incoming: Incoming): Promise<Receipt> {
    const message = named(incoming, await namesOf(incoming.people));
    for (let ms = RETRY_MS.first; ; ms = Math.min(ms * 2, RETRY_MS.most)) {
      if (run.signal.aborted) return unavailable("the account is being stopped");
      try {
        const receipt = await run.receive(message);
        if (receipt.accepted || receipt.reason !== "busy") return receipt;
      } catch (err) {
        log.warn({ err, account: run.accountId }, "a Slack message was not accepted; retrying");
      }
      await pause(ms, clock, run.signal);
    }
  }

  function submit(incoming: Incoming): Promise<Receipt> {
    const { id, chat } = incoming.message;
    const known = waiting.get(id);
    if (known) return known;
    if (waiting.size >= MAX_WAITING) return Promise.reject(unavailable("too many Slack messages are waiting"));
    const before = last.get(chat.id) ?? Promise.resolve();
    const receipt = before
      .then(() => deliver(incoming))
      .finally(() => {
        waiting.delete(id);
        if (last.get(chat.id) === settled) last.delete(chat.id);
      });
    const settled: Promise<unknown> = receipt.catch(() => undefined);
    waiting.set(id, receipt);
    last.set(chat.id, settled);
    return receipt;
  }

  return async (kind, body) => {
    let all: readonly Incoming[];
    try {
      all = toIncoming(kind, body, bot);
    } catch (err) {
      log.warn({ err, account: run.accountId }, "a malformed Slack event was skipped");
      return undefined;
    }
    const receipts = await Promise.all(all.map(submit));
    const isTaken = receipts.some((receipt) => receipt.accepted || receipt.reason === "duplicate");
    return kind === "slash_commands" && isTaken ? { response_type: "ephemeral", text: "Received." } : undefined;
  };
}

/** Names of people, remembered for a while. A name that cannot be looked up is left out. */
function createNames({ settings, signal }: ChannelRun<Settings>, clock: Clock) {
  const known = new Map<string, { readonly name: string | undefined; readonly until: number }>();

  async function lookUp(user: string): Promise<string | undefined> {
    const found = known.get(user);
    if (found && found.until > clock.elapsed()) return found.name;
    const name = await nameOf(user, { settings, signal }).catch(() => undefined);
    known.delete(user);
    const [oldest] = known.size >= NAMES.most ? known.keys() : [];
    if (oldest !== undefined) known.delete(oldest);
    known.set(user, { name, until: clock.elapsed() + (name === undefined ? NAMES.unknownMs : NAMES.ms) });
    return name;
  }

  return async (users: readonly string[]): Promise<ReadonlyMap<string, string>> => {
    const names = await Promise.all([...new Set(users)].slice(0, 20).map(async (user) => [user, await lookUp(user)]));
    return new Map(names.filter((pair): pair is [string, string] => pair[1] !== undefined));
  };
}
