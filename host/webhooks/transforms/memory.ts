/** What survives a restart: copies of the directory, and which of them each transform last worked with. */
import { readFile, rename, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Logger } from "@svc/sdk";
import type { TransformPlan } from "./contract.ts";
import type { Slot } from "./slots.ts";
import { createSnapshots, type Files, hashOf, privateDirectory } from "./snapshots.ts";

/** Hash of a copy by transform. */
type LastGood = ReadonlyMap<string, string>;

export interface Memory {
  /** Copies a directory. @returns its hash, also when the disk refuses */
  save(files: Files): Promise<string>;
  /** The directory a transform last worked with, if it is still as it was. */
  lastGood(plan: TransformPlan, slot: Slot): Promise<{ readonly hash: string; readonly files: Files } | undefined>;
  /** Writes down what the slots work with, and removes copies nobody needs. @returns the hashes that are needed */
  remember(plan: TransformPlan, slots: readonly Slot[], newest: string | undefined): Promise<ReadonlySet<string>>;
}

/** @param directory `<state>/cache/snap`. A disk that refuses is logged: what serves now does not depend on it. */
export function createMemory(directory: string, log: Logger): Memory {
  const file = join(directory, "last-good.json");
  const snapshots = createSnapshots(directory);
  let known: LastGood | undefined;

  async function read(): Promise<LastGood> {
    try {
      const parsed: unknown = JSON.parse(await readFile(file, "utf8"));
      const pairs: [string, unknown][] = Object.entries(parsed as object); // our own JSON
      return new Map(pairs.filter((pair): pair is [string, string] => typeof pair[1] === "string"));
    } catch {
      return new Map(); // not there, or damaged: nothing is known to have been good
    }
  }

  async function write(good: LastGood): Promise<void> {
    await privateDirectory(directory);
    const staged = `${file}.${process.pid}`;
    await writeFile(staged, `${JSON.stringify(Object.fromEntries(good), null, 2)}\n`, { mode: 0o600 });
    await rename(staged, file);
  }

  return {
    async save(files) {
      try {
        return await snapshots.save(files);
      } catch (err) {
        log.error(
          { err, directory },
          "transforms cannot be copied; after a restart there is no last good version of them",
        );
        return hashOf(files);
      }
    },

    async lastGood(plan, slot) {
      known ??= await read();
      const hash = known.get(keyIn(plan, slot));
      const files = hash === undefined ? undefined : await snapshots.read(hash);
      return hash !== undefined && files ? { hash, files } : undefined;
    },

    async remember(plan, slots, newest) {
      known ??= await read();
      const next = new Map<string, string>();
      for (const slot of slots) {
        const key = keyIn(plan, slot);
        const hash = slot.live?.hash ?? (slot.fault?.kind === "broken" ? known.get(key) : undefined);
        if (hash !== undefined) next.set(key, hash);
      }
      const used = new Set([...next.values(), ...(newest === undefined ? [] : [newest])]);
      try {
        if (!sameEntries(next, known)) await write(next);
        await snapshots.prune(used);
      } catch (err) {
        log.error(
          { err, directory },
          "which transforms work cannot be written down; a restart knows the newest files only",
        );
      }
      known = next;
      return used;
    },
  };
}

function keyIn({ root, directory }: TransformPlan, { candidate }: Slot): string {
  return JSON.stringify([resolve(root, directory), candidate.module, candidate.export ?? null]);
}

function sameEntries(one: LastGood, other: LastGood): boolean {
  return one.size === other.size && [...one].every(([key, value]) => other.get(key) === value);
}
