/**
 * Proof of access to the state directory: a program that can read it controls the gateway anyway, so a key stored there
 * admits programs on this machine as admins in every mode. It is the fallback when no other credential is at hand.
 * Choice: a new key at each start, accepted only from local clients.
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

/** Replaces the key of the previous start by the one of this start; mode 0600. @throws Error of the file system */
export function writeLocalKey(credentialsDir: string, key: string): void {
  const path = join(credentialsDir, FILE);
  const draft = `${path}.${process.pid}.tmp`;
  writeFileSync(draft, `${key}\n`, { mode: 0o600 });
  chmodSync(draft, 0o600); // an interrupted start may have left a draft with a wider mode
  renameSync(draft, path);
}

/** Key of the gateway started last, or `undefined`. */
export function readLocalKey(credentialsDir: string): string | undefined {
  try {
    return readFileSync(join(credentialsDir, FILE), "utf8").trim() || undefined;
  } catch {
    return undefined;
  }
}
