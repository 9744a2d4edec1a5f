/**
 * Proof of access to the state directory: whoever can read it may do anything here anyway, so a key that lies there lets
 * programs of this machine in as admins in every mode. It is the way back when no other credential is at hand.
 * Choice: a new one at each start, and only for clients that are local.
 */
import { randomBytes } from "node:crypto";
import { chmodSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** File in the credentials directory. */
const FILE = "local-key";

/** 43 characters, base64url. */
export function createLocalKey(): string {
  return randomBytes(32).toString("base64url");
}

/** Puts the key of this start in the place of the last one's; mode 0600. @throws Error of the file system */
export function writeLocalKey(credentialsDir: string, key: string): void {
  const path = join(credentialsDir, FILE);
  const draft = `${path}.${process.pid}.tmp`;
  writeFileSync(draft, `${key}\n`, { mode: 0o600 });
  chmodSync(draft, 0o600); // an interrupted start may have left a wider one
  renameSync(draft, path);
}

/** Key of the gateway that was started last, or `undefined`. */
export function readLocalKey(credentialsDir: string): string | undefined {
  try {
    return readFileSync(join(credentialsDir, FILE), "utf8").trim() || undefined;
  } catch {
    return undefined;
  }
}
