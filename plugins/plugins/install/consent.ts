/** The word that identifies an agreement. Pure. */
import { createHash } from "node:crypto";

/**
 * Identifies an agreement to these items for exactly this package. Another archive needs another agreement.
 * @param integrity of the archive; for a link, its directory
 */
export function consentOf(id: string, integrity: string, items: readonly string[]): string {
  const text = JSON.stringify([id, integrity, [...items].sort()]);
  return createHash("sha256").update(text).digest("base64url");
}
