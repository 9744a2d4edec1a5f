/** The word that stands for an agreement. Pure. */
import { createHash } from "node:crypto";

/**
 * What stands for an agreement: to these items, for this very package. Another archive is another agreement.
 * @param integrity of the archive; for a link its directory
 */
export function consentOf(id: string, integrity: string, items: readonly string[]): string {
  const text = JSON.stringify([id, integrity, [...items].sort()]);
  return createHash("sha256").update(text).digest("base64url");
}
