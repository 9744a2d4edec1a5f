/** Receives a guest's messages in turns, so that other work runs in between, and no faster than clients can read what it publishes. */

/** Choice: maximum number of unconfirmed messages that a guest may have in transit. */
export const MAX_ON_THE_WAY = 256;
/** Maximum number of waiting messages; a guest that respects the window never exceeds it. */
const FLOOD = 4 * MAX_ON_THE_WAY;
/** Time of one turn, after which other work runs. ms */
const TURN_MS = 5;
/**
 * Rate limit of one-way calls such as events and log lines, in approximate bytes. Above it the inbox pauses. Choice: each client has to read
 * all events, and is disconnected once it has 50 MiB unread.
 */
const TELLING = { perSecond: 8 * 2 ** 20, burst: 16 * 2 ** 20 };
/** Longest pause: a liveness report must get through in between. ms */
const MAX_PAUSE_MS = 2_000;

export interface InboxOptions<M> {
  /** Processes a message; a throw counts as a fault of the guest. */
  take(message: M): void;
  /** Called after each turn. @param taken total number of processed messages */
  onTurn(taken: number): void;
  /** Called when the guest exceeds the window, or sends an invalid message. */
  onFault(reason: string): void;
}

export class Inbox<M> {
  readonly #options: InboxOptions<M>;
  /** Messages that wait for the next turn. */
  #messages: M[] = [];
  #taken = 0;
  /** Time spent in this turn. ms */
  #worked = 0;
  #hasTurn = false;
  /** Weight the guest may send, as of the monotonic time `at`. */
  #budget = { weight: TELLING.burst, at: performance.now() };
  /** End of the pause. monotonic ms */
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

  /** Charges the message being processed to the rate limit. @param weight approximate bytes */
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

  /** Processes waiting messages until the turn ends or a pause begins. */
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
