/**
 * The last steps before the start of a command whose file contents were judged: the program or script runs from a private copy
 * of the judged bytes where a copy behaves the same, and all contents are compared once more.
 */
import { open, realpath } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { type BindableRun, bindFiles, type Binding, bindingFault, readContent } from "@svc/kit/exec";
import type { GatewayError } from "@svc/sdk";
import { isInside } from "@svc/sdk/files";
import type { Copies } from "./copies.ts";
import type { FileHolds } from "../files/file-holds.ts";
import { denied } from "./permission.ts";
import { scriptWord, type Start, startOfCopy } from "./pinned-start.ts";

/** A start with the resources it holds. */
export interface HeldStart extends Start {
  /** Private directories of its copies, without links; a sandbox must show them. */
  readonly directories: readonly string[];
  /**
   * Compares the contents once more, and blocks changes of them. Called directly before the start, so that no time passes between.
   * @throws GatewayError `FORBIDDEN`
   */
  check(): Promise<void>;
  /** Must be called when the program has ended or was not started. */
  release(): Promise<void>;
}

export interface HoldSources {
  readonly copies: Copies;
  readonly holds: Pick<FileHolds, "hold">;
  /** Directories that agents can write to without an approval; absolute, without links. Only approved programs can write elsewhere. */
  readonly reach: readonly string[];
}

/** A start without copies and checks. */
export function inPlace({ file, argv }: Start): HeldStart {
  return { file, argv, directories: [], check: () => Promise.resolve(), release: () => Promise.resolve() };
}

/** @throws GatewayError `FORBIDDEN` naming the file that changed; Error of the file system when the copy cannot be written */
export async function holdStart(run: BindableRun, binding: Binding, sources: HoldSources): Promise<HeldStart> {
  const held = await fromCopy(run, binding, sources);
  let letGo = () => {};
  return {
    ...held,
    async check() {
      letGo = await sources.holds.hold(binding.files.map(({ path }) => path));
      const fault = bindingFault(binding, await bindFiles(run, binding.scope));
      if (fault !== undefined) throw changed(fault);
    },
    release() {
      letGo();
      return held.release();
    },
  };
}

function changed(what: string): GatewayError {
  return denied(what, "run the command again, so that the current content of the command's files is checked");
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
      throw changed(`${JSON.stringify(bound.path).slice(0, 300)} changed since the command was judged`);
    }
    const start = startOfCopy(run, copy, content.head, content.head.length === content.bytes);
    if (start === undefined) await remove();
    return start === undefined ? inPlace(run) : { ...inPlace(start), directories: [directory], release: remove };
  } catch (error) {
    await remove();
    throw error;
  }
}
