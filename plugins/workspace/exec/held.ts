/**
 * The last step before a command starts whose contents were judged: they are compared once more, and what runs is read from a
 * private copy of those very bytes where that changes nothing else.
 */
import { open, realpath } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { type BindableRun, bindFiles, type Binding, bindingFault, readContent } from "@svc/kit/exec";
import { isInside } from "@svc/sdk/files";
import type { Copies } from "./copies.ts";
import { scriptWord, type Start, startOfCopy } from "./pinned-start.ts";

/** A start that holds on to what it needs. */
export interface HeldStart extends Start {
  /** Private directories it is read from, without links: a sandbox has to show them. */
  readonly directories: readonly string[];
  /** To be called when the program has ended, or was not started. */
  release(): Promise<void>;
}

export interface HoldSources {
  readonly copies: Copies;
  /** Directories agents write to with nobody's leave; absolute, without links. Elsewhere, only programs that were allowed write. */
  readonly reach: readonly string[];
}

/** A start that needs nothing. */
export function inPlace({ file, argv }: Start): HeldStart {
  return { file, argv, directories: [], release: () => Promise.resolve() };
}

/** A content is another one than the one that was judged. */
export class ContentChanged extends Error {}

/** @throws ContentChanged naming the file; Error of the file system when the copy cannot be written */
export async function holdStart(run: BindableRun, binding: Binding, sources: HoldSources): Promise<HeldStart> {
  const held = await fromCopy(run, binding, sources);
  try {
    const fault = bindingFault(binding, await bindFiles(run, binding.scope));
    if (fault !== undefined) throw new ContentChanged(fault);
    return held;
  } catch (error) {
    await held.release();
    throw error;
  }
}

async function fromCopy(run: BindableRun, { files }: Binding, { copies, reach }: HoldSources): Promise<HeldStart> {
  const word = scriptWord(run);
  const path = await realpath(word === undefined ? run.file : resolve(run.cwd, word)).catch(() => undefined);
  const bound = files.find((file) => file.path === path && file.runs === true);
  if (bound === undefined || !reach.some((directory) => isInside(directory, bound.path))) return inPlace(run);
  const { directory, remove } = await copies.make();
  try {
    const copy = join(directory, basename(bound.path));
    const handle = await open(copy, "wx", 0o500);
    const content = await readContent(bound.path, bound.bytes, (chunk) => handle.writeFile(chunk)).finally(() =>
      handle.close(),
    );
    if (typeof content === "string" || content.sha256 !== bound.sha256) {
      throw new ContentChanged(`${JSON.stringify(bound.path).slice(0, 300)} changed since the command was judged`);
    }
    const start = startOfCopy(run, copy, content.head, content.head.length === content.bytes);
    if (start === undefined) await remove();
    return start === undefined ? inPlace(run) : { ...start, directories: [directory], release: remove };
  } catch (error) {
    await remove();
    throw error;
  }
}
