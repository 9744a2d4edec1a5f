/** Layout of a copy: the loader compiles every file of it, and reads no `package.json`. */
import { join, relative } from "node:path";
import type { Known } from "./resolve.ts";

/** A copy that was checked. Plain data, so that it can go to a worker. */
export interface Copy {
  /** What messages and `import.meta` call the directory. Absolute. */
  readonly directory: string;
  /** Where the copy lies. Absolute. */
  readonly place: string;
  readonly known: Known;
}

/** Ends the name of each file of a copy, so that jiti compiles all of them and hands none to the runtime. */
export const SUFFIX = ".ts";

/** Compile cache of a copy. Hidden, so that it is not part of the hash. Raise the number when `rewrite.ts` compiles differently. */
export const COMPILED = ".compiled-1";

/** @param path of the transforms directory */
export function storedPath({ place }: Copy, path: string): string {
  return join(place, path + SUFFIX);
}

/** The other way round. */
export function originalPath({ place }: Copy, stored: string): string {
  return relative(place, stored).replaceAll("\\", "/").slice(0, -SUFFIX.length);
}
