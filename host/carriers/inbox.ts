/** What a guest sends: received in turns, between which others are served, and no faster than clients can read what it tells them. */

/** Messages on their way that a guest may have. Choice. */
export const MAX_ON_THE_WAY = 256;
/** So many messages are sent by no guest that keeps to that. */
const FLOOD = 4 * MAX_ON_THE_WAY;
/** Milliseconds of receiving after which others have their turn. */
const TURN_MS = 5;
/**
 * What a guest may tell: about bytes in a second, and at once. Above that it is not heard for a while. Choice: each client has to read all
 * of its events, and is cut off at 50 MiB that it has not read.
 */
const TELLING = { perSecond: 8 * 2 ** 20, burst: 16 * 2 ** 20 };
/** Milliseconds for which a guest is not heard at once: it has to show in between that it lives. */
const MAX_PAUSE_MS = 2_000;

export interface InboxOptions<M> {
  /** A throw is a fault of the guest. */
  take(message: M): void;
  /** Told after each turn how many messages were taken in all. */
  onTurn(taken: number): void;
  /** The guest sends more than it may, or what is no message. */
  onFault(reason: string): void;
}

export class Inbox<M> {
  readonly #options: InboxOptions<M>;
  /** Messages that wait for the next turn. */
  #messages: M[] = [];
  #taken = 0;
  /** Milliseconds of this turn. */
  #worked = 0;
  #hasTurn = false;
  /** What the guest may tell now, and since when it is so. */
  #budget = { weight: TELLING.burst, at: performance.now() };
  /** The guest is not heard before. monotonic ms */
  #deafUntil = 0;

  constructor(options: InboxOptions<M>) {
    this.#options = options;
  }

  receive(message: M): void {
    this.#messages.push(message);
    if (this.#messages.length > FLOOD)
      return this.#options.onFault("it sent more messages than the gateway could receive");
    if (this.#worked < TURN_MS) this.#takeWaiting();
    if (!this.#hasTurn) this.#plan();
  }

  /** The message that is being taken has told so much. @param weight about its bytes */
  spend(weight: number): void {
    const now = performance.now();
    const { weight: left, at } = this.#budget;
    const refilled = Math.min(TELLING.burst, left + ((now - at) * TELLING.perSecond) / 1_000);
    this.#budget = { weight: refilled - weight, at: now };
    if (refilled >= weight) return;
    this.#deafUntil = now + Math.min(MAX_PAUSE_MS, ((weight - refilled) * 1_000) / TELLING.perSecond);
  }

  clear(): void {
    this.#messages = [];
  }

  #plan(): void {
    this.#hasTurn = true;
    const pauseMs = this.#deafUntil - performance.now();
    if (pauseMs > 0) setTimeout(() => this.#nextTurn(), pauseMs).unref();
    else setImmediate(() => this.#nextTurn());
  }

  #nextTurn(): void {
    this.#hasTurn = false;
    this.#worked = 0;
    this.#takeWaiting();
    this.#options.onTurn(this.#taken);
    if (this.#messages.length > 0) this.#plan();
  }

  /** Takes the messages that wait, until this turn is over. */
  #takeWaiting(): void {
    const messages = this.#messages;
    this.#messages = [];
    let taken = 0;
    for (const message of messages) {
      const begun = performance.now();
      if (this.#worked >= TURN_MS || begun < this.#deafUntil) break;
      taken++;
      this.#take(message);
      this.#worked += performance.now() - begun;
    }
    this.#taken += taken;
    if (taken < messages.length) this.#messages = [...messages.slice(taken), ...this.#messages];
  }

  #take(message: M): void {
    try {
      this.#options.take(message);
    } catch {
      this.#options.onFault("it sent an invalid message");
    }
  }
}
