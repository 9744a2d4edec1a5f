/**
 * Texts on their way out: one after the other to each recipient, in messages the channel can carry, tried again with
 * back-off, given up with a reason. What the network has taken is on disk before the next message goes.
 *
 * A message under way when the process is killed may be sent twice; one the network had answered for is not.
 */
import { persist } from "@svc/kit/persist";
import { type Clock, ERRORS, isGatewayError, type Logger, unavailable, untilAborted } from "@svc/sdk";
import type { Channel, SendReceipt } from "@svc/sdk/channels";
import { type AssistantMessage, injectedMessage } from "@svc/sdk/models";
import type { Statement } from "@svc/sdk/storage";
import type { AccountRun } from "./account.ts";
import { secretsOf, toldError } from "./hidden.ts";
import type { NewText, OutboxStore, OutboxText } from "./outbox-store.ts";
import { pauseMs } from "./pauses.ts";
import type { Listed, ChannelAccounts } from "./channel-accounts.ts";
import { split } from "./split.ts";

/** Choice: milliseconds after which a text is given up that could not be sent. */
export const GIVE_UP_MS = 3_600_000;
/** Choice: milliseconds one message may take. */
export const SEND_MS = 60_000;
/** Choice: milliseconds a message under way has to be taken when the plugin stops; it would be sent twice otherwise. */
const LAST_WORD_MS = 1_500;

interface OutboxSources {
  readonly store: OutboxStore;
  readonly accounts: Pick<ChannelAccounts, "channel" | "account" | "call">;
  /** Notes a text in a session, with `alongside` in the same step. */
  readonly mirror: (sessionKey: string, message: AssistantMessage, alongside: readonly Statement[]) => Promise<void>;
  readonly clock: Clock;
  readonly log: Pick<Logger, "info" | "warn">;
  readonly random: () => number;
  readonly signal: AbortSignal;
}

/** Texts for one recipient. */
interface Lane {
  readonly texts: OutboxText[];
  isBusy: boolean;
  cancelTimer?: () => void;
}

/** How a text ended. */
export type Ended = Pick<OutboxText, "status" | "reason" | "messageId" | "channel" | "accountId" | "to">;

export class Outbox {
  readonly #sources: OutboxSources;
  readonly #lanes = new Map<string, Lane>();
  readonly #listeners = new Map<string, Set<(ended: Ended) => void>>();
  readonly #sending = new Set<Promise<unknown>>();
  /** What has ended since a look at the storage began, for each look. */
  readonly #looks = new Set<Set<string>>();
  /** Aborts when what is under way has had its time. */
  readonly #cutting = new AbortController();

  constructor(sources: OutboxSources) {
    this.#sources = sources;
  }

  /** Whether something is being sent this moment. */
  get isBusy(): boolean {
    return this.#sending.size > 0;
  }

  /** Texts for an account that are not sent. */
  waiting(channel: string, accountId: string): number {
    let count = 0;
    for (const { texts } of this.#lanes.values())
      for (const text of texts) if (text.channel === channel && text.accountId === accountId) count += 1;
    return count;
  }

  /** Stores a text in a transaction of the caller, who calls `stored` then. */
  insert(text: NewText, now: number): Statement {
    return this.#sources.store.insert(text, now);
  }

  /** @param now as `insert` got it */
  stored(text: NewText, now: number): void {
    this.#take({ ...text, sent: 0, status: "waiting", attempts: 0, nextAt: now, createdAt: now });
  }

  /**
   * Durable when it resolves; one whose id is known stays as it is.
   * @param forgottenBefore epoch ms; one that ended before that counts as none
   */
  async add(text: NewText, forgottenBefore?: number): Promise<void> {
    const now = this.#sources.clock.now();
    if (await this.#sources.store.add(text, now, forgottenBefore)) this.stored(text, now);
  }

  /** How the text with this id ended; `undefined`: it has not after so many milliseconds, or it is not known. */
  async ended(id: string, timeoutMs: number): Promise<Ended | undefined> {
    const { store, clock } = this.#sources;
    let tell: (ended: Ended | undefined) => void = () => undefined;
    const told = new Promise<Ended | undefined>((resolve) => (tell = resolve));
    const listeners = this.#listeners.get(id) ?? new Set();
    this.#listeners.set(id, listeners.add(tell)); // before it is looked up, so that its end is not missed
    const cancel = clock.setTimeout(() => tell(undefined), timeoutMs);
    try {
      const found = await store.find(id);
      return found && found.status !== "waiting" ? found : await told;
    } finally {
      cancel();
      listeners.delete(tell);
      if (listeners.size === 0) this.#listeners.delete(id);
    }
  }

  /** Takes up what the last stop or crash left over. */
  async recover(): Promise<void> {
    const ended = new Set<string>();
    this.#looks.add(ended);
    const waiting = await this.#sources.store.waiting().finally(() => this.#looks.delete(ended));
    for (const text of waiting) if (!ended.has(text.id)) this.#take(text);
  }

  /** An account can be talked to: what waits for it is tried at once. */
  connected({ channel, id }: AccountRun): void {
    for (const [key, lane] of this.#lanes) {
      const [first] = lane.texts;
      if (!first || first.channel !== channel || first.accountId !== id || lane.isBusy) continue;
      lane.cancelTimer?.();
      void this.#advance(key, lane);
    }
  }

  /** Sends nothing more, once the signal has aborted. Resolves when what is under way was taken, or was cut off. */
  async stop(): Promise<void> {
    for (const { cancelTimer } of this.#lanes.values()) cancelTimer?.();
    const cancel = this.#sources.clock.setTimeout(() => this.#cutting.abort(), LAST_WORD_MS);
    await Promise.allSettled(this.#sending);
    cancel();
  }

  #take(text: OutboxText): void {
    if (this.#sources.signal.aborted) return;
    // Who waits for a result does not wait for others to be tried again.
    const key = JSON.stringify([text.channel, text.accountId, text.to, text.once === true]);
    const lane = this.#lanes.get(key) ?? { texts: [], isBusy: false };
    this.#lanes.set(key, lane);
    if (lane.texts.some(({ id }) => id === text.id)) return;
    lane.texts.push(text);
    if (lane.texts.length === 1) void this.#advance(key, lane);
  }

  /** Never rejects. */
  async #advance(key: string, lane: Lane): Promise<void> {
    const { signal, clock, log } = this.#sources;
    const [text] = lane.texts;
    if (!text) return void this.#lanes.delete(key);
    if (lane.isBusy || signal.aborted) return;
    lane.isBusy = true;
    const sending = this.#attempt(text);
    this.#sending.add(sending);
    const next = await sending.catch((error: unknown): OutboxText | undefined => {
      if (!signal.aborted)
        log.warn({ err: error, id: text.id }, "a text could not be carried on; it is looked at again");
      return { ...text, nextAt: clock.now() + pauseMs(1, 0.5) };
    });
    this.#sending.delete(sending);
    lane.isBusy = false;
    if (signal.aborted) return;
    if (next) {
      lane.texts[0] = next;
      lane.cancelTimer = clock.setTimeout(() => void this.#advance(key, lane), Math.max(1, next.nextAt - clock.now()));
    } else {
      lane.texts.shift();
      for (const ended of this.#looks) ended.add(text.id);
      void this.#advance(key, lane);
    }
  }

  /** @returns the text to be tried again; `undefined`: it has ended */
  async #attempt(text: OutboxText): Promise<OutboxText | undefined> {
    const { signal } = this.#sources;
    const pieces = split(text.text, text.maxChars);
    let current = text;
    try {
      while (current.sent < pieces.length) {
        if (signal.aborted) unavailable("the plugin stops");
        const { messageId } = await this.#send(current, pieces[current.sent] ?? "");
        current = { ...current, sent: current.sent + 1, ...(messageId === undefined ? {} : { messageId }) };
        await this.#record(current, pieces.length);
      }
      this.#tell(current.id, { ...current, status: "sent" });
      return undefined;
    } catch (thrown) {
      if (signal.aborted || !(thrown instanceof SendFailure)) throw thrown;
      return this.#failed(current, thrown, pieces.length);
    }
  }

  /** @returns the text to be tried again; `undefined`: it is given up */
  async #failed(text: OutboxText, failure: SendFailure, pieces: number): Promise<OutboxText | undefined> {
    const { store, clock, log, random } = this.#sources;
    const attempts = text.attempts + 1;
    const isOver = failure.isFinal || text.once === true || clock.now() - text.createdAt >= GIVE_UP_MS;
    const part = text.sent > 0 ? ` (${text.sent} of ${pieces} parts were sent)` : "";
    const reason = `${failure.message}${part}`;
    const where = { channel: text.channel, account: text.accountId, reason };
    if (!isOver) {
      const nextAt = clock.now() + pauseMs(attempts, random());
      await store.write([store.again(text.id, attempts, nextAt, reason)]);
      log.info({ ...where, attempts }, "a text could not be sent; it is tried again");
      return { ...text, attempts, nextAt };
    }
    await this.#persist(text, "failed", () => store.write([store.ended(text.id, "failed", clock.now(), reason)]));
    log.warn(where, "a text was not sent");
    this.#tell(text.id, { ...text, status: "failed", reason });
    return undefined;
  }

  /** @throws SendFailure */
  async #send(text: OutboxText, piece: string): Promise<SendReceipt> {
    const { accounts, clock } = this.#sources;
    const contribution = accounts.channel(text.channel);
    if (!contribution) throw new SendFailure(`channel ${text.channel} is not loaded; see: svc plugins list`, false);
    const listed = accounts.account(contribution, text.accountId);
    if (!listed) throw new SendFailure(`channel ${text.channel} has no account "${text.accountId}"`, false);
    const deadline = new AbortController();
    const cancel = clock.setTimeout(() => deadline.abort(), SEND_MS);
    try {
      return await accounts.call(contribution, (channel) =>
        sendPiece(channel, listed, text, piece, AbortSignal.any([this.#cutting.signal, deadline.signal])),
      );
    } finally {
      cancel();
    }
  }

  /** The network has it, so this is written as soon as it can be. */
  async #record(text: OutboxText, pieces: number): Promise<void> {
    const { store, clock, mirror } = this.#sources;
    const progress = store.progressed(text.id, text.sent, text.messageId);
    if (text.sent < pieces) return this.#persist(text, "waiting", () => store.write([progress]));
    const now = clock.now();
    const ending = [progress, store.ended(text.id, "sent", now)];
    const { mirrorKey } = text;
    await this.#persist(text, "sent", () =>
      mirrorKey === undefined
        ? store.write(ending)
        : mirror(mirrorKey, injectedMessage(text.text, now, "delivery-mirror"), ending),
    );
  }

  /**
   * Repeats the write while storage is away; one whose outcome was not known had done it when the row says so.
   * @throws GatewayError what does not pass; the signal's reason when the plugin stops
   */
  #persist({ id, sent }: OutboxText, status: OutboxText["status"], write: () => Promise<void>): Promise<void> {
    const { store, signal, clock } = this.#sources;
    const isDone = async () => {
      const row = await store.find(id);
      return row !== undefined && row.sent >= sent && row.status === status;
    };
    return persist(write, { clock, signal, isDone });
  }

  #tell(id: string, ended: Ended): void {
    for (const tell of this.#listeners.get(id) ?? []) tell(ended);
  }
}

/** A message the network did not take. */
class SendFailure extends Error {
  /** It never will. */
  readonly isFinal: boolean;

  constructor(message: string, isFinal: boolean) {
    super(message);
    this.isFinal = isFinal;
  }
}

/** @throws SendFailure; what a channel throws is no fault of its plugin: networks fail */
async function sendPiece(
  channel: Channel,
  { account, run }: Listed,
  text: OutboxText,
  piece: string,
  signal: AbortSignal,
): Promise<SendReceipt> {
  const { id: accountId, settings } = account;
  const { to, threadId } = text;
  try {
    const receipt = await untilAborted(
      channel.send({ accountId, settings, to, text: piece, signal, ...(threadId === undefined ? {} : { threadId }) }),
      signal,
    );
    run?.sent();
    return receipt ?? {};
  } catch (error) {
    const told = signal.aborted ? "the network did not answer in time" : toldError(error, secretsOf(settings));
    throw new SendFailure(told, isGatewayError(error) && !ERRORS[error.code].retry && error.code !== "INTERNAL");
  }
}
