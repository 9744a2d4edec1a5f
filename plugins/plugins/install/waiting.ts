/**
 * Keeps the package that was fetched by an install without agreement. The package waits in the cache: an agreement with
 * the word of the refusal installs exactly this package without fetching again. Choice: one package waits, until the
 * next install or update.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { matches, type Static, Type } from "@svc/sdk";
import type { InstallEffects } from "./effects.ts";

/** Facts about a fetched package, stored next to its files. */
const Fetched = Type.Object({
  source: Type.Enum(["npm", "archive", "directory", "git"]),
  spec: Type.String({ description: "the requested spec" }),
  name: Type.String(),
  integrity: Type.String({ description: "integrity of the archive" }),
  tree: Type.String({ description: "hash of the generation" }),
});
export type Fetched = Static<typeof Fetched>;

const FACTS = "fetched.json";

/** Directory of waiting packages. */
function waitingDirectory(stateDir: string): string {
  return join(stateDir, "cache", "install");
}

/** Call this before asking for agreement. */
export function noteFetched(staging: string, fetched: Fetched): Promise<void> {
  return writeFile(join(staging, FACTS), JSON.stringify(fetched), { mode: 0o600 });
}

/** Moves the staging directory to the waiting directory under this word. */
export async function keep(word: string, staging: string, stateDir: string, { files }: Pick<InstallEffects, "files">) {
  const directory = waitingDirectory(stateDir);
  await files.mkdir(directory, { recursive: true, mode: 0o700 });
  await files.rm(join(staging, "work"), { recursive: true, force: true });
  await files.rename(staging, join(directory, word));
}

/**
 * Moves the package waiting under this word to the staging directory, and removes all other waiting packages.
 * @param word as typed; `undefined`: only removes
 * @returns `undefined` if no package of this spec waits under the word
 */
export async function take(
  word: string | undefined,
  spec: string,
  staging: string,
  stateDir: string,
  { files }: Pick<InstallEffects, "files">,
): Promise<Fetched | undefined> {
  const directory = waitingDirectory(stateDir);
  const fetched = word !== undefined && WORD.test(word) ? await readFetched(join(directory, word)) : undefined;
  const isTaken = fetched?.spec === spec;
  if (isTaken) await files.rename(join(directory, word ?? ""), staging);
  await files.rm(directory, { recursive: true, force: true, maxRetries: 3 });
  return isTaken ? fetched : undefined;
}

/** The format of `consentOf`. */
const WORD = /^[\w-]{43}$/;

async function readFetched(directory: string): Promise<Fetched | undefined> {
  try {
    const fetched: unknown = JSON.parse(await readFile(join(directory, FACTS), "utf8"));
    return matches(Fetched, fetched) ? fetched : undefined;
  } catch {
    return undefined; // nothing is waiting
  }
}
