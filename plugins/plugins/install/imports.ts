/** Finds imports of a package that cannot be resolved. Reads files without running them. */
import { messageOf } from "@svc/sdk/errors";
import { existsSync, readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { sdkDirectory } from "@svc/host/local";
import { init, parse } from "es-module-lexer";

/** An import with a literal name. */
export interface Import {
  readonly name: string;
  /** Imported with `import()`: only resolved when the code runs. */
  readonly isDynamic: boolean;
}

/** Resolves like the runtime. @throws Error if the name cannot be resolved */
export type ResolveName = (name: string, from: string) => string;

const CODE = /\.[cm]?[jt]s$/;
const TYPESCRIPT = /\.[cm]?ts$/;

/**
 * Unresolvable imports in all files reachable from `files` by relative imports, one line each. Static imports of
 * TypeScript are not checked here: the actual import finds them, and drops type-only imports.
 * @param root real path of the package; files outside belong to its dependencies
 */
export async function missingImports(root: string, files: readonly string[], resolve: ResolveName): Promise<string[]> {
  await init();
  const optional = optionalPackages(root);
  const problems: string[] = [];
  const seen = new Set<string>(files);
  for (const file of seen) {
    const shown = relative(root, file);
    let imports: readonly Import[];
    try {
      imports = importsOf(file);
    } catch (error) {
      problems.push(`${shown} cannot be read: ${messageOf(error)}`);
      continue;
    }
    for (const { name, isDynamic } of imports) {
      if (isBuiltin(name)) continue;
      const found = lookUp(name, file, resolve);
      if (/^\.{0,2}\//.test(name)) {
        if (found === undefined) problems.push(`${shown} imports ${name}, which is not in the package`);
        else if (CODE.test(found) && found.startsWith(root + sep)) seen.add(found);
      } else if (found === undefined && !(isDynamic && optional.has(packageOf(name)))) {
        problems.push(`${shown} imports ${name}, which is not installed: ${adviceFor(name)}`);
      }
    }
  }
  return problems;
}

function importsOf(file: string): readonly Import[] {
  const isTypeScript = TYPESCRIPT.test(file);
  const text = readFileSync(file, "utf8");
  let found: readonly Import[];
  try {
    found = importsIn(text, file);
  } catch (error) {
    if (isTypeScript) return []; // syntax unknown to the lexer; the actual import reports the problem
    throw error;
  }
  return isTypeScript ? found.filter(({ name, isDynamic }) => isDynamic || name.startsWith(".")) : found;
}

/** Imports and re-exports that exist at run time, without types. Requires `init` of the lexer. */
function importsIn(text: string, file: string): Import[] {
  const [found] = parse(text, file);
  return found.flatMap((one) => {
    const isDynamic = one.type === "dynamic";
    if (one.type === "import-meta" || one.specifier === undefined) return [];
    if (isDynamic ? one.glob || one.probablyTypeOnly : one.typeOnly) return [];
    return [{ name: one.specifier, isDynamic }];
  });
}

/** @returns the file, or `undefined`. TypeScript may omit the extension, or use that of the compiled file. */
function lookUp(name: string, from: string, resolve: ResolveName): string | undefined {
  if (/^\.{0,2}\//.test(name) && TYPESCRIPT.test(from)) {
    const plain = join(dirname(from), name);
    const tries = [
      plain,
      ...[".ts", ".mts", ".js", "/index.ts", "/index.js"].map((end) => plain + end),
      plain.replace(/js$/, "ts"),
    ];
    return tries.find((path) => CODE.test(path) && existsSync(path)) ?? (existsSync(plain) ? plain : undefined);
  }
  try {
    const url = resolve(name, pathToFileURL(from).href);
    if (!url.startsWith("file:")) return url;
    const file = fileURLToPath(url);
    return existsSync(file) ? file : undefined;
  } catch {
    return undefined;
  }
}

/** `@scope/name/part` -> `@scope/name`. */
function packageOf(name: string): string {
  return name.split("/", name.startsWith("@") ? 2 : 1).join("/");
}

function adviceFor(name: string): string {
  if (name === "@svc/sdk") return `npm install --no-save ${sdkDirectory()}`; // only a linked directory lacks the SDK
  if (packageOf(name) === "@svc/sdk") return "the plugin API of this gateway has no module of this name";
  return `list ${packageOf(name)} under dependencies (peers and development dependencies are not installed)`;
}

/** Optional packages: the code must work without them. */
function optionalPackages(root: string): ReadonlySet<string> {
  const { optionalDependencies = {}, peerDependenciesMeta = {} } = JSON.parse(
    readFileSync(join(root, "package.json"), "utf8"),
  ) as { optionalDependencies?: object; peerDependenciesMeta?: Record<string, { optional?: boolean } | undefined> };
  const peers = Object.entries(peerDependenciesMeta).flatMap(([name, meta]) => (meta?.optional ? [name] : []));
  return new Set([...Object.keys(optionalDependencies), ...peers]);
}
