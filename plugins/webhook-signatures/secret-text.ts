/** Checks of secrets. */

/** Why a text is unusable as a secret; for schemes that use the text unchanged. */
export function textSecretProblem(secret: string): string | undefined {
  if (secret.trim() === "") return "is blank; copy the signing secret from the sender's settings";
  // oxlint-disable-next-line no-control-regex -- the search is for control characters
  if (/[\u0000-\u001f\u007f]/.test(secret)) {
    return "contains a line break or another control character; copy the signing secret without it";
  }
  return undefined;
}
