/**
 * Copies of the transforms directory, each named by the hash of its content. Running code is loaded from these copies, and the last
 * good version can serve after a restart. They are in the state directory, mode 0700; a copy is used only if its hash still matches.
 */
import { createHash, randomUUID } from "node:crypto";
import { chmod, mkdir, readdir, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { COMPILED, SUFFIX } from "./copy.ts";
import { readTree } from "./tree.ts";

export type Files = ReadonlyMap<string, Buffer>;

/** Choice: unused copies that are preserved, newest first, for a look back after a bad edit. */
const SPARE = 3;
const STAGE_AGE_MS = 3_600_000;
const STAGE = /^\.stage-/;
const NAME = /^[0-9a-f]{64}$/;

/** SHA-256 of names and bytes, in hex. */
export function hashOf(files: Files): string {
  const names = [...files.keys()].sort();
  const parts = names.map((name) => [
    name,
    createHash("sha256")
      .update(files.get(name) ?? "")
      .digest("hex"),
  ]);
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}

export interface Snapshots {
  /** Path of a copy. Absolute. */
  placeOf(hash: string): string;
  /** Writes a copy unless an intact one exists. @returns its hash. @throws Error of the file system */
  save(files: Files): Promise<string>;
  /** @returns `undefined` if the copy does not exist or does not match its hash */
  read(hash: string): Promise<Files | undefined>;
  /** Removes all other copies except a few of the newest. */
  prune(keep: ReadonlySet<string>): Promise<void>;
}

/** @param directory `<state>/cache/snap` */
export function createSnapshots(directory: string): Snapshots {
  async function read(hash: string): Promise<Files | undefined> {
    if (!NAME.test(hash)) return undefined;
    const reading = await readTree(directory, hash);
    if (reading.kind !== "tree") return undefined;
    const files = new Map([...reading.files].map(([name, bytes]) => [name.slice(0, -SUFFIX.length), bytes]));
    return hashOf(files) === hash ? files : undefined;
  }

  async function stage(files: Files): Promise<string> {
    const staged = join(directory, `.stage-${randomUUID()}`);
    await mkdir(join(staged, COMPILED), { recursive: true, mode: 0o700 });
    for (const [name, bytes] of files) {
      const path = join(staged, name + SUFFIX);
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      await writeFile(path, bytes, { flag: "wx", mode: 0o600 });
    }
    return staged;
  }

  async function save(files: Files): Promise<string> {
    const hash = hashOf(files);
    const target = join(directory, hash);
    await mkdir(directory, { recursive: true, mode: 0o700 });
    await chmod(directory, 0o700);
    if (!(await read(hash))) {
      const staged = await stage(files);
      await rm(target, { recursive: true, force: true });
      try {
        await rename(staged, target);
      } catch (error) {
        await rm(staged, { recursive: true, force: true });
        if (!(await read(hash))) throw error; // otherwise another process wrote the copy first
      }
    }
    const now = new Date();
    await utimes(target, now, now);
    return hash;
  }

  async function prune(keep: ReadonlySet<string>): Promise<void> {
    const ages: { path: string; stage: boolean; at: number }[] = [];
    for (const name of await readdir(directory).catch(() => [])) {
      if (keep.has(name) || !(STAGE.test(name) || NAME.test(name))) continue;
      const path = join(directory, name);
      const at = (await stat(path).catch(() => undefined))?.mtimeMs;
      if (at !== undefined) ages.push({ path, stage: STAGE.test(name), at });
    }
    const old = ages
      .filter(({ stage }) => !stage)
      .sort((one, other) => other.at - one.at)
      .slice(SPARE);
    const left = ages.filter(({ stage, at }) => stage && Date.now() - at > STAGE_AGE_MS);
    for (const { path } of [...old, ...left]) await rm(path, { recursive: true, force: true });
  }

  return { placeOf: (hash) => join(directory, hash), save, read, prune };
}
