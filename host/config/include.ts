/** `$include`: a configuration in several files. Spec: http/config.md §2.1. */
import { realpath } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { isGatewayError } from "@svc/sdk/errors";
import { isInside } from "@svc/sdk/files";
import { parseJson5 } from "./parse.ts";
import { cleanCopy, isObject } from "./plain-data.ts";
import { decodeUtf8, readRegularFile } from "./read-bytes.ts";

export const INCLUDE = "$include";

/** Maximum levels of includes. Spec. */
const MAX_DEPTH = 10;
/** Choice: maximum number of included files, against exponential includes. */
const MAX_FILES = 256;

/** Result of the expansion. `files`: every file tried, including missing ones. */
export type Expanded = { readonly files: readonly string[] } & (
  | { readonly value: unknown }
  | { readonly message: string }
);

interface Walk {
  /** Directory of the main file, as named; `realDirectory`: its real path. */
  readonly directory: string;
  readonly realDirectory: string;
  readonly files: Set<string>;
  reads: number;
}

/** Current position: the file being expanded, and the real paths of it and of the files that include it. */
interface Place {
  readonly file: string;
  readonly chain: readonly string[];
}

/** Violation of a rule of §2.1; the message becomes the issue. */
class IncludeError extends Error {}

/** Merges included files into `value`; returns a message on an error. @throws GatewayError `UNAVAILABLE` when the machine cannot read any file now */
export async function expandIncludes(value: unknown, mainPath: string): Promise<Expanded> {
  if (!mentionsInclude(value)) return { value, files: [] };
  const directory = dirname(mainPath);
  const files = new Set<string>();
  try {
    const realDirectory = await realpath(directory);
    const main = await realpath(mainPath).catch(() => mainPath); // the file does not exist yet
    const walk: Walk = { directory, realDirectory, files, reads: 0 };
    return { value: await expand(value, { file: mainPath, chain: [main] }, walk), files: [...files] };
  } catch (error) {
    if (isGatewayError(error)) throw error;
    return { message: (error as Error).message, files: [...files] };
  }
}

function mentionsInclude(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(mentionsInclude);
  return isObject(value) && (Object.hasOwn(value, INCLUDE) || Object.values(value).some(mentionsInclude));
}

async function expand(node: unknown, place: Place, walk: Walk): Promise<unknown> {
  if (Array.isArray(node)) {
    const items: unknown[] = [];
    for (const item of node) items.push(await expand(item, place, walk));
    return items;
  }
  if (!isObject(node)) return node;
  const entries: [string, unknown][] = [];
  for (const [key, item] of Object.entries(node))
    if (key !== INCLUDE) entries.push([key, await expand(item, place, walk)]);
  if (!Object.hasOwn(node, INCLUDE)) return Object.fromEntries(entries);

  const included = await includeAll(node[INCLUDE], place, walk);
  if (entries.length === 0) return included;
  if (!isObject(included))
    throw new IncludeError(
      `${INCLUDE} in ${place.file}: the object has other keys, so the included file must hold one object`,
    );
  return merge(included, Object.fromEntries(entries));
}

async function includeAll(directive: unknown, place: Place, walk: Walk): Promise<unknown> {
  if (typeof directive === "string") return includeOne(directive, place, walk);
  if (!Array.isArray(directive) || !directive.every((name) => typeof name === "string"))
    throw new IncludeError(`${INCLUDE} in ${place.file} must be a path or a list of paths`);
  let merged: unknown = {};
  for (const name of directive) merged = merge(merged, await includeOne(name, place, walk));
  return merged;
}

async function includeOne(name: string, place: Place, walk: Walk): Promise<unknown> {
  const refuse = (why: string) => new IncludeError(`${INCLUDE} ${JSON.stringify(name)} in ${place.file}: ${why}`);
  if (place.chain.length > MAX_DEPTH) throw refuse(`more than ${MAX_DEPTH} levels of includes`);
  if (++walk.reads > MAX_FILES) throw refuse(`more than ${MAX_FILES} included files`);
  const path = resolve(dirname(place.file), name);
  if (path === walk.directory || !isInside(walk.directory, path))
    throw refuse(`the file is outside ${walk.directory}, the directory of the main file`);
  walk.files.add(path);
  const { bytes, realPath } = await readRegularFile(path, { directory: walk.realDirectory }).catch((error: Error) => {
    throw isGatewayError(error) ? error : refuse(error.message);
  });
  if (place.chain.includes(realPath)) throw refuse("it includes itself");
  const parsed = await parseJson5(decode(bytes, refuse));
  if ("message" in parsed) throw refuse(parsed.message);
  const content = await expand(parsed.value, { file: path, chain: [...place.chain, realPath] }, walk);
  return cleanCopy(content);
}

function decode(bytes: Buffer, refuse: (why: string) => Error): string {
  try {
    return decodeUtf8(bytes);
  } catch {
    throw refuse("it is not UTF-8");
  }
}

/** Merges objects key by key and concatenates lists; any other value is replaced by the later one. */
function merge(earlier: unknown, later: unknown): unknown {
  if (Array.isArray(earlier) && Array.isArray(later)) return cleanCopy([...earlier, ...later]);
  if (!isObject(earlier) || !isObject(later)) return cleanCopy(later);
  const merged = new Map(Object.entries(earlier));
  for (const [key, item] of Object.entries(later))
    merged.set(key, merged.has(key) ? merge(merged.get(key), item) : item);
  return cleanCopy(Object.fromEntries(merged));
}
