/** Submits what arrives: in the order of each conversation, again until it is on disk, and a repeated delivery once. */
import { bounded, refusedCommand, submitted } from "@svc/kit/channels";
import { type Clock, type Logger, Turns, unavailable } from "@svc/sdk";
import type { ChannelRun, Receipt } from "@svc/sdk/channels";
import { nameOf } from "./api.ts";
import type { Settings } from "./config.ts";
import { type Bot, type DeliveryKind, type Incoming, isForeign, named, toIncoming } from "./translate.ts";

/** Maximum messages that wait for the gateway; Slack repeats further ones. */
const MAX_WAITING = 500;
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
  const { accountId: account } = run;
  /** By id of the message. */
  const waiting = new Map<string, Promise<Receipt>>();
  /** By conversation. */
  const turns = new Turns();
  const namesOf = createNames(run, clock);
  let isWarned = false;

  function submit(incoming: Incoming): Promise<Receipt> {
    const { id, chat } = incoming.message;
    const known = waiting.get(id);
    if (known) return known;
    if (waiting.size >= MAX_WAITING) return Promise.reject(unavailable("too many Slack messages are waiting"));
    const receipt = turns
      .take(chat.id, async () => submitted(run, named(incoming, await namesOf(incoming.people)), { clock, log }))
      .finally(() => waiting.delete(id));
    waiting.set(id, receipt);
    return receipt;
  }

  return async (kind, body) => {
    if (isForeign(body, bot)) {
      if (!isWarned)
        log.warn({ account }, "events of another workspace are skipped: each account needs a Slack app of its own");
      isWarned = true;
      return undefined;
    }
    let all: readonly Incoming[];
    try {
      all = toIncoming(kind, body, bot);
    } catch (err) {
      log.warn({ err, account }, "a malformed Slack event was skipped");
      return undefined;
    }
    const [receipt] = await Promise.all(all.map(submit));
    if (kind !== "slash_commands" || !receipt) return undefined;
    return { response_type: "ephemeral", text: refusedCommand(receipt) ?? "Received." };
  };
}

/** Names of people, remembered for a while. A name that cannot be looked up is left out. */
function createNames({ settings, signal }: ChannelRun<Settings>, clock: Clock) {
  const known = bounded<{ readonly name: string | undefined; readonly until: number }>(NAMES.most);

  async function lookUp(user: string): Promise<string | undefined> {
    const found = known.get(user);
    if (found && found.until > clock.elapsed()) return found.name;
    const name = await nameOf(user, { settings, signal }).catch(() => undefined);
    known.set(user, { name, until: clock.elapsed() + (name === undefined ? NAMES.unknownMs : NAMES.ms) });
    return name;
  }

  return async (users: readonly string[]): Promise<ReadonlyMap<string, string>> => {
    const names = await Promise.all([...new Set(users)].slice(0, 20).map(async (user) => [user, await lookUp(user)]));
    return new Map(names.filter((pair): pair is [string, string] => pair[1] !== undefined));
  };
}
