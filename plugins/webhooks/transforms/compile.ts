/**
 * Compiles the files of a copy into its compile cache and refuses imports that are not allowed. Runs in a worker thread, because the
 * compiler costs 150 ms and tens of MB. A file in the cache is not compiled again.
 */
import { readFile } from "node:fs/promises";
import type { TransformOptions } from "jiti";
import { type Copy, originalPath, storedPath } from "./copy.ts";
import { jitiOf, SETTINGS } from "./load.ts";
import { ModuleProblem, moduleProblem } from "./problem.ts";
import { ImportProblem, resolveImport } from "./resolve.ts";
import { type Manner, rewriteImports } from "./rewrite.ts";
import { lazy } from "@svc/sdk";

const compilerCode = lazy(() => import("jiti"));

/** Compiles a file and all its literal imports. @throws ModuleProblem for the first fault, before any of the code runs */
export type Compile = (module: string) => Promise<void>;

/** Prefix of the first directive of compiled code, which lists the imported files. */
const MARK = "svc-imports:";
type Import = readonly [path: string, manner: Manner];

export async function createCompiler(copy: Copy): Promise<Compile> {
  const { createJiti } = await compilerCode();
  const compiler = createJiti(`${copy.place}/_`, { ...SETTINGS, fsCache: false });
  /** The first error in each file. */
  const problems = new Map<string, ModuleProblem>();

  function transform({ filename = "", source, async }: TransformOptions): { code: string } {
    const path = originalPath(copy, filename);
    const text = source.replace(/^\uFEFF/, "");
    if (path.endsWith(".json"))
      return { code: `${JSON.stringify(noted([]))};module.exports = JSON.parse(${JSON.stringify(text)})` };
    const imports: Import[] = [];
    const rewriting = rewriteImports({
      path,
      manner: async === true ? "import" : "require",
      note: () => noted(imports),
      resolve(specifier, how, line) {
        try {
          const target = resolveImport(specifier, path, copy.known);
          if (target.kind !== "file") return target.name;
          imports.push([target.path, how]);
          return storedPath(copy, target.path);
        } catch (error) {
          throw error instanceof ImportProblem ? moduleProblem(path, error.message, line) : error;
        }
      },
    });
    const report = (problem: ModuleProblem) => void (problems.has(path) || problems.set(path, problem));
    const babel = { sourceType: sourceType(path), ...reported(path, [rewriting], report) };
    const code = compiler.transform({ source: text, ts: path.endsWith("ts"), async: async === true, babel });
    return { code };
  }

  const jiti = await jitiOf(copy, transform);
  return async (module) => {
    const seen = new Set<string>();
    const waiting: Import[] = [[module, "import"]];
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      const [path, manner] = next;
      const key = `${manner} ${path}`;
      if (seen.has(key)) continue;
      seen.add(key);
      const filename = storedPath(copy, path);
      const source = await readFile(filename, "utf8");
      if (path.endsWith(".json")) checkJson(path, source);
      const imports = importsIn(jiti.transform({ filename, source, ts: true, async: manner === "import", jsx: false }));
      if (!imports) throw problems.get(path) ?? moduleProblem(path, "cannot be compiled");
      waiting.push(...imports);
    }
  };
}

function noted(imports: readonly Import[]): string {
  return MARK + encodeURIComponent(JSON.stringify(imports)).replaceAll("'", "%27");
}

/** @returns `undefined` for code that could not be compiled */
function importsIn(code: string): readonly Import[] | undefined {
  const note = /^["']svc-imports:([^"']*)["']/.exec(code)?.[1];
  return note === undefined ? undefined : (JSON.parse(decodeURIComponent(note)) as Import[]); // written by `noted`
}

/** Compiler options that report each error before the compiler rewrites its message. */
function reported(path: string, plugins: readonly unknown[], report: (problem: ModuleProblem) => void) {
  function problemOf(thrown: unknown): ModuleProblem {
    const { message, loc } = thrown as Error & { loc?: { readonly line: number; readonly column: number } }; // the compiler throws errors only
    if (thrown instanceof ModuleProblem) return new ModuleProblem(message);
    const [text = ""] = message.split(/ \(\d+:\d+\)|\n/);
    return moduleProblem(path, text.trim() || "cannot be compiled", loc?.line, loc && loc.column + 1);
  }
  type Step = (this: unknown, ...parts: unknown[]) => unknown;
  const watched = (step: Step): Step =>
    function (...parts) {
      try {
        return step.apply(this, parts);
      } catch (error) {
        report(problemOf(error));
        throw error;
      }
    };
  const parserOverride = (text: string, options: unknown, parse: Step) => watched(parse)(text, options);
  const wrapPluginVisitorMethod = (_plugin: string, _type: string, visit: Step) => watched(visit);
  return { plugins: [...plugins, { parserOverride }], wrapPluginVisitorMethod };
}

/** Choice: the file extension decides what a file is, else its own text; `package.json` is ignored. */
function sourceType(path: string): "module" | "script" | "unambiguous" {
  return /\.m[jt]s$/.test(path) ? "module" : path.endsWith(".cjs") ? "script" : "unambiguous";
}

function checkJson(path: string, text: string): void {
  try {
    JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch (error) {
    throw moduleProblem(path, `is not JSON: ${(error as Error).message}`); // JSON.parse throws errors only
  }
}
