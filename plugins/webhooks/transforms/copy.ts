/** Layout of a copy: the loader compiles every file of it, and reads no `package.json`. */
import { join, relative } from "node:path";
import type { Known } from "./resolve.ts";

/** A checked copy. Plain data, so that it can be sent to a worker. */
export interface Copy {
  /** Path of the directory in messages and `import.meta`. Absolute. */
  readonly directory: string;
  /** Path of the copy. Absolute. */
  readonly place: string;
  readonly known: Known;
}

/** Suffix of each file in a copy, so that jiti compiles all files and passes none to the runtime. */
export const SUFFIX = ".ts";

/** Compile cache of a copy. Hidden, so that it is not part of the hash. Increase the number when `rewrite.ts` compiles differently. */
export const COMPILED = ".compiled-1";

/** @param path relative to the transforms directory */
export function storedPath({ place }: Copy, path: string): string {
  return join(place, path + SUFFIX);
}

/** Inverse of `storedPath`. */
export function originalPath({ place }: Copy, stored: string): string {
  return relative(place, stored).replaceAll("\\", "/").slice(0, -SUFFIX.length);
}
