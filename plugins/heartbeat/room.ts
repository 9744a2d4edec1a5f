/** Whether a session takes one more event, asked before each: an answer of the storage would wait behind the writes under way. */
import type { Clock } from "@svc/sdk";
import { type EventStore, MAX_WAITING } from "./event-store.ts";

/** Choice: milliseconds for which a session that was no more than half full has room; the statements refuse what is too much. */
const TRUSTED_MS = 250;
/** Choice: sessions remembered; beyond that all are asked for anew. */
const MAX_SESSIONS = 1_000;

export class Room {
  readonly #store: Pick<EventStore, "occupied">;
  readonly #clock: Pick<Clock, "elapsed">;
  /** Elapsed milliseconds until which a session has room. */
  readonly #until = new Map<string, number>();

  constructor(store: Pick<EventStore, "occupied">, clock: Pick<Clock, "elapsed">) {
    this.#store = store;
    this.#clock = clock;
  }

  async isFull(sessionKey: string): Promise<boolean> {
    if ((this.#until.get(sessionKey) ?? -1) > this.#clock.elapsed()) return false;
    const occupied = await this.#store.occupied(sessionKey);
    if (this.#until.size >= MAX_SESSIONS) this.#until.clear();
    if (occupied <= MAX_WAITING / 2) this.#until.set(sessionKey, this.#clock.elapsed() + TRUSTED_MS);
    return occupied >= MAX_WAITING;
  }
}
