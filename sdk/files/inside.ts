/** Checks whether a path is inside a directory. Pure: symbolic links are not resolved. */
import { isAbsolute, relative, sep } from "node:path";

/**
 * Whether `path` is `directory` or lies below it, by path segment: `/a/bc` is not inside `/a/b`. Both must be absolute.
 */
export function isInside(directory: string, path: string): boolean {
  const way = relative(directory, path);
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}
