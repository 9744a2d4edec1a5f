/**
 * Detects from the watchdog's samples whether the event loop is blocked, by which plugin, and for how long. Pure.
 *
 * Time in which the watchdog itself did not run does not count: a suspended process, a sleeping machine or a lack of CPU stops both
 * threads, and no plugin is at fault.
 */
import { NOBODY } from "./messages.ts";

/** Interval of the samples, and of the loop's beats. ms */
export const LOOK_MS = 200;
/** Time without a beat that counts as a block. ms */
export const BLOCKED_MS = 1_000;
/** Interval of the reports about one block. ms */
export const AGAIN_MS = 30_000;
/** Longest time that counts between two samples. ms */
const MOST_MS = 2 * LOOK_MS;

/** One sample. */
export interface Look {
  /** monotonic ms */
  readonly now: number;
  /** Counter that the event loop increments. */
  readonly beat: number;
  /** Mark of the running code; 0: no known plugin. */
  readonly mark: number;
  /** A debugger is attached, so a stopped loop is no block. */
  readonly excused: boolean;
}

/** `blocked` once, `still` every `AGAIN_MS`, `over` when the loop runs again. */
export interface Finding {
  readonly kind: "blocked" | "still" | "over";
  /** Duration of the block so far. ms */
  readonly ms: number;
  /** Mark seen most often during the block. */
  readonly mark: number;
}

export class BlockDetector {
  #last: Look | undefined;
  #silentMs = 0;
  #sightings = new Map<number, number>();
  /** Duration of the current block at its last report. ms; `undefined`: no block was reported. */
  #toldMs: number | undefined;

  look(look: Look): Finding | undefined {
    const last = this.#last ?? look;
    this.#last = look;
    const sinceMs = Math.min(look.now - last.now, MOST_MS);
    if (look.beat !== last.beat || look.excused) return this.#cameRound();
    this.#silentMs += sinceMs;
    this.#sightings.set(look.mark, (this.#sightings.get(look.mark) ?? 0) + 1);
    if (this.#silentMs < (this.#toldMs === undefined ? BLOCKED_MS : this.#toldMs + AGAIN_MS)) return undefined;
    const kind = this.#toldMs === undefined ? "blocked" : "still";
    this.#toldMs = this.#silentMs;
    return { kind, ms: this.#silentMs, mark: this.#culprit() };
  }

  #cameRound(): Finding | undefined {
    const ms = this.#silentMs;
    const mark = this.#culprit();
    const wasBlocked = this.#toldMs !== undefined;
    this.#silentMs = 0;
    this.#toldMs = undefined;
    this.#sightings.clear();
    return wasBlocked ? { kind: "over", ms, mark } : undefined;
  }

  #culprit(): number {
    const [mark = NOBODY] = [...this.#sightings].sort(([, left], [, right]) => right - left)[0] ?? [];
    return mark;
  }
}
