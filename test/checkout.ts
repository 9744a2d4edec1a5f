/** Where the checkout is, from a compiled test. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

function findRoot(directory: string): string {
  const file = join(directory, "package.json");
  if (existsSync(file) && JSON.parse(readFileSync(file, "utf8")).workspaces) return directory;
  return findRoot(dirname(directory));
}

/** The directory of the root package.json. */
export const root = findRoot(dirname(fileURLToPath(import.meta.url)));
