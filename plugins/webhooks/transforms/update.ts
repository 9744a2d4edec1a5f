/** One update from the transforms directory: checks new versions and activates them, and reports broken ones. */
import { join, resolve } from "node:path";
import type { Logger } from "@svc/sdk";
import type { TransformPlan } from "@svc/sdk/webhooks";
import { checkTransforms, type CheckOptions } from "./check.ts";
import type { Copy } from "./copy.ts";
import { createMemory } from "./memory.ts";
import { type Fault, faultIn, type Slot } from "./slots.ts";
import { readTree, type Tree } from "./tree.ts";
import type { Versions } from "./versions.ts";

export interface UpdateOptions extends Pick<CheckOptions, "clock" | "importMs" | "startThread" | "signal"> {
  readonly stateDir: string;
  readonly log: Logger;
  readonly versions: Versions;
  /** Called when the live version or the problem of a slot changed. */
  changed(slot: Slot): void;
}

/** A problem of the directory. */
export interface DirectoryProblem {
  readonly path: string;
  readonly message: string;
}

export type Update = (plan: TransformPlan, slots: readonly Slot[]) => Promise<readonly DirectoryProblem[]>;

/** A copy with transforms to check. */
interface Version extends Pick<Tree, "directory" | "files" | "refused"> {
  readonly place: string;
  /** An earlier good version; the problem of the newest version remains. */
  readonly isOld?: boolean;
}

/** @returns a function that must not be called concurrently */
export function createUpdate({ stateDir, log, versions, changed, ...threads }: UpdateOptions): Update {
  const { signal } = threads;
  const snapshots = join(stateDir, "cache", "snap");
  const memory = createMemory(snapshots, log);

  function fail(slot: Slot, fault: Fault): void {
    const isNew = slot.fault?.kind !== fault.kind || slot.fault.problem !== fault.problem;
    const former = slot.live;
    slot.fault = fault;
    if (fault.kind === "missing") slot.live = undefined; // its author deleted it
    if (former && !slot.live) versions.retire(former);
    if (isNew) changed(slot);
  }

  async function check({ directory, place, files, refused, isOld }: Version, slots: readonly Slot[]): Promise<void> {
    if (slots.length === 0) return;
    const byKey = new Map(slots.map((slot) => [slot.candidate.key, slot]));
    const starting: Promise<void>[] = [];
    const copy = { directory, place, known: { files: new Set(files.keys()), refused } };
    await checkTransforms({
      ...threads,
      copy,
      candidates: slots.map(({ candidate }) => candidate),
      failed: ({ key }, problem) => {
        const slot = byKey.get(key);
        if (slot && !isOld) fail(slot, { kind: "broken", problem });
      },
      passed: ({ key }, examples) => {
        const slot = byKey.get(key);
        if (slot) starting.push(start(slot, copy, examples, isOld));
      },
    });
    await Promise.all(starting);
  }

  async function start(slot: Slot, copy: Copy, examples: number, isOld = false): Promise<void> {
    try {
      const live = await versions.start(slot, copy, examples);
      if (signal.aborted) return versions.retire(live);
      if (slot.live) versions.retire(slot.live);
      slot.live = live;
      if (!isOld) slot.fault = undefined;
      changed(slot);
    } catch (error) {
      const problem = (error as Error).message; // `versions` throws errors only
      if (!signal.aborted && !isOld) fail(slot, { kind: "broken", problem });
    }
  }

  /** The slots to check; records the fault of those that cannot be checked. */
  function candidatesIn(tree: Tree, hash: string, slots: readonly Slot[]): readonly Slot[] {
    return slots.filter((slot) => {
      const fault = faultIn(tree, slot.candidate.module);
      if (fault) fail(slot, fault);
      if (fault || slot.live?.hash !== hash) return !fault;
      if (slot.fault) {
        slot.fault = undefined; // the directory is back in its last good state
        changed(slot);
      }
      return false;
    });
  }

  /** After a restart no version is live: activates the last good version until the newest one passes. */
  async function restore(directory: string, plan: TransformPlan, slots: readonly Slot[]): Promise<void> {
    for (const slot of slots) {
      if (slot.live || slot.fault?.kind !== "broken" || slot.restored || signal.aborted) continue;
      slot.restored = true;
      const old = await memory.lastGood(plan, slot);
      if (old) await check({ ...old, directory, refused: new Map(), isOld: true }, [slot]);
    }
  }

  /** @returns the hash of the copy; `undefined` if it could not be written, which every slot then reports */
  async function take(tree: Tree, slots: readonly Slot[]): Promise<string | undefined> {
    const saved = await memory.save(tree.files).catch((error: Error) => error);
    if (!(saved instanceof Error)) {
      await check({ ...tree, place: saved.place }, candidatesIn(tree, saved.hash, slots));
      return saved.hash;
    }
    const problem = `cannot be copied to ${snapshots}: ${saved.message}`;
    for (const slot of slots) fail(slot, { kind: "broken", problem: `${slot.candidate.module}: ${problem}` });
    return undefined;
  }

  return async (plan, slots) => {
    const reading = await readTree(plan.root, plan.directory);
    const place = reading.kind === "tree" ? reading.directory : resolve(plan.root, plan.directory);
    let newest: string | undefined;
    if (signal.aborted) return [];
    if (reading.kind === "tree") newest = await take(reading, slots);
    else {
      const missing: Fault = { kind: "missing", problem: `the directory ${place} does not exist` };
      const fault: Fault =
        reading.kind === "missing" ? missing : { kind: "broken", problem: `${reading.path} ${reading.message}` };
      for (const slot of slots) fail(slot, fault);
    }
    await restore(place, plan, slots);
    if (signal.aborted) return [];
    versions.keepOnly(await memory.remember(plan, slots, newest));
    if (reading.kind === "refused") return [{ path: reading.path, message: reading.message }];
    const refused = reading.kind === "tree" ? [...reading.refused] : [];
    return refused.map(([path, message]) => ({ path: join(place, path), message }));
  };
}
