/** How long a stop waits for work in flight: `svc gateway run --drain`. Pure. */

/** Choice: about the longest time that work in flight usually takes; a second signal ends the wait. */
export const DEFAULT_DRAIN = "10m";

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };

/** Parses `90s`, `10m`, `1h` or `0` (do not wait) to milliseconds; `undefined` for any other text. */
export function drainOf(text: string): number | undefined {
  if (text === "0") return 0;
  const [, amount, unit = ""] = /^(\d{1,6})([smh])$/.exec(text) ?? [];
  return amount === undefined ? undefined : Number(amount) * (UNIT_MS[unit] ?? Number.NaN);
}

/** Formats milliseconds as `10m` or `90s`. */
export function drainText(ms: number): string {
  return ms > 0 && ms % 60_000 === 0 ? `${ms / 60_000}m` : `${Math.ceil(ms / 1_000)}s`;
}

/**
 * Milliseconds after which a stopping gateway counts as stuck: the drain plus the time to end calls, plugins and sockets.
 * @param drainMs default: the drain of a gateway without `--drain`
 */
export function stopWithinMs(drainMs = drainOf(DEFAULT_DRAIN) ?? 0): number {
  return drainMs + 30_000;
}

/** Status line for the operator. @param busy ids of plugins @param atOnce how to skip the wait */
export function waitingLine(busy: readonly string[], drainMs: number, atOnce: string): string {
  return `waiting for work in flight (${busy.join(", ")}), up to ${drainText(drainMs)}; ${atOnce}`;
}
