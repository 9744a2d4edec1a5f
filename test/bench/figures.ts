/** Figures and their targets. Pure. Targets come from the performance page of the design; other figures have none. */

/** Values of one figure, one per round. */
export type Rounds = readonly number[];

/** The target of a figure in the design. */
export interface Target {
  readonly text: string;
  /** @param ratio ours to bare; NaN without a bare figure */
  met(ours: number, ratio: number): boolean;
}

/** A figure of the gateway, beside the same work on a bare server. */
export interface Row {
  readonly subject: string;
  readonly figure: string;
  readonly unit: string;
  readonly ours: Rounds;
  readonly bare?: { readonly name: string; readonly rounds: Rounds };
  readonly target?: Target;
}

export function atMost(limit: number, unit: string): Target {
  return { text: `<= ${limit} ${unit}`, met: (ours) => ours <= limit };
}

export function atLeast(limit: number, unit: string): Target {
  return { text: `>= ${limit} ${unit}`, met: (ours) => ours >= limit };
}

export function ratioAtMost(limit: number): Target {
  return { text: `<= ${limit}x bare`, met: (_, ratio) => ratio <= limit };
}

export function ratioAtLeast(limit: number): Target {
  return { text: `>= ${limit}x bare`, met: (_, ratio) => ratio >= limit };
}

/** At most this much more than the bare figure. */
export function addsAtMost(ms: number, bare: Rounds): Target {
  return { text: `adds <= ${ms} ms`, met: (ours) => ours - median(bare) <= ms };
}

export function both(first: Target, second: Target): Target {
  return {
    text: `${first.text}, ${second.text}`,
    met: (ours, ratio) => first.met(ours, ratio) && second.met(ours, ratio),
  };
}

/** The value below which `share` (0..1) of the values lie; NaN for none. */
export function percentile(values: Rounds, share: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

/** The middle value, or the mean of the two in the middle; NaN for none. */
export function median(values: Rounds): number {
  const sorted = Float64Array.from(values).sort();
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2;
}

/** Median over the rounds of ours to bare: each round is compared with its own neighbour. NaN without a bare figure. */
export function ratioOf({ ours, bare }: Pick<Row, "ours" | "bare">): number {
  if (!bare) return Number.NaN;
  return median(ours.map((value, round) => value / (bare.rounds[round] ?? Number.NaN)));
}
