/** The latest events that were not for named connections, stored so that a client that lost its socket gets what it missed. */
import { randomUUID } from "node:crypto";
import type { EventCursor } from "@svc/sdk/protocol";
import type { Emission } from "./shared-events.ts";

/**
 * Maximum number of stored events and of their bytes; the oldest event is dropped first. Choice: about a minute of a
 * busy gateway.
 */
const MOST_EVENTS = 1_000;
const MOST_BYTES = 8_388_608;
/** Choice: positions by which a cursor of another gateway may be ahead of this one. */
const MOST_AHEAD = 10_000;

export interface ReplayEntry {
  readonly n: number;
  readonly seq: number | undefined;
  readonly emission: Emission;
}

export interface ReplayOptions {
  /** Positions of another epoch are invalid here. Default: a new one. */
  readonly epoch?: string;
  /** Position before the first event. Default 0. */
  readonly n?: number;
  /** Other gateways have the same events, maybe earlier. Default false. */
  readonly isShared?: boolean;
}

export class ReplayLog {
  readonly epoch: string;
  readonly #isShared: boolean;
  /** Dropped entries become `undefined`, which frees their memory. */
  #entries: (ReplayEntry | undefined)[] = [];
  #first = 0;
  #bytes = 0;
  #n: number;
  /** Number of the newest dropped event. */
  #keptSince: number;

  constructor({ epoch = randomUUID(), n = 0, isShared = false }: ReplayOptions = {}) {
    this.epoch = epoch;
    this.#n = n;
    this.#keptSince = n;
    this.#isShared = isShared;
  }

  /** Position of the newest event. */
  get cursor(): EventCursor {
    return { epoch: this.epoch, n: this.#n };
  }

  /** @param entry its position is above that of the entry before */
  append(entry: ReplayEntry): void {
    this.#entries.push(entry);
    this.reach(entry.n);
    this.#bytes += entry.emission.text?.length ?? 0;
    while (this.#entries.length - this.#first > MOST_EVENTS || this.#bytes > MOST_BYTES) this.#dropOldest();
  }

  /** Positions up to this one have passed. */
  reach(n: number): void {
    if (n > this.#n) this.#n = n;
  }

  /**
   * @returns the events after `cursor`, oldest first; none when it is ahead, but another gateway may have given it;
   * `undefined` when some were dropped or the cursor is of another epoch
   */
  since({ epoch, n }: EventCursor): readonly ReplayEntry[] | undefined {
    const most = this.#n + (this.#isShared ? MOST_AHEAD : 0);
    if (epoch !== this.epoch || n > most || n < this.#keptSince) return undefined;
    return this.#entries.slice(this.#first).filter((entry) => entry !== undefined && entry.n > n) as ReplayEntry[]; // dropped entries lie before `#first`
  }

  #dropOldest(): void {
    const oldest = this.#entries[this.#first];
    if (!oldest) return;
    this.#keptSince = oldest.n;
    this.#bytes -= oldest.emission.text?.length ?? 0;
    this.#entries[this.#first++] = undefined;
    if (this.#first < MOST_EVENTS) return;
    this.#entries = this.#entries.slice(this.#first);
    this.#first = 0;
  }
}
