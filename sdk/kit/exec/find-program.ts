/** Locates a program once. The policy is applied to the located file, and that file is run. */
import { constants } from "node:fs";
import { access, realpath, stat } from "node:fs/promises";
import { delimiter, isAbsolute, join, resolve } from "node:path";

/** Search path for programs. */
export interface ProgramPlaces {
  /** `PATH`. Relative entries are ignored: the working directory never selects a program. */
  readonly path: string;
  readonly platform: NodeJS.Platform;
}

/** Search path of this machine. */
export function ownPlaces(): ProgramPlaces {
  return { path: process.env["PATH"] ?? "", platform: process.platform };
}

/** Choice: no `.cmd` and `.bat` files, which only a shell can run. */
const WINDOWS_ENDINGS = [".exe", ".com"];

/** Finds a program on `PATH` by its bare name; symbolic links are not resolved. */
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
 * The file meant by `argv[0]`: absolute, without symbolic links. Choice: the policy applies to the target of a link, so
 * that a name on the allowlist cannot be given to another program.
 * @param cwd absolute; base for names with a slash
 * @returns `undefined` if there is no such program
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
