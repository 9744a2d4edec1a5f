/**
 * Resolves an import of a transform. Pure. Choice: files of the transforms directory, built-in modules of the runtime, and the
 * SDK; `node_modules` is never searched, so that no installed package can inject code here.
 */
import { isBuiltin } from "node:module";
import { posix } from "node:path";

export const SDK_ENTRIES: readonly string[] = [
  "@svc/sdk",
  "@svc/sdk/transform",
  "@svc/sdk/webhooks",
  "@svc/sdk/external-content",
  "@svc/sdk/errors",
];

export type Target =
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "builtin"; readonly name: string }
  | { readonly kind: "sdk"; readonly name: string };

/** The existing files, by path relative to the directory. */
export interface Known {
  readonly files: ReadonlySet<string>;
  /** Reason why a path is excluded, by the same paths. */
  readonly refused: ReadonlyMap<string, string>;
}

/** Reason why a path is excluded: a problem of the path itself or of a directory above it. */
export function refusedBecause(refused: ReadonlyMap<string, string>, path: string): string | undefined {
  const names = path.split("/");
  for (let length = names.length; length > 0; length -= 1) {
    const place = names.slice(0, length).join("/");
    const reason = refused.get(place);
    if (reason !== undefined) return length === names.length ? reason : `(${place} ${reason})`;
  }
  return undefined;
}

const ALLOWED = `a transform may import files of its directory by relative path, built-in modules of Node, and ${SDK_ENTRIES.join(", ")}`;

/** An import that is not allowed or cannot be resolved. Its message names the import. */
export class ImportProblem extends Error {}

/** @throws ImportProblem */
export function resolveImport(specifier: string, from: string, known: Known): Target {
  if (/^\.\.?(?:\/|$)/.test(specifier)) return { kind: "file", path: resolveFile(specifier, from, known) };
  if (SDK_ENTRIES.some((entry) => entry === specifier)) return { kind: "sdk", name: specifier };
  if (/^(?:node:)?module$/.test(specifier))
    throw new ImportProblem(`import of "${specifier}" is refused, because it can load other code; ${ALLOWED}`);
  if (isBuiltin(specifier)) return { kind: "builtin", name: specifier };
  throw new ImportProblem(`import of "${specifier}" is refused; ${ALLOWED}`);
}

/** Follows TypeScript, Node and common usage: with and without extension, `.js` for a `.ts` file, a directory for its index. */
function resolveFile(specifier: string, from: string, known: Known): string {
  const path = posix.join(posix.dirname(from), specifier).replace(/\/$/, "");
  if (path === ".." || path.startsWith("../"))
    throw new ImportProblem(`import of "${specifier}" leaves the transforms directory; ${ALLOWED}`);
  const found = candidates(path).find((candidate) => known.files.has(candidate));
  if (found !== undefined) return found;
  for (const candidate of candidates(path)) {
    const reason = refusedBecause(known.refused, candidate);
    if (reason !== undefined) throw new ImportProblem(`import of "${specifier}": ${candidate} ${reason}`);
  }
  throw new ImportProblem(`import of "${specifier}" cannot be resolved: no such file in the transforms directory`);
}

const ENDINGS = [".ts", ".mts", ".cts", ".js", ".mjs", ".cjs", ".json"];

function candidates(path: string): string[] {
  const index = path === "." ? "index" : `${path}/index`;
  return [
    path,
    path.replace(/\.([cm]?)js$/, ".$1ts"),
    ...ENDINGS.map((ending) => path + ending),
    ...ENDINGS.map((ending) => index + ending),
  ];
}
