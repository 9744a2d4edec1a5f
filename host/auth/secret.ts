/** Compares and stores secrets. */
import { hash, randomBytes, timingSafeEqual } from "node:crypto";
import { chmodSync, closeSync, fchmodSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";

/** Whether both are equal; the time taken does not reveal where they differ. */
export function sameSecret(given: string, expected: string): boolean {
  let digest = digests.get(expected);
  if (!digest) {
    if (digests.size >= MAX_DIGESTS) digests.clear();
    digests.set(expected, (digest = digestOf(expected)));
  }
  return timingSafeEqual(digestOf(given), digest);
}

const digestOf = (text: string) => hash("sha256", text, "buffer");

/** Digests of expected secrets; a gateway has two or three. */
const digests = new Map<string, Buffer>();
const MAX_DIGESTS = 8;

/** File in the credentials directory that holds the gateway's own token. */
const TOKEN_FILE = "gateway-token";

/** The stored token; `undefined` before the first start, or when it cannot be read. */
export function readKeptToken(credentialsDir: string): string | undefined {
  try {
    return keptToken(credentialsDir);
  } catch {
    return undefined;
  }
}

/** @throws Error of the file system, except when the file does not exist */
function keptToken(credentialsDir: string): string | undefined {
  try {
    return readFileSync(join(credentialsDir, TOKEN_FILE), "utf8").trim() || undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return undefined;
  }
}

/**
 * The stored token, created at the first call: 24 random bytes in hex, in a file of mode 0600.
 * Choice: next to the configuration and not in it, since a start must not rewrite the file that people edit.
 * @throws Error of the file system: an existing token that cannot be read is not replaced
 */
export function keepToken(credentialsDir: string): string {
  const kept = keptToken(credentialsDir);
  if (kept) {
    chmodSync(join(credentialsDir, TOKEN_FILE), 0o600); // a restored copy may have a wider mode
    return kept;
  }
  const token = randomBytes(24).toString("hex");
  const file = openSync(join(credentialsDir, TOKEN_FILE), "w", 0o600);
  try {
    fchmodSync(file, 0o600); // an empty file with another mode may have existed
    writeSync(file, `${token}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  return token;
}
