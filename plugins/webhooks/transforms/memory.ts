/** State that survives a restart: copies of the directory, and the copy each transform last worked with. */
import { readFile, rename, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Logger } from "@svc/sdk";
import type { TransformPlan } from "@svc/sdk/webhooks";
import type { Slot } from "./slots.ts";
import { createSnapshots, type Files } from "./snapshots.ts";

/** Hash of a copy, by transform. */
type LastGood = ReadonlyMap<string, string>;

/** A copy on disk. */
export interface Saved {
  readonly hash: string;
  /** Absolute. */
  readonly place: string;
}

export interface Memory {
  /** Copies a directory. @throws Error of the file system */
  save(files: Files): Promise<Saved>;
  /** The copy that a transform last worked with, if it is unchanged. */
  lastGood(plan: TransformPlan, slot: Slot): Promise<(Saved & { readonly files: Files }) | undefined>;
  /** Records the copies that the slots use, and removes unused copies. @returns the paths still in use */
  remember(plan: TransformPlan, slots: readonly Slot[], newest: string | undefined): Promise<ReadonlySet<string>>;
}

/** @param directory `<state>/cache/snap` */
export function createMemory(directory: string, log: Logger): Memory {
  const file = join(directory, "last-good.json");
  const snapshots = createSnapshots(directory);
  let known: LastGood | undefined;

  async function read(): Promise<LastGood> {
    try {
      const parsed: unknown = JSON.parse(await readFile(file, "utf8"));
      const pairs: [string, unknown][] = Object.entries(parsed as object); // written below
      return new Map(pairs.filter((pair): pair is [string, string] => typeof pair[1] === "string"));
    } catch {
      return new Map(); // missing or damaged: no copy is known to be good
    }
  }

  async function write(good: LastGood): Promise<void> {
    const staged = `${file}.${process.pid}`;
    await writeFile(staged, `${JSON.stringify(Object.fromEntries(good), null, 2)}\n`, { mode: 0o600 });
    await rename(staged, file);
  }

  return {
    async save(files) {
      const hash = await snapshots.save(files);
      return { hash, place: snapshots.placeOf(hash) };
    },

    async lastGood(plan, slot) {
      known ??= await read();
      const hash = known.get(keyIn(plan, slot));
      const files = hash === undefined ? undefined : await snapshots.read(hash);
      return hash !== undefined && files ? { hash, place: snapshots.placeOf(hash), files } : undefined;
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
          "the last good versions of transforms cannot be recorded; after a restart only the newest files are used",
        );
      }
      known = next;
      return new Set([...used].map(snapshots.placeOf));
    },
  };
}

function keyIn({ root, directory }: TransformPlan, { candidate }: Slot): string {
  return JSON.stringify([resolve(root, directory), candidate.module, candidate.export ?? null]);
}

function sameEntries(one: LastGood, other: LastGood): boolean {
  return one.size === other.size && [...one].every(([key, value]) => other.get(key) === value);
}
