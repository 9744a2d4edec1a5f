/**
 * Turns files of the transforms directory into functions' bodies that ask their loader for each import. Runs in a worker
 * thread: the compiler costs 150 ms and tens of MB. What it made before comes from its cache in the state directory.
 */
import { createImportRecorder, importsIn, type ImportCall } from "./import-recorder.ts";
import { moduleProblem } from "./problem.ts";
import { ImportProblem, resolveImport, type Target } from "./resolve.ts";
import { knownIn, type Source } from "./source.ts";

/** A file as it can be evaluated. `import` has waiting imports, `require` has none; JSON stays as it is. */
export interface CompiledFile {
  import?: string;
  require?: string;
  json?: string;
}

/** What a transform consists of, by path. */
export type Program = Map<string, CompiledFile>;

/** `import`: may wait; `require`: must be there at once. */
export type Manner = "import" | "require";

export interface Compiler {
  /** A file and all that it imports by literal names. @throws ModuleProblem for the first thing that is wrong, before any of it runs */
  compile(module: string): Program;
}

/** @param cacheDir private: what lies there is executed */
export async function createCompiler(source: Source, cacheDir: string): Promise<Compiler> {
  const { createJiti } = await import("jiti");
  // All said here: the compiler would take what is left out from the environment.
  const jiti = createJiti(`${source.directory}/_`, {
    fsCache: cacheDir,
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
  });
  const known = knownIn(source);

  function transform(path: string, manner: Manner): string {
    const code = jiti.transform({
      source: source.texts.get(path) ?? "",
      filename: `${source.directory}/${path}`,
      ts: path.endsWith("ts"),
      async: manner === "import",
      jsx: false,
      babel: { plugins: [createImportRecorder], sourceType: sourceType(path) },
    });
    const failure = /^exports\.__JITI_ERROR__ = (.*)/s.exec(code)?.[1];
    if (failure === undefined) return code;
    const { line, column, message } = JSON.parse(failure) as { line: number; column: number; message?: string }; // jiti's own JSON
    throw moduleProblem(path, message?.trim() || "cannot be compiled", line, column + 1);
  }

  /** @throws ModuleProblem naming the line */
  function targetOf(call: ImportCall, from: string): Target {
    try {
      return resolveImport(call.specifier, from, known);
    } catch (error) {
      if (!(error instanceof ImportProblem)) throw error;
      throw moduleProblem(from, error.message, lineOf(call.specifier, source.texts.get(from) ?? ""));
    }
  }

  function compile(module: string): Program {
    const program: Program = new Map();
    const waiting: [path: string, manner: Manner][] = [[module, "import"]];
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      const [path, manner] = next;
      const file = program.get(path) ?? {};
      program.set(path, file);
      if (file.json !== undefined || file[manner] !== undefined) continue;
      if (path.endsWith(".json")) {
        file.json = checkedJson(path, source.texts.get(path) ?? "");
        continue;
      }
      const code = (file[manner] = transform(path, manner));
      for (const call of importsIn(code)) {
        const target = targetOf(call, path);
        if (target.kind === "file") waiting.push([target.path, call.manner]);
      }
    }
    return program;
  }

  return { compile };
}

/** Choice: an ending says what a file is, else its own text; a `package.json` has no say. */
function sourceType(path: string): "module" | "script" | "unambiguous" {
  return /\.m[jt]s$/.test(path) ? "module" : path.endsWith(".cjs") ? "script" : "unambiguous";
}

function checkedJson(path: string, text: string): string {
  try {
    JSON.parse(text);
    return text;
  } catch (error) {
    throw moduleProblem(path, `is no JSON: ${(error as Error).message}`); // JSON.parse throws errors only
  }
}

/** Line of the first string that names it, from 1. */
function lineOf(specifier: string, text: string): number | undefined {
  const lines = text.split("\n");
  const found = lines.findIndex((line) => [`"`, `'`, "`"].some((quote) => line.includes(quote + specifier + quote)));
  return found < 0 ? undefined : found + 1;
}
