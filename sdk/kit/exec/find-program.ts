/** Where a program lies: found once, and what was found is what is judged and what runs. */
import { constants } from "node:fs";
import { access, realpath, stat } from "node:fs/promises";
import { delimiter, isAbsolute, join, resolve } from "node:path";

/** Where programs are looked for. */
export interface ProgramPlaces {
  /** `PATH`. Its entries that are not absolute are left out: the working directory never chooses a program. */
  readonly path: string;
  readonly platform: NodeJS.Platform;
}

/** The machine this runs on. */
export function ownPlaces(): ProgramPlaces {
  return { path: process.env["PATH"] ?? "", platform: process.platform };
}

/** Choice: no `.cmd` and `.bat`, which only a shell can run. */
const WINDOWS_ENDINGS = [".exe", ".com"];

/** A program by its bare name, as it stands on `PATH`, symbolic links and all. */
export async function findOnPath(name: string, { path, platform }: ProgramPlaces): Promise<string | undefined> {
  const isNamed = name !== "" && name !== "." && name !== ".." && !/[/\\\0]/.test(name);
  if (!isNamed) return undefined;
  const hasEnding = WINDOWS_ENDINGS.some((ending) => name.toLowerCase().endsWith(ending));
  const names = platform === "win32" && !hasEnding ? WINDOWS_ENDINGS.map((ending) => name + ending) : [name];
  for (const directory of path.split(delimiter).filter(isAbsolute)) {
    for (const file of names) {
      if (await isProgram(join(directory, file))) return join(directory, file);
    }
  }
  return undefined;
}

/**
 * The file that `argv[0]` means: absolute, without symbolic links.
 * Choice: a link is judged as what it leads to, so that nobody lends a name on the allowlist to another program.
 * @param cwd absolute; what a name with a slash is relative to
 * @returns `undefined`: there is no such program
 */
export async function resolveProgram(name: string, cwd: string, places: ProgramPlaces): Promise<string | undefined> {
  const hasDirectory = name.includes("/") || (places.platform === "win32" && name.includes("\\"));
  const found = hasDirectory ? resolve(cwd, name) : await findOnPath(name, places);
  if (found === undefined) return undefined;
  try {
    const real = await realpath(found);
    return (await isProgram(real)) ? real : undefined;
  } catch {
    return undefined;
  }
}

async function isProgram(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}
