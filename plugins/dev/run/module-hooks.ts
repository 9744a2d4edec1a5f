/**
 * Runs in the thread of the module loader: gives each file of a plugin a new URL for each reload (`?generation=<n>`),
 * because the runtime never forgets a module. TypeScript files do not pass through here; each import reads them again.
 */
import type { ResolveHook } from "node:module";

/** Data passed to the loader at registration. */
export interface FreshModules {
  /** URL of the directory, ending in a slash. */
  readonly root: string;
  /** Contains one number, which increases with each reload. */
  readonly generation: SharedArrayBuffer;
}

let root: string | undefined;
let generation: Int32Array = new Int32Array(1);

export function initialize(data: FreshModules): void {
  root = data.root;
  generation = new Int32Array(data.generation);
}

export const resolve: ResolveHook = async (specifier, context, nextResolve) => {
  const found = await nextResolve(specifier, context);
  const { url } = found;
  if (root === undefined || !url.startsWith(root) || url.includes("?")) return found;
  if (url.slice(root.length).includes("node_modules/")) return found;
  return { ...found, url: `${url}?generation=${Atomics.load(generation, 0)}` };
};
