/**
 * The contents that are allowed together with a command: of its program, its script and every file its arguments name, where
 * agents can write them. Found and hashed when people are asked, and again right before the start.
 *
 * Best effort: names that a shell or a program puts together only when it runs (`$A$B`), packages that a script loads from
 * elsewhere, and what that loads in turn are not found.
 */
import { createHash } from "node:crypto";
import { constants, type Stats } from "node:fs";
import { type FileHandle, open, readdir, realpath, stat } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { diskRefusal } from "../files/disk-refusal.ts";
import type { BoundFile, ExecPolicyFile } from "@svc/sdk/approvals";
import { matchesPattern } from "./allowlist.ts";
import { findOnPath } from "./find-program.ts";
import { runsOtherText, runsScripts } from "./inline-programs.ts";
import { patternOf, possibleNames, shebangOf, spellingsOf, untoldFiles } from "./named-files.ts";
import { agentsCanWrite } from "./writable-file.ts";

export { shebangOf };

/** Choice: files of a command, and bytes of all of them. */
export const MAX_BOUND_FILES = 64;
export const MAX_BOUND_BYTES = 256 * 1_024 * 1_024;

/** Choice: bytes of a script that are looked through for what it loads; directories named by a command that names are tried in. */
const MAX_SCANNED_BYTES = 128 * 1_024;
const MAX_DIRECTORIES = 16;
/** Choice: words of a command; names in a script that may be files; patterns of a command that are tried. */
const MAX_WORDS = 2_000;
const MAX_LOOKS = 2_000;
const MAX_PATTERNS = 50;
const CHUNK_BYTES = 256 * 1_024;

/** Endings of files that interpreters load. */
const CODE = /\.(?:sh|bash|zsh|ksh|py|js|mjs|cjs|jsx|ts|mts|cts|tsx|rb|pl|pm|php|lua|tcl|awk|sed|r)$/i;

/** A command as it would run. */
export interface BindableRun {
  /** Absolute path of the program. */
  readonly file: string;
  readonly argv: readonly string[];
  /** Absolute. */
  readonly cwd: string;
  /** `PATH` of the program. */
  readonly path: string;
  /** Further texts that may name files, e.g. values of variables. Default: none. */
  readonly texts?: readonly string[];
}

/** `runs`: what is run, i.e. the program, its script and what that loads; `all`: every file its arguments name as well. */
export type BindingScope = "runs" | "all";

/** What binds a command. */
export interface Binding {
  readonly scope: BindingScope;
  /** By path. */
  readonly files: readonly BoundFile[];
  /** Why the contents cannot be bound, e.g. since they are too large. */
  readonly fault?: string;
  /** An interpreter whose script is not the first thing it is told: which file it runs is not known. */
  readonly hidesScript: boolean;
}

/** @throws GatewayError `UNAVAILABLE`: the disk fails, or too many files are open */
export async function bindFiles(run: BindableRun, scope: BindingScope = "all"): Promise<Binding> {
  const search = new Search(run);
  const isRunner = [run.argv[0] ?? "", run.file].some(runsScripts);
  const script = isRunner ? await plainFile(resolve(run.cwd, run.argv[1] ?? ".")) : undefined;
  const loads = isRunner || runsOtherText(run.argv, run.file);
  try {
    await search.add(run.file, { runs: true, loads: true });
    if (script !== undefined) await search.add(script, { runs: true, loads: true });
    for (const name of [run.argv[0] ?? "", run.file].flatMap(untoldFiles)) {
      await search.add(resolve(run.cwd, name), { runs: true, loads: false });
    }
    for (const path of scope === "all" ? await namedIn(run) : []) await search.add(path, { runs: false, loads });
  } catch (error) {
    if (!(error instanceof Unbindable))
      throw diskRefusal(error, "the files of the command", { isNamed: true }) ?? error;
    return { scope, files: [], fault: error.message, hidesScript: true };
  }
  return { scope, files: search.files(), hidesScript: isRunner && script === undefined };
}

/** Why two bindings of one command are not the same, naming the file; `undefined`: they are. Pure. */
export function bindingFault(before: Binding, now: Binding): string | undefined {
  if (now.fault !== undefined) return now.fault;
  const known = new Map(before.files.map((file) => [file.path, file]));
  for (const { path, sha256, runs } of now.files) {
    const file = known.get(path);
    if (file === undefined) return `${shown(path)} was not there, or not part of it, when the command was judged`;
    if (file.sha256 !== sha256 || file.runs !== runs) return `${shown(path)} changed since the command was judged`;
    known.delete(path);
  }
  const [gone] = known.keys();
  if (gone !== undefined) return `${shown(gone)} is gone, or another file, since the command was judged`;
  return before.hidesScript === now.hidesScript ? undefined : "its script is another one than when it was judged";
}

/**
 * The policy file without the entries of allowlists that say nothing about this command: where a file that agents can write would
 * run, an entry has to bind its content (`sha256`), and an entry with a hash holds for nothing else. Pure.
 */
export function entriesThatHold(file: ExecPolicyFile, { files, fault, hidesScript }: Binding): ExecPolicyFile {
  const code = files.filter(({ runs }) => runs === true);
  const only = code.length === 1 ? code[0]?.sha256 : undefined;
  const isKnown = fault === undefined && !hidesScript;
  const holds = ({ sha256 }: { readonly sha256?: string }) =>
    isKnown && (sha256 === undefined ? code.length === 0 : sha256.toLowerCase() === only);
  const agents = Object.entries(file.agents ?? {}).map(([id, rules]): [string, typeof rules] => [
    id,
    rules.allowlist ? { ...rules, allowlist: rules.allowlist.filter(holds) } : rules,
  ]);
  return file.agents ? { ...file, agents: Object.fromEntries(agents) } : file;
}

/** What is read of a file. */
export interface ReadContent {
  readonly sha256: string;
  readonly bytes: number;
  /** Its beginning, as text of one byte each. */
  readonly head: string;
}

/**
 * Reads a plain file once, from one open handle. Follows no link at its end and waits for no pipe.
 * @param most bytes; beyond that it is `too-large`, also for a file that grows meanwhile
 * @param write gets the very bytes that are hashed
 */
export async function readContent(
  path: string,
  most: number,
  write?: (chunk: Buffer) => Promise<unknown>,
): Promise<ReadContent | "gone" | "too-large" | "unreadable"> {
  let handle: FileHandle;
  try {
    handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EACCES" || code === "EPERM") return "unreadable";
    if (isGone(error) || code === "ENXIO") return "gone";
    throw error;
  }
  try {
    const { size, ...stats } = await handle.stat();
    if ((stats.mode & constants.S_IFMT) !== constants.S_IFREG) return "gone";
    if (size > most) return "too-large";
    const hash = createHash("sha256");
    const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
    let [bytes, head] = [0, ""];
    for (;;) {
      const { bytesRead } = await handle.read(buffer, 0, CHUNK_BYTES, null);
      if (bytesRead === 0) return { sha256: hash.digest("hex"), bytes, head };
      const chunk = buffer.subarray(0, bytesRead);
      bytes += bytesRead;
      if (bytes > most) return "too-large";
      hash.update(chunk);
      if (head.length < MAX_SCANNED_BYTES) head += chunk.toString("latin1", 0, MAX_SCANNED_BYTES - head.length);
      await write?.(chunk);
    }
  } finally {
    await handle.close();
  }
}

class Unbindable extends Error {}

/** How a file belongs to a command. */
interface Part {
  readonly runs: boolean;
  /** What it loads belongs to it, too. */
  readonly loads: boolean;
}

/** Collects files, each read once. */
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
      throw new Unbindable(`it names more than ${MAX_BOUND_FILES} files that agents can write; name fewer at a time`);
    }
    const content = await readContent(path, this.#left);
    if (content === "gone") return; // what is not there now must not be there when it runs
    if (typeof content === "string") {
      const why =
        content === "unreadable" ? "cannot be read" : `is larger than ${MAX_BOUND_BYTES} bytes with the others`;
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

/** Every plain file that the words of a command may mean, and every program. */
async function namedIn({ argv, cwd, path, texts = [] }: BindableRun): Promise<readonly string[]> {
  const names = [...new Set([...argv.slice(1), ...texts].flatMap(possibleNames))];
  if (names.length > MAX_WORDS)
    throw new Unbindable(`it has more than ${MAX_WORDS} words; put it into a file and run that`);
  const directories = [cwd];
  for (const name of names) {
    if (directories.length > MAX_DIRECTORIES) break;
    const found = resolve(cwd, name);
    if (found !== cwd && (await statOf(found))?.isDirectory()) directories.push(found); // `cd sub && ./x.sh`
  }
  const told = [...names, ...names.flatMap(untoldFiles)];
  const found = told.flatMap((name) => directories.map((directory) => resolve(directory, name)));
  const patterns = names.filter((name) => patternOf(name) !== undefined).slice(0, MAX_PATTERNS);
  for (const name of patterns) found.push(...(await fitting(name, directories)));
  const programs = await Promise.all(names.map((name) => findOnPath(name, { path, platform: process.platform })));
  return [...new Set([...found, ...programs.filter((program) => program !== undefined)])];
}

/** Code whose name fits a pattern of a shell. Choice: no other files, of which there may be many. */
async function fitting(name: string, directories: readonly string[]): Promise<readonly string[]> {
  const found: string[] = [];
  for (const directory of directories.map((one) => resolve(one, dirname(name)))) {
    const entries = await readdir(directory).catch(() => []);
    const fits = entries.filter((entry) => matchesPattern(patternOf(name) ?? "", `/${entry}`, "/"));
    for (const path of fits.map((entry) => join(directory, entry))) if (await isCode(path)) found.push(path);
  }
  return found;
}

async function isCode(path: string): Promise<boolean> {
  const stats = await statOf(path);
  return stats?.isFile() === true && (CODE.test(path) || (stats.mode & 0o111) !== 0);
}

async function interpretersOf(text: string, path: string): Promise<readonly string[]> {
  const { interpreter, words = [] } = shebangOf(text) ?? {};
  if (interpreter === undefined) return [];
  const name = basename(interpreter) === "env" ? words.find((word) => !/^-|=/.test(word)) : undefined;
  const found = name === undefined ? undefined : await findOnPath(name, { path, platform: process.platform });
  return [interpreter, ...(found === undefined ? [] : [found])].filter((one) => isAbsolute(one));
}

/** Code beside a script, or in the directory of the command, that the script names. */
async function loadedBy(script: string, text: string, cwd: string): Promise<readonly string[]> {
  const spellings = possibleNames(text).flatMap((word) => spellingsOf(word, script));
  const candidates = new Set<string>();
  for (const directory of new Set([dirname(script), cwd])) {
    // Spares asking the disk for each word of a script.
    const known = new Set([".", "..", ...(await readdir(directory).catch(() => []))]);
    for (const name of spellings) {
      if (isAbsolute(name) || known.has(name.split("/")[0] ?? "")) candidates.add(resolve(directory, name));
    }
  }
  const found: string[] = [];
  for (const path of [...candidates].slice(0, MAX_LOOKS)) if (await isCode(path)) found.push(path);
  return found;
}

/** The real path of a plain file; `undefined`: there is none. A pipe is none, and is not opened. */
async function plainFile(path: string): Promise<string | undefined> {
  if (!(await statOf(path))?.isFile()) return undefined;
  return realpath(path).catch((error: unknown) => (isGone(error) ? undefined : Promise.reject(error)));
}

async function statOf(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}

/** Not there, or nothing that could be opened by this name. */
function isGone(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return ["ENOENT", "ENOTDIR", "ELOOP", "ENAMETOOLONG", "EACCES", "EINVAL"].includes(String(code));
}

function shown(path: string): string {
  return JSON.stringify(path).slice(0, 300);
}
