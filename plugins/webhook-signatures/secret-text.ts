/** What no secret may look like. */

/** Why a text that is used as it is cannot be a secret. */
export function textSecretProblem(secret: string): string | undefined {
  if (secret.trim() === "") return "is blank; copy the signing secret from the sender's settings";
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  if (/[\u0000-\u001f\u007f]/.test(secret)) {
    return "has a line break or another control character in it; copy the signing secret without";
  }
  return undefined;
}
