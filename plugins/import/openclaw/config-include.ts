/** `$include`: a configuration in several files, all below the directory of the first. */
import { realpath } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { readPrivateFile } from "@svc/kit/files";
import { lazy, messageOf } from "@svc/sdk";
import { refusal } from "@svc/sdk/errors";
import { isInside } from "@svc/sdk/files";
import { isValues, type Values } from "./config-paths.ts";

const parserCode = lazy(() => import("json5"));

const MAX_BYTES = 2 * 1024 * 1024;
const MAX_DEPTH = 10;

interface Place {
  readonly path: string;
  readonly directory: string;
  readonly depth: number;
}

/**
 * The value of a file with all included files.
 * @param directory no file outside of it is read
 * @throws GatewayError `IMPORT_UNREADABLE` with the file and the reason
 */
export async function readConfigText(text: string, path: string, directory: string): Promise<Values> {
  const value = await expand(await parse(text, path), { path, directory, depth: 0 });
  return isValues(value) ? value : unreadable(path, "it must hold one object");
}

async function parse(text: string, path: string): Promise<unknown> {
  const { default: JSON5 } = await parserCode();
  try {
    return JSON5.parse(text) as unknown;
  } catch (error) {
    return unreadable(path, messageOf(error));
  }
}

async function expand(node: unknown, place: Place): Promise<unknown> {
  if (Array.isArray(node)) return Promise.all(node.map((item) => expand(item, place)));
  if (!isValues(node)) return node;
  const { $include: names, ...rest } = node;
  const entries = Object.entries(rest).map(async ([key, item]) => [key, await expand(item, place)] as const);
  const own = Object.fromEntries(await Promise.all(entries));
  if (names === undefined) return own;
  let merged: unknown = undefined;
  for (const name of [names].flat()) merged = merge(merged, await include(name, place));
  return entries.length === 0 ? merged : merge(merged, own);
}

async function include(name: unknown, { path, directory, depth }: Place): Promise<unknown> {
  const refuse = (why: string) => unreadable(path, `$include ${JSON.stringify(name)}: ${why}`);
  if (typeof name !== "string") return refuse("it must be a path");
  if (depth >= MAX_DEPTH) return refuse("too many files include each other");
  const file = resolve(dirname(path), name);
  const real = await realpath(file).catch(() => refuse("the file does not exist"));
  if (!isInside(await realpath(directory), real)) return refuse(`the file is outside of ${directory}`);
  const bytes = await readPrivateFile(file, { maxBytes: MAX_BYTES, denied: 0 });
  if (!Buffer.isBuffer(bytes)) return refuse(`it is not a file that can be read (${bytes.fault})`);
  return expand(await parse(bytes.toString(), file), { path: file, directory, depth: depth + 1 });
}

/** Objects are merged, lists are joined, other values of the later one count. */
function merge(earlier: unknown, later: unknown): unknown {
  if (Array.isArray(earlier) && Array.isArray(later)) return [...(earlier as unknown[]), ...(later as unknown[])];
  if (!isValues(earlier) || !isValues(later)) return later;
  const merged = new Map(Object.entries(earlier));
  for (const [key, item] of Object.entries(later))
    merged.set(key, merged.has(key) ? merge(merged.get(key), item) : item);
  return Object.fromEntries(merged);
}

function unreadable(path: string, why: string): never {
  const message = `${path} cannot be read: ${why}\nNext: correct it, or import without it: --without-config`;
  throw refusal("IMPORT_UNREADABLE", message, { path });
}
