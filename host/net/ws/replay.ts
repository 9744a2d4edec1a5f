/** The latest events that were not for named connections, stored so that a client that lost its socket gets what it missed. */
import { randomUUID } from "node:crypto";
import type { EventSpec } from "@svc/sdk";
import type { EventCursor, StateVersion } from "@svc/sdk/protocol";

/**
 * Maximum number of stored events and of their bytes; the oldest event is dropped first. Choice: about a minute of a
 * busy gateway.
 */
const MOST_EVENTS = 1_000;
const MOST_BYTES = 8_388_608;

export interface ReplayEntry {
  readonly n: number;
  readonly event: EventSpec;
  /** JSON text; `undefined` without a payload. */
  readonly payload: string | undefined;
  readonly seq: number | undefined;
  readonly stateVersion: StateVersion | undefined;
}

export class ReplayLog {
  /** Identifies this process: event numbers of another one are invalid here. */
  readonly epoch = randomUUID();
  /** Dropped entries become `undefined`, which frees their memory. */
  #entries: (ReplayEntry | undefined)[] = [];
  #first = 0;
  #bytes = 0;
  #n = 0;
  /** Number of the newest dropped event. */
  #keptSince = 0;

  /** Position of the newest event. */
  get cursor(): EventCursor {
    return { epoch: this.epoch, n: this.#n };
  }

  append(entry: Omit<ReplayEntry, "n">): ReplayEntry {
    const kept = { ...entry, n: ++this.#n };
    this.#entries.push(kept);
    this.#bytes += kept.payload?.length ?? 0;
    while (this.#entries.length - this.#first > MOST_EVENTS || this.#bytes > MOST_BYTES) this.#dropOldest();
    return kept;
  }

  /** @returns the events after `cursor`, oldest first; `undefined` when some were dropped or the cursor is of another process */
  since({ epoch, n }: EventCursor): readonly ReplayEntry[] | undefined {
    if (epoch !== this.epoch || n > this.#n || n < this.#keptSince) return undefined;
    return this.#entries.slice(this.#first).filter((entry) => entry !== undefined && entry.n > n) as ReplayEntry[]; // dropped entries lie before `#first`
  }

  #dropOldest(): void {
    const oldest = this.#entries[this.#first];
    if (!oldest) return;
    this.#keptSince = oldest.n;
    this.#bytes -= oldest.payload?.length ?? 0;
    this.#entries[this.#first++] = undefined;
    if (this.#first < MOST_EVENTS) return;
    this.#entries = this.#entries.slice(this.#first);
    this.#first = 0;
  }
}
