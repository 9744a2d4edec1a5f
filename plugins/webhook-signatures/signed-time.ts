/** The signed time of a request. */

/** Seconds since 1970 in the format of all schemes: digits, no sign, no blanks, no leading zero. */
const UNIX_SECONDS = /^[1-9]\d{0,11}$/;

/** @returns Unix seconds, or `undefined` for anything but plain digits */
export function readTime(text: string): number | undefined {
  return UNIX_SECONDS.test(text) ? Number(text) : undefined;
}

/**
 * Why the time is too far off, in either direction; the limit itself is allowed.
 * @param signedAt Unix seconds; `undefined` if no time is signed, which is always valid @param now epoch ms
 */
export function timeProblem(signedAt: number | undefined, now: number, toleranceSeconds: number): string | undefined {
  if (signedAt === undefined) return undefined;
  const late = Math.floor(now / 1_000) - signedAt;
  // The comparison also refuses NaN.
  if (Math.abs(late) <= toleranceSeconds) return undefined;
  return `it was signed ${Math.abs(late)} s ${late < 0 ? "ahead of" : "before"} the gateway's clock; ${toleranceSeconds} s are allowed: the request is old, or a clock is wrong`;
}
