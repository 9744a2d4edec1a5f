/**
 * How long things took, in memory that does not grow: counts by size class, eight classes for each doubling.
 *
 * Choice: not the histogram of `node:perf_hooks`, which holds some hundred KB each; this one has 2 KB, is kept per
 * plugin, and recording costs some 3 ns.
 */

/** Smallest and largest doubling told apart: 2^-10 ms (about 1 us) and 2^20 ms (17 minutes). */
const FIRST = -10;
const LAST = 20;
const STEPS = 8;
const CLASSES = (LAST - FIRST) * STEPS;
/** One more class for whatever takes longer. */
const BEYOND = CLASSES;

/** The class is in the upper bits of the number itself: its exponent and the first three bits after it. */
const asNumber = new Float64Array(1);
const asBits = new Uint32Array(asNumber.buffer);
const UPPER = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1 ? 1 : 0;
const DROPPED_BITS = 17;
const OFFSET = (1_023 + FIRST) * STEPS;

export class Latency {
  /** Milliseconds of all together. */
  sum = 0;
  count = 0;
  /** Milliseconds */
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

  /** Milliseconds that this share of all took at most, an eighth too much at worst; `null` when there was nothing yet. */
  quantile(share: number): number | null {
    if (this.count === 0) return null;
    let left = Math.ceil(this.count * share);
    for (let index = 0; index < CLASSES; index++) {
      left -= this.#classes?.[index] ?? 0;
      if (left <= 0) return Math.min(this.max, endOf(index));
    }
    return this.max;
  }

  /** How many took less than 2^exponent milliseconds. */
  countBelow(exponent: number): number {
    const end = Math.min(CLASSES, Math.max(0, (exponent - FIRST) * STEPS));
    let count = 0;
    for (let index = 0; index < end; index++) count += this.#classes?.[index] ?? 0;
    return count;
  }
}

/** Milliseconds where a class ends. */
function endOf(index: number): number {
  const doubling = Math.floor(index / STEPS);
  return 2 ** (FIRST + doubling) * (1 + ((index % STEPS) + 1) / STEPS);
}
