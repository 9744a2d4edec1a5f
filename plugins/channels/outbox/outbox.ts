/**
 * Outgoing texts: one after the other to each recipient, in pieces the channel can carry, retried with back-off; a text that
 * fails has a reason.
 *
 * A piece that the network confirmed is never sent again while the plugin runs: progress is kept in memory, even if storage
 * fails. The next piece is sent only when the previous one is on disk. A crash between a confirmation and its record
 * therefore repeats at most one piece; a stop repeats it only if storage is unavailable during the whole stop.
 */
import { persist } from "@svc/kit/persist";
import { type Clock, type Logger, messageOf } from "@svc/sdk";
import { withoutMarkers } from "@svc/sdk/external-content";
import { type AssistantMessage, injectedMessage } from "@svc/sdk/models";
import type { Statement } from "@svc/sdk/storage";
import type { SendReceipt } from "@svc/sdk/channels";
import type { AccountRun } from "../accounts/account.ts";
import type { OwnedAccounts } from "../accounts/owned-accounts.ts";
import type { NewText, OutboxStore, OutboxText } from "./outbox-store.ts";
import { pauseMs } from "../accounts/pauses.ts";
import type { MediaStore } from "../media-store.ts";
import { editPiece, loaded, type PieceSources, SendFailure, sendPiece } from "./piece.ts";
import { type Piece, piecesOf } from "./pieces.ts";

/** Choice: milliseconds after which an unsent text fails. */
export const GIVE_UP_MS = 3_600_000;
/** Choice: milliseconds between two looks for the outcome of a text that another gateway sends. */
const LOOK_MS = 1_000;
/** Choice: milliseconds to finish and record the piece in flight when the plugin stops; otherwise it would be sent twice. */
const LAST_WORD_MS = 1_500;

interface OutboxSources {
  readonly store: OutboxStore;
  readonly media: Pick<MediaStore, "find">;
  readonly accounts: PieceSources["accounts"];
  /** Texts of accounts that another gateway owns are left to it. */
  readonly owned: Pick<OwnedAccounts, "has" | "take" | "nudge">;
  /** Records a text in a session, together with `alongside` in one transaction. */
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
  /** The account has connected since the current attempt began. */
  isAwaited?: boolean;
  cancelTimer?: () => void;
}

/** Outcome of a text. */
export type Ended = Pick<OutboxText, "status" | "reason" | "messageId" | "pollId" | "channel" | "accountId" | "to">;

export class Outbox {
  readonly #sources: OutboxSources;
  readonly #lanes = new Map<string, Lane>();
  readonly #listeners = new Map<string, Set<(ended: Ended) => void>>();
  readonly #sending = new Set<Promise<unknown>>();
  /** By id: texts that ended but whose outcome storage has not recorded. */
  readonly #unrecorded = new Map<string, OutboxText>();
  /** One set per running query of waiting texts: ids of texts that ended since it began. */
  readonly #looks = new Set<Set<string>>();
  /** Aborts the piece in flight when the time of a stop is over. */
  readonly #cutting = new AbortController();

  /** epoch ms */
  readonly #startedAt: number;

  constructor(sources: OutboxSources) {
    this.#sources = sources;
    this.#startedAt = sources.clock.now();
  }

  /** Whether a text is being sent right now. */
  get isBusy(): boolean {
    return this.#sending.size > 0;
  }

  /** Number of unsent texts of an account. */
  waiting(channel: string, accountId: string): number {
    let count = 0;
    for (const { texts } of this.#lanes.values())
      for (const text of texts) if (text.channel === channel && text.accountId === accountId) count += 1;
    return count;
  }

  /** Statement that stores a text in a transaction of the caller, which calls `stored` afterwards. */
  insert(text: NewText, now: number): Statement {
    return this.#sources.store.insert(text, now);
  }

  /** @param now the value passed to `insert` */
  stored(text: NewText, now: number): void {
    const waiting: OutboxText = { ...text, sent: 0, status: "waiting", attempts: 0, nextAt: now, createdAt: now };
    this.#take(waiting, () => void this.#sources.owned.nudge(text.channel, text.accountId));
  }

  /**
   * Durable when it resolves; an existing text with the same id is unchanged.
   * @param forgottenBefore epoch ms; a text with this id that ended earlier is replaced
   */
  async add(text: NewText, forgottenBefore?: number): Promise<void> {
    const now = this.#sources.clock.now();
    if (await this.#sources.store.add(text, now, forgottenBefore)) this.stored(text, now);
  }

  /** Outcome of the text with this id; `undefined` if it has not ended within `timeoutMs`, or is unknown. */
  async ended(id: string, timeoutMs: number): Promise<Ended | undefined> {
    const { store, clock } = this.#sources;
    let tell: (ended: Ended | undefined) => void = () => undefined;
    const told = new Promise<Ended | undefined>((resolve) => (tell = resolve));
    const listeners = this.#listeners.get(id) ?? new Set();
    this.#listeners.set(id, listeners.add(tell)); // before the lookup, so that the outcome is not missed
    const cancel = clock.setTimeout(() => tell(undefined), timeoutMs);
    const cancelLook = clock.setInterval(() => void this.#lookFor(id, tell), LOOK_MS);
    try {
      const found = this.#unrecorded.get(id) ?? (await store.find(id));
      return found && found.status !== "waiting" ? found : await told;
    } finally {
      cancel();
      cancelLook();
      listeners.delete(tell);
      if (listeners.size === 0) this.#listeners.delete(id);
    }
  }

  /** Tells the outcome of a text that another gateway sends. Never rejects. */
  async #lookFor(id: string, tell: (ended: Ended) => void): Promise<void> {
    for (const { texts } of this.#lanes.values()) if (texts.some((text) => text.id === id)) return;
    const found = await this.#sources.store.find(id).catch(() => undefined);
    if (found && found.status !== "waiting") tell(found);
  }

  /** Stops at once, because another gateway may send the texts from now on. */
  cut(): void {
    this.#cutting.abort();
  }

  /** Loads texts that the last stop or crash left over, and records outcomes that could not be recorded before. */
  async recover(): Promise<void> {
    for (const text of this.#unrecorded.values()) await this.#recordLater(text);
    const ended = new Set<string>();
    this.#looks.add(ended);
    const waiting = await this.#sources.store.waiting().finally(() => this.#looks.delete(ended));
    for (const text of waiting)
      // The time during which no gateway ran does not count: it says nothing about the network.
      if (!ended.has(text.id) && !this.#unrecorded.has(text.id))
        this.#take({ ...text, createdAt: Math.max(text.createdAt, this.#startedAt) });
  }

  /** Called when an account has connected: retries its waiting texts at once. */
  connected({ channel, id }: AccountRun): void {
    for (const [key, lane] of this.#lanes) {
      const [first] = lane.texts;
      if (!first || first.channel !== channel || first.accountId !== id) continue;
      lane.isAwaited = lane.isBusy; // the current attempt began before the connection
      if (lane.isBusy) continue;
      lane.cancelTimer?.();
      void this.#advance(key, lane);
    }
  }

  /** Resolves when the pieces in flight were accepted or refused. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#sending);
  }

  /** Call this after the signal has aborted: nothing more is sent. Resolves when pieces in flight were accepted or interrupted. */
  async stop(): Promise<void> {
    for (const { cancelTimer } of this.#lanes.values()) cancelTimer?.();
    const cancel = this.#sources.clock.setTimeout(() => this.#cutting.abort(), LAST_WORD_MS);
    await this.settled();
    cancel();
  }

  /** Queues a text of an account that this gateway owns, or may take. Never throws. @param elsewhere called if another gateway owns the account */
  #take(text: OutboxText, elsewhere = () => {}): void {
    const { owned, log } = this.#sources;
    const { channel, accountId } = text;
    if (owned.has(channel, accountId)) return this.#enqueue(text);
    owned.take(channel, accountId).then(
      (isOurs) => (isOurs ? this.#enqueue(text) : elsewhere()),
      (error: unknown) => log.warn({ err: error, id: text.id }, "a text waits until storage says who sends it"),
    );
  }

  #enqueue(text: OutboxText): void {
    if (this.#sources.signal.aborted) return;
    // Texts with a waiting caller have their own lane, so that they do not wait for retries of others.
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
   * Sends the pieces that the network has not accepted yet. The next piece is sent only when the previous one is on disk.
   * Never rejects. @returns the text with its progress, for a retry; `undefined` if it has ended or the plugin stops
   */
  async #attempt(given: OutboxText): Promise<OutboxText | undefined> {
    const { accounts, owned, signal } = this.#sources;
    let text = given;
    let pieces: readonly Piece[] = [];
    try {
      // The capabilities decide the number of pieces: without the channel nothing counts as sent.
      pieces = piecesOf(given, loaded(given, accounts).contribution.value.capabilities);
      // The previous attempt may have failed to record its progress.
      if (text.attempts > 0 && text.sent > 0) await this.#progressed(text);
      while (text.sent < pieces.length) {
        if (signal.aborted || !owned.has(text.channel, text.accountId)) return undefined; // its next owner goes on
        const { messageId, pollId } = await this.#send(text, pieces[text.sent] as Piece); // the index is below the length
        this.#accountOf(text)?.run?.sent();
        text = { ...text, sent: text.sent + 1, ...(messageId && { messageId }), ...(pollId && { pollId }) };
        if (text.sent < pieces.length) await this.#progressed(text);
      }
      await this.#end({ ...text, status: "sent" });
      return undefined;
    } catch (error) {
      return this.#cutting.signal.aborted ? undefined : this.#failed(text, error, pieces.length);
    }
  }

  #accountOf({ channel, accountId }: OutboxText) {
    const { accounts } = this.#sources;
    const contribution = accounts.channel(channel);
    return contribution && accounts.account(contribution, accountId);
  }

  /** @throws SendFailure, or an error of storage */
  async #send(text: OutboxText, piece: Piece): Promise<SendReceipt> {
    const { accounts, clock, store, media } = this.#sources;
    const sources = { accounts, clock, signal: this.#cutting.signal };
    const { draft } = text.extras ?? {};
    const drafted =
      draft !== undefined && text.sent === 0 ? (this.#unrecorded.get(draft) ?? (await store.find(draft))) : undefined;
    if (drafted?.status === "sent" && drafted.messageId !== undefined && piece.media === undefined) {
      try {
        return await editPiece(text, drafted.messageId, piece, sources);
      } catch (error) {
        // A network may refuse an edit for reasons that do not concern a new message.
        if (!(error instanceof SendFailure) || (error.kind !== "gone" && error.kind !== "refused")) throw error;
      }
    }
    const file = piece.media === undefined ? undefined : await media.find(piece.media);
    if (piece.media !== undefined && !file) throw new SendFailure("its file was already deleted", "refused");
    return sendPiece(text, piece, file, sources);
  }

  /** Never rejects. @returns the text, for a retry; `undefined` if it has ended or the plugin stops */
  async #failed(text: OutboxText, error: unknown, pieces: number): Promise<OutboxText | undefined> {
    const { store, clock, log, random } = this.#sources;
    const found = error instanceof SendFailure ? undefined : await this.#foundEnd(text);
    if (found) {
      log.warn(
        { id: text.id, status: found.status },
        "the record of a text was already completed or deleted; the text is not sent again",
      );
      this.#tell(text.id, found);
      return undefined;
    }
    const attempts = text.attempts + 1;
    const kind = error instanceof SendFailure ? error.kind : "failed";
    const isTriedOnce = text.once === true && kind !== "loading"; // a loading channel was not called
    const isOver = kind === "refused" || kind === "gone" || isTriedOnce || clock.now() - text.createdAt >= GIVE_UP_MS;
    const part = text.sent > 0 && pieces > 0 ? ` (${text.sent} of ${pieces} parts were sent)` : "";
    const why = error instanceof SendFailure ? error.message : `storage cannot record it: ${messageOf(error)}`;
    const reason = `${why}${part}`;
    const fields = { channel: text.channel, account: text.accountId, to: text.to, attempts, reason };
    if (isOver) {
      log.warn(fields, "a text could not be sent; giving up");
      await this.#end({ ...text, status: "failed", attempts, reason });
      return undefined;
    }
    const askedMs = error instanceof SendFailure ? (error.retryAfterMs ?? 0) : 0;
    const nextAt = clock.now() + Math.max(askedMs, pauseMs(attempts, random()));
    log.info(fields, "a text could not be sent; retrying");
    // If the attempt cannot be recorded, it is counted here and recorded with the next one.
    const write = () => store.write([store.again(text, attempts, nextAt, reason)]);
    await this.#persist(text, "waiting", write).catch(() => undefined);
    return { ...text, attempts, nextAt };
  }

  #progressed(text: OutboxText): Promise<void> {
    const { store } = this.#sources;
    return this.#persist(text, "waiting", () => store.write([store.progressed(text)]));
  }

  /** Records the outcome of a text, and notifies waiting callers. Never rejects. */
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
          "the outcome of a text could not be recorded; retrying every minute",
        );
      }
    }
    this.#tell(text.id, ended);
  }

  /** Records the outcome even if the session refuses the text. @throws the error of a permanent storage failure */
  async #recordEnd(text: OutboxText): Promise<void> {
    const { store, mirror, log } = this.#sources;
    const { mirrorKey, mirrorOrigin: origin, endedAt = 0 } = text;
    if (mirrorKey !== undefined && text.status === "sent") {
      const said = injectedMessage(mirrorText(text), endedAt, "delivery-mirror");
      const message = origin === undefined ? said : { ...said, origin };
      try {
        return await this.#persist(text, "sent", () => mirror(mirrorKey, message, store.ended(text)));
      } catch (error) {
        if (this.#cutting.signal.aborted) throw error;
        log.warn({ err: error, session: mirrorKey }, "a text was sent, but its session could not record it");
      }
    }
    return this.#persist(text, text.status, () => store.write(store.ended(text)));
  }

  /** Tries again to record an outcome. Never rejects. */
  async #recordLater(text: OutboxText): Promise<void> {
    const { store } = this.#sources;
    const isRecorded = await store.write(store.ended(text)).then(
      () => true,
      async () => (await this.#foundEnd(text)) !== undefined,
    );
    if (isRecorded) this.#unrecorded.delete(text.id);
  }

  /** Outcome of the text according to its record; `undefined` if it is waiting or cannot be read. */
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
   * Repeats the write while storage is unavailable. A write with unknown outcome counts as done if the row shows its result.
   * @throws GatewayError of a permanent failure; the signal's reason when the time of a stop is over
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

/** What a session records of a sent message. */
function mirrorText({ text, extras: { media = [], poll } = {} }: OutboxText): string {
  const files = media.length === 0 ? [] : [media.length === 1 ? "[sent a file]" : `[sent ${media.length} files]`];
  const asked = poll === undefined ? [] : [`[sent a poll] ${poll.question} (${poll.options.join(" / ")})`];
  return [withoutMarkers(text).trim(), ...files, ...asked].filter((part) => part !== "").join("\n");
}
