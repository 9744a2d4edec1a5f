/** The key all device tokens are derived from: a file of this plugin, so that a copy of the database opens nothing. */
import { randomBytes } from "node:crypto";
import { link, open, readFile, rm } from "node:fs/promises";
import { join } from "node:path";

const FILE = "token-key";
const BYTES = 32;

/** Reads the key, or makes it, once, mode 0600. @throws Error naming a file that holds no key, which is never overwritten */
export async function keepTokenKey(directory: string): Promise<Buffer> {
  const path = join(directory, FILE);
  const kept = await readKey(path);
  if (kept) return kept;
  const draft = `${path}.${randomBytes(6).toString("hex")}.tmp`; // never the one of somebody else
  const file = await open(draft, "wx", 0o600);
  try {
    await file.writeFile(randomBytes(BYTES).toString("base64url"));
    await file.sync();
  } finally {
    await file.close();
  }
  try {
    await link(draft, path); // fails where another process was first, whose key counts
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  } finally {
    await rm(draft, { force: true });
  }
  await syncDirectory(directory);
  return (await readKey(path)) ?? Promise.reject(new Error(`${path} was removed while it was made`));
}

/** The new name survives a power cut, as the tokens that are handed out do. */
async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function readKey(path: string): Promise<Buffer | undefined> {
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  const key = Buffer.from(text.trim(), "base64url");
  if (key.length === BYTES) return key;
  throw new Error(
    `${path} holds no key; move it away to make a new one: all device tokens end, devices need the gateway's token once more`,
  );
}

function codeOf(error: unknown): unknown {
  return (error as NodeJS.ErrnoException).code; // what node:fs throws has one
}
