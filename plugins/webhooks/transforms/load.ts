/**
 * Evaluates the compiled files of a copy. A file can request a module in two ways only: by a literal name, which the compiler
 * resolved and replaced, or through its module context (`require`, computed `import()`, `import.meta`), which applies the same
 * rule at run time. Code that is not in the compile cache of the copy is refused: no unchecked file runs, and a thread that only
 * runs transforms never loads the compiler.
 *
 * Not a sandbox: a transform is the operator's own code in the operator's own process. It has full access to objects of the
 * runtime (`process`, `node:vm`).
 */
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Jiti, JitiOptions, ModuleCache } from "jiti";
import { COMPILED, type Copy, originalPath, storedPath } from "./copy.ts";
import { moduleProblem } from "./problem.ts";
import { ImportProblem, resolveImport, SDK_ENTRIES } from "./resolve.ts";
import { MODULE_CONTEXT } from "./rewrite.ts";
import { lazy } from "@svc/sdk";

const loaderCode = lazy(() => import("jiti"));

/** Evaluates a file, once. @returns its `module.exports`. @throws whatever the file throws */
export type Load = (path: string) => Promise<unknown>;

/** Complete, because the loader reads omitted settings from the environment. */
export const SETTINGS: JitiOptions = {
  rebuildFsCache: false,
  moduleCache: false,
  interopDefault: true,
  debug: false,
  sourceMaps: false,
  tryNative: false,
  jsx: false,
  alias: {},
  nativeModules: [],
  transformModules: [],
  tsconfigPaths: false,
  esmEvalTempFile: false,
};

/** @param transform compiles files that are not in the cache of the copy */
export async function jitiOf(
  copy: Copy,
  transform: NonNullable<JitiOptions["transform"]>,
  virtualModules: Readonly<Record<string, unknown>> = {},
): Promise<Jiti> {
  const { createJiti } = await loaderCode();
  const fsCache = join(copy.place, COMPILED);
  return createJiti(`${copy.place}/_`, { ...SETTINGS, fsCache, transform, virtualModules });
}

export async function createLoader(copy: Copy): Promise<Load> {
  const cache: ModuleCache = {};

  /** @throws ModuleProblem */
  function targetOf(specifier: unknown, from: string) {
    try {
      return resolveImport(String(specifier), from, copy.known); // `toString` of an object could return another value each time
    } catch (error) {
      throw error instanceof ImportProblem ? moduleProblem(from, error.message) : error;
    }
  }

  /** Replaces `require` and `import.meta` of a file. */
  function moduleContext(from: string, require: (id: string) => unknown) {
    const filename = join(copy.directory, from);
    const target = (specifier: unknown) => {
      const found = targetOf(specifier, from);
      return found.kind === "file" ? storedPath(copy, found.path) : found.name;
    };
    /** File name of a relative import; other names are returned unchanged. */
    const located = (specifier: string) => {
      const found = targetOf(specifier, from);
      return found.kind === "file" ? join(copy.directory, found.path) : specifier;
    };
    return {
      target,
      require: Object.assign((specifier: string) => require(target(specifier)), { resolve: located }),
      meta: {
        url: pathToFileURL(filename).href,
        filename,
        dirname: dirname(filename),
        resolve: (specifier: string) => pathToFileURL(located(specifier)).href,
        env: process.env,
      },
    };
  }

  function refuse({ filename = "" }: { filename?: string }): never {
    const why = "is not compiled for this import; a computed name must also be imported literally by some file";
    throw moduleProblem(originalPath(copy, filename), why);
  }

  const sdk = await Promise.all(SDK_ENTRIES.map(async (name) => [name, (await import(name)) as unknown] as const));
  const jiti = await jitiOf(copy, refuse, { ...Object.fromEntries(sdk), [MODULE_CONTEXT]: moduleContext });

  return async (path) => {
    const filename = storedPath(copy, path);
    if (!cache[filename])
      await jiti.evalModule(await readFile(filename, "utf8"), { id: filename, filename, async: true, cache });
    return cache[filename]?.exports;
  };
}
