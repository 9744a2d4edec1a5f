/** The type of a benchmark subject, and the order of its rounds: a warm-up, then interleaved A B A B. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Row } from "./figures.ts";

/** A `settleMs` for webhooks: what a window accepts is in the tables after that time. */
export const STORED_MS = 1_000;

/** How long to measure. */
export interface Settings {
  /** Number of rounds of each figure; the median is taken over them. */
  readonly rounds: number;
  /** Starts of a process per figure: they vary more and cost less than a round of load. */
  readonly starts: number;
  /** Milliseconds of load per figure and round. */
  readonly windowMs: number;
  /** Milliseconds of load before the first round, unmeasured. */
  readonly warmUpMs: number;
  /** Milliseconds a process idles before its memory is read. */
  readonly idleMs: number;
}

export const FULL: Settings = { rounds: 5, starts: 9, windowMs: 1_000, warmUpMs: 800, idleMs: 3_000 };
/** For quick checks during development: noisy, and never written to RESULTS.md. */
export const QUICK: Settings = { rounds: 2, starts: 3, windowMs: 200, warmUpMs: 150, idleMs: 1_000 };

/** A measured subject, with its bare counterpart. */
export interface Subject {
  /** For `--only`. */
  readonly name: string;
  /** Starts its servers, and stops them even if it throws. */
  measure(settings: Settings): Promise<readonly Row[]>;
}

/** Results by contender, one per round. */
export type Results<K extends string, T> = { readonly [P in K]: readonly T[] };

/**
 * Runs every contender once per round, in turn, so that slow spells of the machine hit all of them.
 * @param settleMs pause after each: gateways on one core, and what one still has to store would slow the next one down
 */
export async function interleave<K extends string, T>(
  rounds: number,
  contenders: { readonly [P in K]: () => Promise<T> },
  settleMs = 0,
): Promise<Results<K, T>> {
  const entries = Object.entries<() => Promise<T>>(contenders);
  const results = Object.fromEntries(entries.map(([name]) => [name, [] as T[]]));
  for (let round = 0; round < rounds; round++) {
    for (const [name, run] of entries) {
      results[name]?.push(await run());
      await sleep(settleMs);
    }
  }
  return results as Record<K, T[]>; // the keys are those of `contenders`
}
