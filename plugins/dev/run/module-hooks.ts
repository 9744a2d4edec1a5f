/**
 * Runs in the module loader's own thread: gives each file of a plugin another name for each of its generations, since
 * the runtime never forgets a module. TypeScript does not come by here; it is read anew anyway.
 */
import type { ResolveHook } from "node:module";

/** What the loader is told once. */
export interface FreshModules {
  /** URL of the directory, ending in a slash. */
  readonly root: string;
  /** One number: of the generation that is being imported. */
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
