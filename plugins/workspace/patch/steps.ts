/** Plans the steps of a patch. The whole patch is checked, and refused as a whole, before anything is written. */
import type { Stats } from "node:fs";
import { readWithin, removeWithin, type RootedWriteOptions, statWithin, writeWithin } from "@svc/kit/files";
import { invalidRequest, notFound } from "@svc/sdk";
import { withDiskRefusals } from "../disk-refusal.ts";
import { textOfBytes } from "../files/content.ts";
import { nameWithin, type Place } from "../place.ts";
import { withHunks } from "./hunks.ts";
import type { FileChange } from "./parse.ts";

/** One change of one file. */
export interface PatchStep {
  /** Text for the result: `A new`, `M changed`, `D deleted`, `R from -> to`. */
  readonly label: string;
  /** Files that it writes or removes, below the workspace; the written one comes first. */
  readonly names: readonly [name: string, from?: string];
  /** Whether the whole file is new, or is deleted. */
  readonly isWhole: boolean;
  run(): Promise<void>;
}

/** @throws GatewayError `INVALID_REQUEST`, `NOT_FOUND`: a part of the patch cannot be applied */
export async function patchSteps(changes: readonly FileChange[], place: Place): Promise<readonly PatchStep[]> {
  const taken = new Set<string>();
  const nameOf = (path: string): string => {
    const name = nameWithin(path, place);
    if (taken.has(name)) invalidRequest(`${path} is in this patch twice; put all its hunks into one section`);
    taken.add(name);
    return name;
  };
  const steps: PatchStep[] = [];
  for (const change of changes) {
    steps.push(await withDiskRefusals(change.path, () => stepOf(change, nameOf, place.root)));
  }
  return steps;
}

async function stepOf(change: FileChange, nameOf: (path: string) => string, root: string): Promise<PatchStep> {
  const name = nameOf(change.path);
  if (change.kind === "add") {
    await requireFree(root, name);
    return {
      label: `A ${name}`,
      names: [name],
      isWhole: true,
      run: () => written(root, name, change.content, { expected: null }),
    };
  }
  const stats = (await statWithin(root, name)) ?? notFound(`there is no file ${change.path} in the workspace`);
  if (change.kind === "delete")
    return { label: `D ${name}`, names: [name], isWhole: true, run: () => removed(root, name, stats) };

  const { hunks, moveTo } = change;
  if (moveTo === undefined) {
    const before = await content(root, name);
    const text = withHunks(before.text, hunks, name);
    const how = { mode: "kept", expected: before.stats } as const;
    return { label: `M ${name}`, names: [name], isWhole: false, run: () => written(root, name, text, how) };
  }
  const target = nameOf(moveTo);
  await requireFree(root, target);
  const before = await content(root, name);
  const text = withHunks(before.text, hunks, name);
  return {
    label: `R ${name} -> ${target}`,
    names: [target, name],
    isWhole: false,
    async run() {
      await written(root, target, text, { mode: before.stats.mode, expected: null });
      await removed(root, name, before.stats);
    },
  };
}

async function requireFree(root: string, name: string): Promise<void> {
  if (await statWithin(root, name)) invalidRequest(`${name} already exists; change it with "*** Update File: ${name}"`);
}

async function content(root: string, name: string): Promise<{ readonly text: string; readonly stats: Stats }> {
  const file = (await readWithin(root, name)) ?? notFound(`there is no file ${name} in the workspace`);
  const text = textOfBytes(file.bytes) ?? invalidRequest(`${name} is a binary file; only text can be patched`);
  return { text, stats: file.stats };
}

async function written(root: string, name: string, text: string, options: RootedWriteOptions): Promise<void> {
  await withDiskRefusals(name, () => writeWithin(root, name, text, options));
}

async function removed(root: string, name: string, stats: Stats): Promise<void> {
  const isRemoved = await withDiskRefusals(name, () => removeWithin(root, name, stats));
  if (!isRemoved) notFound(`${name} no longer exists`);
}
