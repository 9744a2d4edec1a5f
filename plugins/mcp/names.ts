/** Names of tools: converts a server's names to those that models see, and filters them. Pure. */
import { createHash } from "node:crypto";

const MAX_NAME = 64;
/** Choice: maximum length of a server's own tool name, in characters. */
export const MAX_OWN_NAME = 256;

/** `<server>__<tool>` of at most 64 letters, digits, `_` and `-`; a truncated name ends with a digest of the tool's full name. */
export function toolName(server: string, tool: string): string {
  const name = `${server}__${tool.replace(/[^a-zA-Z0-9_-]/gu, "_")}`;
  if (name.length <= MAX_NAME) return name;
  const digest = createHash("sha256").update(tool).digest("hex").slice(0, 8);
  return `${name.slice(0, MAX_NAME - 9)}_${digest}`;
}

/** @param include absent: all. @param exclude overrides `include` */
export function isWanted(
  tool: string,
  include: readonly string[] | undefined,
  exclude: readonly string[] = [],
): boolean {
  const fits = (globs: readonly string[]) => globs.some((glob) => fitsGlob(tool, glob));
  return !fits(exclude) && (include === undefined || fits(include));
}

/**
 * `*` matches any number of characters, also zero. The match goes from left to right without backtracking, so no
 * pattern is slow.
 */
function fitsGlob(text: string, glob: string): boolean {
  const [first = "", ...parts] = glob.split("*");
  const last = parts.pop();
  if (last === undefined) return text === glob;
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (const part of parts) {
    const found = text.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
}
