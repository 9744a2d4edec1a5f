/**
 * Outgoing texts: one after the other to each recipient, in pieces the channel can carry, retried with back-off, given up
 * with a reason.
 *
 * A piece the network answered for is never sent again while the plugin runs: progress is kept in memory, whatever storage
 * says. The next piece goes only when the one before is on disk. So a crash between an answer of the network and its record
 * repeats at most the one piece under way; a stop repeats it only where storage is away for all of the stop.
 */
import { persist } from "@svc/kit/persist";
import { type Clock, type Logger, messageOf } from "@svc/sdk";
import { withoutMarkers } from "@svc/sdk/external-content";
import { type AssistantMessage, injectedMessage } from "@svc/sdk/models";
import type { Statement } from "@svc/sdk/storage";
import type { AccountRun } from "./account.ts";
import type { NewText, OutboxStore, OutboxText } from "./outbox-store.ts";
import { pauseMs } from "./pauses.ts";
import { type PieceSources, SendFailure, sendPiece } from "./piece.ts";
import { split } from "./split.ts";

/** Choice: milliseconds after which a text that could not be sent is given up. */
export const GIVE_UP_MS = 3_600_000;
/** Choice: milliseconds for the piece under way, and its record, when the plugin stops; it would be sent twice otherwise. */
const LAST_WORD_MS = 1_500;

interface OutboxSources {
  readonly store: OutboxStore;
  readonly accounts: PieceSources["accounts"];
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
  /** The account can be talked to again since the attempt that runs now began. */
  isAwaited?: boolean;
  cancelTimer?: () => void;
}

/** How a text ended. */
export type Ended = Pick<OutboxText, "status" | "reason" | "messageId" | "channel" | "accountId" | "to">;

export class Outbox {
  readonly #sources: OutboxSources;
  readonly #lanes = new Map<string, Lane>();
  readonly #listeners = new Map<string, Set<(ended: Ended) => void>>();
  readonly #sending = new Set<Promise<unknown>>();
  /** By id: texts that have ended while storage refused to record it. */
  readonly #unrecorded = new Map<string, OutboxText>();
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
      const found = this.#unrecorded.get(id) ?? (await store.find(id));
      return found && found.status !== "waiting" ? found : await told;
    } finally {
      cancel();
      listeners.delete(tell);
      if (listeners.size === 0) this.#listeners.delete(id);
    }
  }

  /** Loads the texts that the last stop or crash left over, and records ends that could not be recorded before. */
  async recover(): Promise<void> {
    for (const text of this.#unrecorded.values()) await this.#recordLater(text);
    const ended = new Set<string>();
    this.#looks.add(ended);
    const waiting = await this.#sources.store.waiting().finally(() => this.#looks.delete(ended));
    for (const text of waiting) if (!ended.has(text.id) && !this.#unrecorded.has(text.id)) this.#take(text);
  }

  /** An account can be talked to: what waits for it is tried at once. */
  connected({ channel, id }: AccountRun): void {
    for (const [key, lane] of this.#lanes) {
      const [first] = lane.texts;
      if (!first || first.channel !== channel || first.accountId !== id) continue;
      lane.isAwaited = lane.isBusy; // an attempt that fails now began before
      if (lane.isBusy) continue;
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
    const { signal, clock } = this.#sources;
    const [text] = lane.texts;
    if (!text) return void this.#lanes.delete(key);
    if (lane.isBusy || signal.aborted) return;
    lane.isBusy = true;
    const sending = this.#attempt(text);
    this.#sending.add(sending);
    const next = await sending;
    this.#sending.delete(sending);
    lane.isBusy = false;
    if (signal.aborted) return;
    const isAwaited = lane.isAwaited === true;
    lane.isAwaited = false;
    if (next) {
      lane.texts[0] = next;
      if (isAwaited) return void this.#advance(key, lane);
      lane.cancelTimer = clock.setTimeout(() => void this.#advance(key, lane), Math.max(1, next.nextAt - clock.now()));
    } else {
      lane.texts.shift();
      for (const ended of this.#looks) ended.add(text.id);
      void this.#advance(key, lane);
    }
  }

  /**
   * Sends the pieces the network has not taken yet. The next piece goes only when the one before is on disk.
   * Never rejects. @returns the text as far as it is, to be tried again; `undefined`: it has ended, or the plugin stops
   */
  async #attempt(given: OutboxText): Promise<OutboxText | undefined> {
    const { accounts, clock, signal } = this.#sources;
    const pieces = split(withoutMarkers(given.text), given.maxChars);
    let text = given;
    try {
      // The failure before this attempt may have been that of the record.
      if (text.attempts > 0 && text.sent > 0) await this.#progressed(text);
      while (text.sent < pieces.length) {
        if (signal.aborted) return undefined;
        const piece = pieces[text.sent] ?? "";
        const { messageId } = await sendPiece(text, piece, { accounts, clock, signal: this.#cutting.signal });
        text = { ...text, sent: text.sent + 1, ...(messageId === undefined ? {} : { messageId }) };
        if (text.sent < pieces.length) await this.#progressed(text);
      }
      await this.#end({ ...text, status: "sent" });
      return undefined;
    } catch (error) {
      return this.#cutting.signal.aborted ? undefined : this.#failed(text, error, pieces.length);
    }
  }

  /** Never rejects. @returns the text to be tried again; `undefined`: it has ended, or the plugin stops */
  async #failed(text: OutboxText, error: unknown, pieces: number): Promise<OutboxText | undefined> {
    const { store, clock, log, random } = this.#sources;
    const found = error instanceof SendFailure ? undefined : await this.#foundEnd(text);
    if (found) {
      log.warn({ id: text.id, status: found.status }, "another gateway ended a text, or deleted its record");
      this.#tell(text.id, found);
      return undefined;
    }
    const attempts = text.attempts + 1;
    const kind = error instanceof SendFailure ? error.kind : "failed";
    const isTriedOnce = text.once === true && kind !== "loading"; // a channel that loads has not been asked
    const isOver = kind === "refused" || isTriedOnce || clock.now() - text.createdAt >= GIVE_UP_MS;
    const part = text.sent > 0 ? ` (${text.sent} of ${pieces} parts were sent)` : "";
    const why = error instanceof SendFailure ? error.message : `storage does not record it: ${messageOf(error)}`;
    const reason = `${why}${part}`;
    const fields = { channel: text.channel, account: text.accountId, to: text.to, attempts, reason };
    if (isOver) {
      log.warn(fields, "a text was not sent, and is not tried again");
      await this.#end({ ...text, status: "failed", attempts, reason });
      return undefined;
    }
    const nextAt = clock.now() + pauseMs(attempts, random());
    log.info(fields, "a text could not be sent; it is tried again");
    // An attempt that cannot be recorded is counted here, and recorded with the next one.
    const write = () => store.write([store.again(text.id, attempts, nextAt, reason)]);
    await this.#persist(text, "waiting", write).catch(() => undefined);
    return { ...text, attempts, nextAt };
  }

  #progressed(text: OutboxText): Promise<void> {
    const { store } = this.#sources;
    return this.#persist(text, "waiting", () => store.write([store.progressed(text.id, text.sent, text.messageId)]));
  }

  /** Records how a text ended, and tells who waits for it. Never rejects. */
  async #end(text: OutboxText): Promise<void> {
    const { clock, log } = this.#sources;
    const ended = { ...text, endedAt: clock.now() };
    try {
      await this.#recordEnd(ended);
    } catch (error) {
      if (this.#cutting.signal.aborted) return;
      if (!(await this.#foundEnd(text))) {
        this.#unrecorded.set(text.id, ended);
        log.warn(
          { err: error, id: text.id, status: text.status },
          "the end of a text is not recorded; retrying each minute",
        );
      }
    }
    this.#tell(text.id, ended);
  }

  /** A session that refuses the text does not keep its end from being recorded. @throws what storage refuses for good */
  async #recordEnd(text: OutboxText): Promise<void> {
    const { store, mirror, log } = this.#sources;
    const { mirrorKey, mirrorOrigin: origin, endedAt = 0 } = text;
    if (mirrorKey !== undefined && text.status === "sent") {
      const said = injectedMessage(withoutMarkers(text.text), endedAt, "delivery-mirror");
      const message = origin === undefined ? said : { ...said, origin };
      try {
        return await this.#persist(text, "sent", () => mirror(mirrorKey, message, store.ended(text)));
      } catch (error) {
        if (this.#cutting.signal.aborted) throw error;
        log.warn({ err: error, session: mirrorKey }, "a text was sent, but its session could not note it");
      }
    }
    return this.#persist(text, text.status, () => store.write(store.ended(text)));
  }

  /** One more try to record an end. Never rejects. */
  async #recordLater(text: OutboxText): Promise<void> {
    const { store } = this.#sources;
    const isRecorded = await store.write(store.ended(text)).then(
      () => true,
      async () => (await this.#foundEnd(text)) !== undefined,
    );
    if (isRecorded) this.#unrecorded.delete(text.id);
  }

  /** How the text ended by its record; `undefined`: it waits, or nobody can tell. */
  async #foundEnd(text: OutboxText): Promise<Ended | undefined> {
    try {
      const row = await this.#sources.store.find(text.id);
      if (!row) return { ...text, status: "failed", reason: "its record was deleted" };
      return row.status === "waiting" ? undefined : row;
    } catch {
      return undefined;
    }
  }

  /**
   * Repeats the write while storage is away; one whose outcome was not known had been done when the row says so.
   * @throws GatewayError what does not pass; the signal's reason when the plugin has to be gone
   */
  #persist({ id, sent }: OutboxText, status: OutboxText["status"], write: () => Promise<void>): Promise<void> {
    const { store, clock } = this.#sources;
    const isDone = async () => {
      const row = await store.find(id);
      return row !== undefined && row.sent >= sent && row.status === status;
    };
    return persist(write, { clock, signal: this.#cutting.signal, isDone });
  }

  #tell(id: string, ended: Ended): void {
    for (const tell of this.#listeners.get(id) ?? []) tell(ended);
  }
}
