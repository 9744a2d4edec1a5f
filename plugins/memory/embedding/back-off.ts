/** Back-off for a server that failed. Pure. */

export interface BackOff {
  readonly failures: number;
  /** epoch ms */
  readonly until: number;
  readonly reason: string;
}

/** Choice: 15 s, doubled with each consecutive failure, up to 10 minutes. */
const FIRST_MS = 15_000;
const MAX_MS = 600_000;

/** @param retryAfterMs wait requested by the server; capped at the longest wait */
export function afterFailure(
  before: BackOff | undefined,
  { reason, now, retryAfterMs = 0 }: { reason: string; now: number; retryAfterMs?: number | undefined },
): BackOff {
  const failures = (before?.failures ?? 0) + 1;
  const wait = Math.min(MAX_MS, Math.max(FIRST_MS * 2 ** (failures - 1), retryAfterMs));
  return { failures, until: now + wait, reason };
}

/** Why no request is sent now, for people; `undefined`: requests may be sent. */
export function waitingFor(backOff: BackOff | undefined, now: number): string | undefined {
  if (backOff === undefined || now >= backOff.until) return undefined;
  return `${backOff.reason}; next attempt in ${Math.ceil((backOff.until - now) / 1_000)} s`;
}
