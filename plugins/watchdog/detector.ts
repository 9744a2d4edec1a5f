/**
 * Decides from the samples of the watchdog whether the event loop is blocked, by whom, and since when. Pure.
 *
 * Time in which the watchdog itself did not run does not count: a suspended process, a machine that sleeps or has no
 * processor to spare stops both threads, and no plugin is at fault.
 */
import { NOBODY } from "./messages.ts";

/** Milliseconds between two looks, and between two beats of the loop. */
export const LOOK_MS = 200;
/** Milliseconds without a beat that make a block. */
export const BLOCKED_MS = 1_000;
/** Milliseconds between two reports of one block. */
export const AGAIN_MS = 30_000;
/** A longer time between two looks counts as this much. */
const MOST_MS = 2 * LOOK_MS;

/** What is seen at one look. */
export interface Look {
  /** monotonic ms */
  readonly now: number;
  /** Changes whenever the loop comes round. */
  readonly beat: number;
  /** Whose code is running; 0: nobody's that is known. */
  readonly mark: number;
  /** Standing still means nothing now, since a debugger is attached. */
  readonly excused: boolean;
}

/** `blocked` once, `still` from time to time, `over` when the loop comes round again. */
export interface Finding {
  readonly kind: "blocked" | "still" | "over";
  /** Milliseconds so far. */
  readonly ms: number;
  /** Whose code was seen most often. */
  readonly mark: number;
}

export class BlockDetector {
  #last: Look | undefined;
  #silentMs = 0;
  #sightings = new Map<number, number>();
  /** Set while the loop is blocked: how long it was when that was last said. */
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
