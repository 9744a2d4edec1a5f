/**
 * The key from which all device tokens are derived: a file of this plugin, so that a copy of the database alone is useless. Gateways that share a
 * database share the key, too: then it is also in the database.
 */
import { randomBytes } from "node:crypto";
import { readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { createFile } from "@svc/sdk/files";
import type { Storage } from "@svc/sdk/storage";

const FILE = "token-key";
const BYTES = 32;
const SHARED = "shared-token-key";

/** Reads the key, or creates it with mode 0600. @throws Error naming a file without a valid key, which is never overwritten */
export async function keepTokenKey(directory: string): Promise<Buffer> {
  const path = join(directory, FILE);
  const kept = await readKey(path);
  if (kept) return kept;
  await createFile(path, randomBytes(BYTES).toString("base64url")); // if another process created it first, its key counts
  return (await readKey(path)) ?? Promise.reject(new Error(`${path} was removed while it was created`));
}

/**
 * The key of all gateways on the database: that of the first one. A file with another key becomes `token-key.former`.
 * @throws Error of the file system, or the database holds no valid key; GatewayError `UNAVAILABLE`
 */
export async function commonTokenKey(directory: string, storage: Storage): Promise<Buffer> {
  const path = join(directory, FILE);
  const own = await readKey(path);
  const offered = (own ?? randomBytes(BYTES)).toString("base64url");
  await storage.transaction([
    {
      sql: "INSERT INTO devices_facts (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING",
      params: [SHARED, offered],
    },
  ]);
  const row = await storage.get<{ value: string }>("SELECT value FROM devices_facts WHERE name = ?", [SHARED]);
  const key = Buffer.from(row?.value ?? "", "base64url");
  if (key.length !== BYTES)
    throw new Error(`the table devices_facts holds no valid key in its row ${SHARED}; delete the row to use ${path}`);
  if (own?.equals(key)) return key;
  if (own) await rename(path, `${path}.former`);
  await createFile(path, key.toString("base64url"));
  return key;
}

/** A database of one gateway does not keep the key, e.g. after it was copied from a shared one. */
export async function forgetCommonKey(storage: Storage): Promise<void> {
  const known = await storage.get("SELECT 1 AS one FROM devices_facts WHERE name = ?", [SHARED]);
  if (known) await storage.transaction([{ sql: "DELETE FROM devices_facts WHERE name = ?", params: [SHARED] }]);
}

async function readKey(path: string): Promise<Buffer | undefined> {
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  const key = Buffer.from(text.trim(), "base64url");
  if (key.length === BYTES) return key;
  throw new Error(
    `${path} holds no valid key; move it away to create a new one: all device tokens become invalid, and devices need the gateway's token once`,
  );
}
