/** Containment of paths. Pure: links are not followed. */
import { isAbsolute, relative, sep } from "node:path";

/** Whether `path` is `directory` or lies below it, by path segments: `/a/bc` is not inside `/a/b`. Both absolute. */
export function isInside(directory: string, path: string): boolean {
  const way = relative(directory, path);
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}
