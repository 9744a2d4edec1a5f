/** Which packages a plugin's files import, and whether its package.json says so. */
import { readdirSync, readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join, relative } from "node:path";
import type { PackageJson } from "./package-facts.ts";
import { failed, type Problem } from "./findings.ts";

/** Directories that are no part of what runs; `dist` is read only where there is no source. */
const APART = new Set(["node_modules", "test", "tests", "coverage"]);

/** Files of the package that run, relative to it. */
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

/** Packages that a text imports when it runs: static, dynamic and re-exported alike; types are gone by then. Pure. */
export function importedPackages(text: string): string[] {
  const code = text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/^\s*\/\/.*$/gm, "");
  const statements = code.matchAll(/(?:^|[;\s}])(import|export)\s+(type\s+)?[^;"'()]*?\bfrom\s*["']([^"']+)["']/g);
  const from = [...statements].flatMap(([, , type, name = ""]) => (type ? [] : [name]));
  const bare = [...code.matchAll(/(?:^|[;\s])import\s*["']([^"']+)["']/g)].map(([, name = ""]) => name);
  const dynamic = [...code.matchAll(/\bimport\s*\(\s*["']([^"']+)["']/g)].map(([, name = ""]) => name);
  const names = [...from, ...bare, ...dynamic].filter((name) => !/^[./#]/.test(name) && !isBuiltin(name));
  return [
    ...new Set(
      names.map((name) =>
        name
          .split("/")
          .slice(0, name.startsWith("@") ? 2 : 1)
          .join("/"),
      ),
    ),
  ];
}

export function importProblems(directory: string, json: PackageJson): Problem[] {
  const { dependencies, peerDependencies, optionalDependencies } = json;
  const declared = { ...dependencies, ...peerDependencies, ...optionalDependencies };
  return codeFiles(directory).flatMap((file) =>
    importedPackages(readFileSync(join(directory, file), "utf8"))
      .filter((name) => !(name in declared))
      .map((name) =>
        failed(
          `${file} imports ${name}, which package.json does not declare`,
          `npm install ${name}, or take the import out`,
        ),
      ),
  );
}
