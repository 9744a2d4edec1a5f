/**
 * Evaluates compiled files and gives them what they import: the one door through which code of the transforms directory gets
 * other code. Files are known by path; nothing touches the disk, and nothing stays behind in the runtime's own module tables.
 *
 * Not a jail: a transform is the operator's own code in the operator's own process. What it imports by the language's own
 * means passes here, computed names included; what it reaches through objects of the runtime (`process`, `node:vm`) does not.
 */
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { runInThisContext } from "node:vm";
import { type CompiledFile, type Manner } from "./compile.ts";
import { moduleProblem } from "./problem.ts";
import { ImportProblem, type Known, resolveImport } from "./resolve.ts";

export interface Linker {
  /** Evaluates a file once. @returns its `module.exports`. @throws whatever the file throws */
  load(path: string): Promise<unknown>;
}

export interface LinkerOptions {
  /** Absolute; for `import.meta` and stack traces. */
  readonly directory: string;
  /** May grow between two loads. */
  readonly program: ReadonlyMap<string, CompiledFile>;
  /** Modules of the SDK by name. */
  readonly sdk: Readonly<Record<string, unknown>>;
}

/** A file that is, or was, evaluated. */
interface Loaded {
  readonly path: string;
  readonly module: { exports: unknown; readonly filename: string; require?: unknown };
  /** Files it waits for now. */
  readonly awaits: Set<Loaded>;
  done: Promise<unknown>;
}

type Ask = (specifier: string) => unknown;
type Body = (
  exports: unknown,
  require: Ask,
  module: object,
  file: string,
  dir: string,
  load: Ask,
  find: Ask,
) => unknown;

const requireBuiltin = createRequire(import.meta.url);

export function createLinker({ directory, program, sdk }: LinkerOptions): Linker {
  const loaded = new Map<string, Loaded>();
  const known: Known = { has: (path) => program.has(path), refusedBecause: () => undefined };

  /** @returns a path to load, or what was asked for */
  function find(specifier: string, from: string): { path: string } | { value: unknown } {
    try {
      const target = resolveImport(specifier, from, known);
      if (target.kind === "file") return { path: target.path };
      return { value: target.kind === "sdk" ? sdk[target.name] : requireBuiltin(target.name) };
    } catch (error) {
      if (!(error instanceof ImportProblem)) throw error;
      throw moduleProblem(
        from,
        `${error.message}; a name that is computed must be one that some file also imports literally`,
      );
    }
  }

  function importFrom(specifier: string, from: Loaded): unknown {
    const found = find(specifier, from.path);
    return "value" in found ? found.value : importFile(found.path, from);
  }

  async function importFile(path: string, from?: Loaded): Promise<unknown> {
    const file = loaded.get(path) ?? evaluate(path, "import");
    if (from && leadsTo(file, from)) return file.module.exports; // a cycle: what it has so far
    from?.awaits.add(file);
    try {
      await file.done;
    } finally {
      from?.awaits.delete(file);
    }
    return file.module.exports;
  }

  function requireFrom(specifier: string, from: Loaded): unknown {
    const found = find(specifier, from.path);
    if ("value" in found) return found.value;
    return (loaded.get(found.path) ?? evaluate(found.path, "require")).module.exports;
  }

  function evaluate(path: string, manner: Manner): Loaded {
    const filename = `${directory}/${path}`;
    const file: Loaded = { path, module: { exports: {}, filename }, awaits: new Set(), done: Promise.resolve() };
    loaded.set(path, file);
    try {
      file.done = Promise.resolve(start(file, manner));
    } catch (error) {
      if (manner === "require") {
        loaded.delete(path); // as everywhere: the next one who asks gets the error, too
        throw error;
      }
      file.done = Promise.reject(error);
    }
    file.done.catch(() => {}); // told to whoever waits for it
    return file;
  }

  function start(file: Loaded, manner: Manner): unknown {
    const { json, [manner]: code } = program.get(file.path) ?? {};
    if (json !== undefined) return void (file.module.exports = JSON.parse(json));
    if (code === undefined)
      throw moduleProblem(file.path, "is not compiled for this import; import it by its literal name");
    const { filename } = file.module;
    const run = runInThisContext(wrapped(code, manner), { filename }) as Body; // what `wrapped` says
    const find = (specifier: string) => located(specifier, file.path);
    const require = Object.assign((specifier: string) => requireFrom(specifier, file), { resolve: find });
    file.module.require = require;
    const load = async (specifier: string) => importFrom(specifier, file);
    const resolveUrl = (specifier: string) => pathToFileURL(find(specifier)).href;
    const folder = filename.slice(0, filename.lastIndexOf("/"));
    return run.call(file.module.exports, file.module.exports, require, file.module, filename, folder, load, resolveUrl);
  }

  /** File name of a relative import; other names stay as they are. */
  function located(specifier: string, from: string): string {
    const found = find(specifier, from);
    return "path" in found ? `${directory}/${found.path}` : specifier;
  }

  return { load: (path) => importFile(path) };
}

/** Whether `file` waits for `other`, directly or through others: then `other` must not wait for it. */
function leadsTo(file: Loaded, other: Loaded, seen: Set<Loaded> = new Set()): boolean {
  if (file === other) return true;
  if (seen.has(file)) return false;
  seen.add(file);
  return [...file.awaits].some((next) => leadsTo(next, other, seen));
}

/** All on the first line, so that lines keep their numbers. */
function wrapped(code: string, manner: Manner): string {
  const head = "exports, require, module, __filename, __dirname, jitiImport, jitiESMResolve";
  return `(${manner === "import" ? "async " : ""}function (${head}) { ${code}\n})`;
}
