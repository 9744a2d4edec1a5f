/**
 * The file contents approved together with a command: its program, its script and every file named in its arguments, if
 * agents can write them. Determined and hashed when people are asked, and again right before the start.
 *
 * Best effort. Not found: names that a shell or program assembles at run time (`$A$B`), packages that a script loads
 * from elsewhere, and what those load.
 */
import { resolve } from "node:path";
import type { BoundFile } from "@svc/sdk/approvals";
import { diskRefusal } from "../files/disk-refusal.ts";
import { type BindableRun, type Binding, type BindingScope, shown } from "./binding.ts";
import { interpretersOf, loadedBy, namedIn, plainFile, startedBy, Unbindable } from "./command-files.ts";
import { readContent } from "./content.ts";
import { untoldFiles } from "./named-files.ts";
import { runnerOf, scriptOf } from "./runners.ts";
import { agentsCanWrite } from "./writable-file.ts";

/** Choice: maximum files of a command, and total bytes. */
export const MAX_BOUND_FILES = 64;
export const MAX_BOUND_BYTES = 256 * 1_024 * 1_024;

/** @throws GatewayError `UNAVAILABLE` if the disk fails or too many files are open */
export async function bindFiles(run: BindableRun, scope: BindingScope = "all"): Promise<Binding> {
  const search = new Search(run);
  const [called = "", ...args] = run.argv;
  const runner = runnerOf(called, run.file);
  const name = scriptOf(runner, args);
  const script = name === undefined ? undefined : await plainFile(resolve(run.cwd, name));
  const loads = runner !== undefined;
  try {
    await search.add(run.file, { runs: true, loads: true });
    if (script !== undefined) await search.add(script, { runs: true, loads: true });
    for (const program of runner === "wrapper" ? await startedBy(run) : []) {
      await search.add(program, { runs: true, loads: true });
    }
    for (const untold of [called, run.file].flatMap(untoldFiles)) {
      await search.add(resolve(run.cwd, untold), { runs: true, loads: false });
    }
    for (const path of scope === "all" ? await namedIn(run) : []) await search.add(path, { runs: false, loads });
  } catch (error) {
    if (!(error instanceof Unbindable))
      throw diskRefusal(error, "the files of the command", { isNamed: true }) ?? error;
    return { scope, files: [], fault: error.message, hidesScript: true };
  }
  return { scope, files: search.files(), hidesScript: loads && runner !== "wrapper" && script === undefined };
}

/** Role of a file in a command. */
interface Part {
  readonly runs: boolean;
  /** Files that it loads are included, too. */
  readonly loads: boolean;
}

/** Collects files, reading each one once. */
class Search {
  readonly #run: BindableRun;
  readonly #found = new Map<string, BoundFile>();
  #left = MAX_BOUND_BYTES;

  constructor(run: BindableRun) {
    this.#run = run;
  }

  files(): readonly BoundFile[] {
    return [...this.#found.values()].sort((left, right) => (left.path < right.path ? -1 : 1));
  }

  /** @throws Unbindable */
  async add(given: string, { runs, loads }: Part): Promise<void> {
    const path = await plainFile(given);
    if (path === undefined || this.#found.has(path) || !(await agentsCanWrite(path))) return;
    if (this.#found.size >= MAX_BOUND_FILES) {
      throw new Unbindable(`it names more than ${MAX_BOUND_FILES} files that agents can write; name fewer files`);
    }
    const content = await readContent(path, this.#left);
    if (content === "gone") return; // a file missing now must not exist at run time either
    if (typeof content === "string") {
      const why =
        content === "unreadable" ? "cannot be read" : `exceeds ${MAX_BOUND_BYTES} bytes together with the others`;
      throw new Unbindable(`the content of ${shown(path)} cannot be bound: it ${why}`);
    }
    const { sha256, bytes, head } = content;
    this.#left -= bytes;
    this.#found.set(path, { path, sha256, bytes, ...(runs && { runs }) });
    if (!loads || head.includes("\0")) return;
    for (const other of [
      ...(await interpretersOf(head, this.#run.path)),
      ...(await loadedBy(path, head, this.#run.cwd)),
    ]) {
      await this.add(other, { runs, loads: false });
    }
  }
}
