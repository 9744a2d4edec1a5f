/** Locates an error in a plugin's own files. */
import { readFileSync } from "node:fs";
import { relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { isInside } from "@svc/sdk/files";

/** An error in the form that the author of the plugin needs. */
export interface Mishap {
  /** First line of the error message. */
  readonly message: string;
  /** `file:line:column`, relative to the working directory if the file is below it; absent: no file of the plugin. */
  readonly at?: string;
}

/** A file with a position, anywhere in a text. */
const PLACE = /(file:\/\/\/[^\s()]+?|\/[^\n()]+?)(?:\?[a-z]+=[\w-]+)?:(\d+)(?::(\d+))?(?=[\s)]|$)/g;

/** @param root directory of the plugin */
export function mishapOf(error: unknown, root: string): Mishap {
  if (!(error instanceof Error)) return { message: String(error) };
  const [message = ""] = error.message.split("\n");
  const at = missingAt(error, root) ?? placeIn(error.message, root) ?? placeIn(error.stack ?? "", root);
  return { message: message.trim(), ...(at === undefined ? {} : { at }) };
}

/** The first position in the plugin's own files named in a text. */
function placeIn(text: string, root: string): string | undefined {
  for (const [, name = "", line = "", column] of text.matchAll(PLACE)) {
    const file = name.startsWith("file:") ? fileURLToPath(name) : name;
    if (!isOwn(file, root)) continue;
    const counted = text.startsWith("ParseError") ? 1 : 0; // the compiler counts columns from 0
    return [shown(file), line, ...(column === undefined ? [] : [Number(column) + counted])].join(":");
  }
  return undefined;
}

/**
 * The position of a failed import. The error names only the importing file, so the line is searched by the imported
 * name.
 */
function missingAt(error: Error, root: string): string | undefined {
  const { code, requireStack } = error as { code?: unknown; requireStack?: readonly string[] };
  if (code !== "MODULE_NOT_FOUND" && code !== "ERR_MODULE_NOT_FOUND") return undefined;
  // Node names the missing module only in its message.
  const [, asked, from] = /Cannot find (?:module|package) '([^']+)'(?: imported from (\S+))?/.exec(error.message) ?? [];
  const file = from ?? requireStack?.[0];
  if (file === undefined || asked === undefined || !isOwn(file, root)) return undefined;
  const text = readFileSync(file, "utf8");
  const place = [`"${asked}"`, `'${asked}'`].map((quoted) => text.indexOf(quoted)).find((index) => index >= 0);
  if (place === undefined) return shown(file);
  const before = text.slice(0, place).split("\n");
  return `${shown(file)}:${before.length}:${(before.at(-1) ?? "").length + 1}`;
}

/** Whether a file belongs to the plugin itself, not to an installed package. */
export function isOwn(file: string, root: string): boolean {
  return isInside(root, file) && !file.includes(`${sep}node_modules${sep}`);
}

function shown(file: string): string {
  const here = relative(process.cwd(), file);
  return here.startsWith("..") ? file : here;
}
