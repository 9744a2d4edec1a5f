/** How long a stop waits for work in flight: `svc gateway run --drain`. Pure. */

/** Choice: the longest that work in flight usually takes; a second signal ends the wait. */
export const DEFAULT_DRAIN = "10m";

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };

/** Milliseconds of `90s`, `10m`, `1h` or `0`, which does not wait; `undefined` for anything else. */
export function drainOf(text: string): number | undefined {
  if (text === "0") return 0;
  const [, amount, unit = ""] = /^(\d{1,6})([smh])$/.exec(text) ?? [];
  return amount === undefined ? undefined : Number(amount) * (UNIT_MS[unit] ?? Number.NaN);
}

/** As people write it: `10m`, `90s`. */
export function drainText(ms: number): string {
  return ms > 0 && ms % 60_000 === 0 ? `${ms / 60_000}m` : `${Math.ceil(ms / 1_000)}s`;
}

/**
 * Milliseconds after which a gateway that was told to stop counts as stuck: calls, plugins and sockets have theirs after the drain.
 * @param drainMs default: that of a gateway without `--drain`
 */
export function stopWithinMs(drainMs = drainOf(DEFAULT_DRAIN) ?? 0): number {
  return drainMs + 30_000;
}

/** One line for people who wait. @param busy ids of plugins. @param atOnce how not to wait */
export function waitingLine(busy: readonly string[], drainMs: number, atOnce: string): string {
  return `waiting for work in flight (${busy.join(", ")}), up to ${drainText(drainMs)}; ${atOnce}`;
}
