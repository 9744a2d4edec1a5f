/**
 * Histogram of durations in constant memory, with eight classes per doubling.
 *
 * Choice: not the histogram of `node:perf_hooks`, which takes some hundred KB; this one takes 2 KB, exists per plugin, and recording costs
 * some 3 ns.
 */

/** Exponents of the smallest and largest limits: 2^-10 ms (about 1 us) and 2^20 ms (17 minutes). */
const FIRST = -10;
const LAST = 20;
const STEPS = 8;
const CLASSES = (LAST - FIRST) * STEPS;
/** Index of the class for longer durations. */
const BEYOND = CLASSES;

/** The class is read from the upper bits of the number: its exponent and the first three bits of its fraction. */
const asNumber = new Float64Array(1);
const asBits = new Uint32Array(asNumber.buffer);
const UPPER = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1 ? 1 : 0;
const DROPPED_BITS = 17;
const OFFSET = (1_023 + FIRST) * STEPS;

export class Latency {
  /** Sum of all durations. ms */
  sum = 0;
  count = 0;
  /** Longest duration. ms */
  max = 0;
  #classes: Float64Array | undefined;

  /** @param ms milliseconds, not negative */
  record(ms: number): void {
    this.count++;
    this.sum += ms;
    if (ms > this.max) this.max = ms;
    asNumber[0] = ms;
    const place = ((asBits[UPPER] ?? 0) >>> DROPPED_BITS) - OFFSET;
    const classes = (this.#classes ??= new Float64Array(CLASSES + 1));
    const index = place < 0 ? 0 : place > BEYOND ? BEYOND : place;
    classes[index] = (classes[index] ?? 0) + 1;
  }

  /** Upper bound of this share of all durations, at most an eighth too large; `null` before the first record. ms */
  quantile(share: number): number | null {
    if (this.count === 0) return null;
    let left = Math.ceil(this.count * share);
    for (let index = 0; index < CLASSES; index++) {
      left -= this.#classes?.[index] ?? 0;
      if (left <= 0) return Math.min(this.max, endOf(index));
    }
    return this.max;
  }

  /** Number of durations below 2^exponent milliseconds. */
  countBelow(exponent: number): number {
    const end = Math.min(CLASSES, Math.max(0, (exponent - FIRST) * STEPS));
    let count = 0;
    for (let index = 0; index < end; index++) count += this.#classes?.[index] ?? 0;
    return count;
  }
}

/** Upper limit of a class. ms */
function endOf(index: number): number {
  const doubling = Math.floor(index / STEPS);
  return 2 ** (FIRST + doubling) * (1 + ((index % STEPS) + 1) / STEPS);
}
