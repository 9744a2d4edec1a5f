/** Checks that package.json declares every package that the plugin imports. */
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { isBuiltin } from "node:module";
import { init, parse } from "es-module-lexer";
import type { PackageJson } from "./package-facts.ts";
import { failed, type Problem } from "./findings.ts";

/** Directories without run-time code; `dist` is only read if there is no source. */
const APART = new Set(["node_modules", "test", "tests", "coverage"]);

/** Directory of the page of a plugin. A bundler puts its packages into the published files, so devDependencies declare them. */
const PAGE = "ui/";

/** Run-time code files of the package, as relative paths. */
export function codeFiles(directory: string): string[] {
  const below = (at: string): string[] =>
    readdirSync(at, { withFileTypes: true }).flatMap((entry) => {
      if (APART.has(entry.name) || entry.name.startsWith(".")) return [];
      const path = join(at, entry.name);
      if (entry.isDirectory()) return below(path);
      return /\.[cm]?[jt]s$/.test(entry.name) && !/\.(d|test)\.[cm]?ts$/.test(entry.name)
        ? [relative(directory, path)]
        : [];
    });
  const files = below(directory);
  const sources = files.filter((path) => !path.startsWith("dist/"));
  return sources.length > 0 ? sources : files;
}

export async function importProblems(directory: string, json: PackageJson): Promise<Problem[]> {
  const { dependencies, devDependencies, peerDependencies, optionalDependencies } = json;
  const declared = { ...dependencies, ...peerDependencies, ...optionalDependencies };
  const bundled = { ...declared, ...devDependencies };
  const problems = codeFiles(directory).map((file) =>
    problemsOf(file, join(directory, file), file.startsWith(PAGE) ? bundled : declared),
  );
  return (await Promise.all(problems)).flat();
}

/** Packages that a module imports at run time, without type imports. @throws Error if the text is not a module */
export async function importedPackages(text: string, file: string): Promise<string[]> {
  await init();
  const [found] = parse(text, file);
  const names = found.flatMap((one) => {
    if (one.type === "import-meta" || one.specifier === undefined) return [];
    const isType = one.type === "dynamic" ? one.glob || one.probablyTypeOnly : one.typeOnly;
    if (isType || /^[./#]/.test(one.specifier) || isBuiltin(one.specifier)) return [];
    return [one.specifier.split("/", one.specifier.startsWith("@") ? 2 : 1).join("/")];
  });
  return [...new Set(names)];
}

/** @param shown path relative to the package */
async function problemsOf(shown: string, file: string, declared: object): Promise<Problem[]> {
  let names: readonly string[];
  try {
    names = await importedPackages(readFileSync(file, "utf8"), shown);
  } catch (error) {
    return [failed(`${shown} cannot be read: ${String(error)}`, `correct ${shown}`)];
  }
  return names
    .filter((name) => !(name in declared))
    .map((name) =>
      failed(
        `${shown} imports ${name}, which package.json does not declare`,
        `npm install ${name}, or remove the import`,
      ),
    );
}
