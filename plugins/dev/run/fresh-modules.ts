/**
 * Makes the runtime read a plugin's files again, in any format. For development only: the old modules stay in memory.
 */
import { createRequire, register } from "node:module";
import { pathToFileURL } from "node:url";
import type { FreshModules } from "./module-hooks.ts";
import { isOwn } from "./place.ts";

/**
 * @param root directory of the plugin, excluding installed packages
 * @returns a function that forgets all modules read so far
 */
export function watchModules(root: string): () => void {
  const generation = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  const data: FreshModules = { root: `${pathToFileURL(root).href}/`, generation };
  register(new URL("./module-hooks.js", import.meta.url), { data });
  const count = new Int32Array(generation);
  const { cache } = createRequire(import.meta.url);
  return () => {
    Atomics.add(count, 0, 1);
    for (const file of Object.keys(cache)) if (isOwn(file, root)) delete cache[file]; // CommonJS and JSON
  };
}
