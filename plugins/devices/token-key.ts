/** The key from which all device tokens are derived: a file of this plugin, so that a copy of the database alone is useless. */
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createFile } from "@svc/sdk/files";

const FILE = "token-key";
const BYTES = 32;

/** Reads the key, or creates it with mode 0600. @throws Error naming a file without a valid key, which is never overwritten */
export async function keepTokenKey(directory: string): Promise<Buffer> {
  const path = join(directory, FILE);
  const kept = await readKey(path);
  if (kept) return kept;
  await createFile(path, randomBytes(BYTES).toString("base64url")); // if another process created it first, its key counts
  return (await readKey(path)) ?? Promise.reject(new Error(`${path} was removed while it was created`));
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
