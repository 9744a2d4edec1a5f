/**
 * Milliseconds the server asks to wait, from `Retry-After-Ms` or `Retry-After` (seconds or a date).
 * @returns `undefined` if it is absent or unreadable
 */
export function retryAfter(headers: Headers, now: number): number | undefined {
  const ms = Number.parseFloat(headers.get("retry-after-ms") ?? "");
  if (Number.isFinite(ms)) return Math.max(0, ms);
  const value = headers.get("retry-after");
  if (value === null) return undefined;
  const wait = /^[\d.]+$/u.test(value) ? Number.parseFloat(value) * 1_000 : Date.parse(value) - now;
  return Number.isFinite(wait) ? Math.max(0, wait) : undefined;
}
