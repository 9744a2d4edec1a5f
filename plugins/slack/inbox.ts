/** Submits what arrives: in the order of each conversation, again until it is on disk, and a repeated delivery once. */
import { bounded, refusedCommand, repeated, submitted } from "@svc/kit/channels";
import { type Clock, type Logger, Turns, unavailable } from "@svc/sdk";
import type { ChannelRun, Receipt } from "@svc/sdk/channels";
import { missedIn, nameOf } from "./api.ts";
import type { Settings } from "./config.ts";
import type { History, Place } from "./history.ts";
import { type Bot, type DeliveryKind, type Incoming, isForeign, named, toIncoming } from "./translate.ts";

/** Maximum messages that wait for the gateway; Slack repeats further ones. */
const MAX_WAITING = 500;
/** Remembered names: number, and milliseconds until they are looked up again. */
const NAMES = { most: 1_000, ms: 3_600_000, unknownMs: 300_000 };

/** Milliseconds: older messages are not fetched. */
const MAX_AGE_MS = 24 * 3_600_000;

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

export interface Inbox {
  readonly accept: Accept;
  /** Begins to submit the messages that were missed in known conversations and threads, unless that is being done. */
  readonly catchUp: () => void;
  /** Resolves when nothing is being done any more; the signal of the run must have aborted. */
  readonly settled: () => Promise<void>;
}

export function createInbox(
  run: ChannelRun<Settings>,
  bot: Bot,
  history: History,
  { clock, log }: Pick<SlackContext, "clock" | "log">,
): Inbox {
  const { accountId: account, signal } = run;
  /** By id of the message. */
  const waiting = new Map<string, Promise<Receipt>>();
  /** By conversation. */
  const turns = new Turns();
  const namesOf = createNames(run, clock);
  let isWarned = false;
  let catchingUp: Promise<void> | undefined;
  let saving = Promise.resolve();

  function readSafely(kind: DeliveryKind, body: unknown): readonly Incoming[] {
    try {
      return toIncoming(kind, body, bot);
    } catch (err) {
      log.warn({ err, account }, "a malformed Slack event was skipped");
      return [];
    }
  }

  async function deliver(incoming: Incoming): Promise<Receipt> {
    const receipt = await submitted(run, named(incoming, await namesOf(incoming.people)), { clock, log });
    const notSaved = (err: unknown) => log.warn({ err, account }, "the history of a Slack account was not saved");
    saving = history.note(incoming.message).catch(notSaved);
    return receipt;
  }

  async function fetchMissed(place: Place): Promise<void> {
    const { channel } = place;
    const since = clock.now() - MAX_AGE_MS;
    const { missed, isCut } = await repeated(() => missedIn(place, since, run), { clock, log, signal });
    if (isCut) log.warn({ account, channel }, "too many Slack messages were missed; some of them are lost");
    const bodies = missed.map((message) => ({
      team_id: bot.teamId,
      event_id: `missed:${message.ts}`,
      event: { ...message, type: "message", channel },
    }));
    for (const incoming of bodies.flatMap((body) => readSafely("events_api", body)))
      await turns.take(channel, () => deliver(incoming));
  }

  function submit(incoming: Incoming): Promise<Receipt> {
    const { id, chat } = incoming.message;
    const known = waiting.get(id);
    if (known) return known;
    if (waiting.size >= MAX_WAITING) return Promise.reject(unavailable("too many Slack messages are waiting"));
    const receipt = turns.take(chat.id, () => deliver(incoming)).finally(() => waiting.delete(id));
    waiting.set(id, receipt);
    return receipt;
  }

  async function accept(kind: DeliveryKind, body: unknown): Promise<Answer> {
    if (isForeign(body, bot)) {
      if (!isWarned)
        log.warn({ account }, "events of another workspace are skipped: each account needs a Slack app of its own");
      isWarned = true;
      return undefined;
    }
    const [receipt] = await Promise.all(readSafely(kind, body).map(submit));
    if (kind !== "slash_commands" || !receipt) return undefined;
    return { response_type: "ephemeral", text: refusedCommand(receipt) ?? "Received." };
  }

  async function fetchAllMissed(): Promise<void> {
    const skip = (err: unknown) => {
      if (!signal.aborted) log.warn({ err, account }, "missed Slack messages of a conversation were not fetched");
    };
    for (const place of history.places()) await fetchMissed(place).catch(skip);
  }

  return {
    accept,
    // New messages do not wait for it, because Slack may limit the rate of these requests.
    catchUp: () => void (catchingUp ??= fetchAllMissed().finally(() => (catchingUp = undefined))),
    async settled() {
      await catchingUp;
      await saving;
    },
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
