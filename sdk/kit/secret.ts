/** Comparison of secrets: `@svc/kit/secret`. */
import { createHash, timingSafeEqual } from "node:crypto";

/** Whether two secrets are the same; takes the same time for every guess. */
export function isSameSecret(given: string, wanted: string): boolean {
  const hashOf = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(hashOf(given), hashOf(wanted));
}
