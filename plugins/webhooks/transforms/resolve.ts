/**
 * What an import of a transform means. Pure. Choice: files of the transforms directory, what the runtime brings, and the
 * SDK; nothing is looked up in a `node_modules`, so that no package of anybody's chooses code here.
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

/** The files there are, by path relative to the directory. */
export interface Known {
  readonly files: ReadonlySet<string>;
  /** Why a path is left out, by the same paths. */
  readonly refused: ReadonlyMap<string, string>;
}

/** Why a path is left out: what is wrong with itself or with a directory above it. */
export function refusedBecause(refused: ReadonlyMap<string, string>, path: string): string | undefined {
  const names = path.split("/");
  for (let length = names.length; length > 0; length -= 1) {
    const place = names.slice(0, length).join("/");
    const reason = refused.get(place);
    if (reason !== undefined) return length === names.length ? reason : `(${place} ${reason})`;
  }
  return undefined;
}

const ALLOWED = `a transform may import files of its directory by relative path, what Node brings, and ${SDK_ENTRIES.join(", ")}`;

/** An import that is not allowed, or leads nowhere. Its message names the import. */
export class ImportProblem extends Error {}

/** @throws ImportProblem */
export function resolveImport(specifier: string, from: string, known: Known): Target {
  if (/^\.\.?(?:\/|$)/.test(specifier)) return { kind: "file", path: resolveFile(specifier, from, known) };
  if (SDK_ENTRIES.some((entry) => entry === specifier)) return { kind: "sdk", name: specifier };
  if (/^(?:node:)?module$/.test(specifier))
    throw new ImportProblem(`import of "${specifier}" is refused, since it loads code from elsewhere; ${ALLOWED}`);
  if (isBuiltin(specifier)) return { kind: "builtin", name: specifier };
  throw new ImportProblem(`import of "${specifier}" is refused; ${ALLOWED}`);
}

/** As TypeScript and Node would, and as people write it: with and without ending, `.js` for what is `.ts`, a directory for its index. */
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
  throw new ImportProblem(`import of "${specifier}" leads nowhere: there is no such file in the transforms directory`);
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
