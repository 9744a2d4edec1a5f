/** Finds the files of a command on disk: those named by its words, its shebang line and its script. */
import type { Stats } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { matchesPattern } from "./allowlist.ts";
import type { BindableRun } from "./binding.ts";
import { isGone } from "./content.ts";
import { findOnPath } from "./find-program.ts";
import { patternOf, possibleNames, shebangOf, spellingsOf, untoldFiles } from "./named-files.ts";

/**
 * Choice: maximum words of a command, their total UTF-16 units, the patterns among them that are expanded, and the
 * directories searched for them.
 */
const MAX_WORDS = 2_000;
const MAX_CHARS = 256 * 1_024;
const MAX_PATTERNS = 50;
const MAX_DIRECTORIES = 16;
/** Choice: maximum names in a script that are checked. */
const MAX_LOOKS = 20_000;

/** Extensions of files that interpreters load. */
const CODE = /\.(?:sh|bash|zsh|ksh|py|js|mjs|cjs|jsx|ts|mts|cts|tsx|rb|pl|pm|php|lua|tcl|awk|sed|r)$/i;

/** The contents of a command cannot be bound; the message gives the reason, following "it" or a name. */
export class Unbindable extends Error {}

/** Every path the words of a command may name, and every program. @throws Unbindable */
export async function namedIn({ argv, cwd, path, texts = [] }: BindableRun): Promise<readonly string[]> {
  const words = [...argv.slice(1), ...texts];
  const isLong = words.reduce((sum, { length }) => sum + length, 0) > MAX_CHARS;
  const names = isLong ? [] : [...new Set(words.flatMap(possibleNames))];
  if (isLong || names.length > MAX_WORDS) {
    throw new Unbindable(
      `it has more than ${MAX_WORDS} words or ${MAX_CHARS} characters; put it into a file and run the file`,
    );
  }
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

/**
 * Programs that a wrapper may start: its arguments as paths or as names on `PATH`, also after `=`.
 * @throws Unbindable
 */
export async function startedBy({ argv, cwd, path }: BindableRun): Promise<readonly string[]> {
  const words = new Set(argv.slice(1).flatMap((word) => [word, word.slice(word.indexOf("=") + 1)]));
  if (words.size > MAX_WORDS)
    throw new Unbindable(`it has more than ${MAX_WORDS} words; put it into a file and run the file`);
  const at = { path, platform: process.platform };
  const programs = await Promise.all(
    [...words].map(async (word) => (word.includes("/") ? resolve(cwd, word) : findOnPath(word, at))),
  );
  return programs.filter((program) => program !== undefined);
}

/** Code files that match a shell pattern. Choice: no other files, of which there may be many. */
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

/** Programs started by the shebang line of a script. */
export async function interpretersOf(text: string, path: string): Promise<readonly string[]> {
  const { interpreter, words = [] } = shebangOf(text) ?? {};
  if (interpreter === undefined) return [];
  const name = basename(interpreter) === "env" ? words.find((word) => !/^-|=/.test(word)) : undefined;
  const found = name === undefined ? undefined : await findOnPath(name, { path, platform: process.platform });
  return [interpreter, ...(found === undefined ? [] : [found])].filter((one) => isAbsolute(one));
}

/** Code files named by a script, next to it or in the working directory of the command. @throws Unbindable */
export async function loadedBy(script: string, text: string, cwd: string): Promise<readonly string[]> {
  const spellings = possibleNames(text).flatMap((word) => spellingsOf(word, script));
  const candidates = new Set<string>();
  for (const directory of new Set([dirname(script), cwd])) {
    // Avoids a disk access for each word of a script.
    const known = new Set([".", "..", ...(await readdir(directory).catch(() => []))]);
    for (const name of spellings) {
      if (isAbsolute(name) || known.has(name.split("/")[0] ?? "")) candidates.add(resolve(directory, name));
    }
  }
  if (candidates.size > MAX_LOOKS) throw new Unbindable(`its script names more than ${MAX_LOOKS} files`);
  const found: string[] = [];
  for (const path of candidates) if (await isCode(path)) found.push(path);
  return found;
}

/** The real path of a regular file; `undefined`: none. A pipe is not a regular file and is not opened. */
export async function plainFile(path: string): Promise<string | undefined> {
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
