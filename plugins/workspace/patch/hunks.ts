/** Applies hunks to a text. Pure. */
import { invalidRequest } from "@svc/sdk";
import type { Hunk } from "./parse.ts";

/** How lines are compared, strictest first: exactly, then without trailing blanks. */
const COMPARED: readonly ((line: string) => string)[] = [(line) => line, (line) => line.trimEnd()];

/** Choice: maximum lines of a file, so that searching for hunks stays fast. */
const MAX_LINES = 100_000;

/**
 * The text with all hunks applied; hunks are in file order. Context lines stay unchanged, new lines get the line end of the
 * file's first line, and a final line end is preserved.
 * Choice: a hunk must match exactly one place, unless `@@` lines lead to it: then the first match after them counts.
 * @param path for error messages @throws GatewayError `INVALID_REQUEST`: a hunk matches no place, or several
 */
export function withHunks(text: string, hunks: readonly Hunk[], path: string): string {
  const hasLastEnd = text === "" || text.endsWith("\n");
  const lines = text === "" ? [] : (hasLastEnd ? text.slice(0, -1) : text).split("\n");
  if (lines.length > MAX_LINES) invalidRequest(`${path} has more than ${MAX_LINES} lines; use write or a program`);
  const ending = lines[0]?.endsWith("\r") ? "\r" : "";
  const result: string[] = [];
  let done = 0;
  for (const hunk of hunks) {
    const at = placeOf(hunk, lines, done, path);
    while (done < at) result.push(lines[done++] ?? "");
    for (const { sign, text: line } of hunk.lines) {
      if (sign === "+") result.push(`${line}${ending}`);
      if (sign === " ") result.push(lines[done] ?? line);
      if (sign !== "+") done += 1;
    }
  }
  while (done < lines.length) result.push(lines[done++] ?? "");
  return result.join("\n") + (hasLastEnd && result.length > 0 ? "\n" : "");
}

/** Index of the first line of the hunk. */
function placeOf(hunk: Hunk, lines: readonly string[], from: number, path: string): number {
  const start = hunk.headers.reduce((after, header) => afterHeader(header, lines, after, hunk, path), from);
  const wanted = hunk.lines.filter(({ sign }) => sign !== "+").map(({ text }) => text);
  if (wanted.length === 0) return hunk.headers.length > 0 && !hunk.isAtEnd ? start : lines.length;
  for (const compared of COMPARED) {
    const all = placesOf(wanted.map(compared), lines.slice(start).map(compared)).map((index) => start + index);
    const found = all.filter((at) => !hunk.isAtEnd || at + wanted.length === lines.length);
    const [first] = found;
    if (first === undefined) continue;
    if (found.length === 1 || hunk.headers.length > 0) return first;
    refuse(hunk, path, `matches ${found.length} places; include more lines around it, or put an earlier line after @@`);
  }
  return refuse(hunk, path, "does not match; read the file and copy its lines exactly");
}

/** Positions at which these lines occur in sequence. Linear time, whatever repeats (Knuth, Morris, Pratt). */
function placesOf(wanted: readonly string[], lines: readonly string[]): number[] {
  const back = fallbacks(wanted);
  const places: number[] = [];
  let matched = 0;
  for (const [index, line] of lines.entries()) {
    while (matched > 0 && (matched === wanted.length || wanted[matched] !== line)) matched = back[matched - 1] ?? 0;
    if (wanted[matched] === line) matched += 1;
    if (matched === wanted.length) places.push(index + 1 - matched);
  }
  return places;
}

/** For each prefix of `wanted`: the length of its longest proper prefix that is also its suffix. */
function fallbacks(wanted: readonly string[]): number[] {
  const back = [0];
  for (let index = 1, matched = 0; index < wanted.length; index += 1) {
    while (matched > 0 && wanted[matched] !== wanted[index]) matched = back[matched - 1] ?? 0;
    if (wanted[matched] === wanted[index]) matched += 1;
    back.push(matched);
  }
  return back;
}

/** Index after the line that matches the header; surrounding blanks are ignored. */
function afterHeader(header: string, lines: readonly string[], from: number, hunk: Hunk, path: string): number {
  const at = lines.findIndex((line, index) => index >= from && line.trim() === header);
  return at < 0
    ? refuse(hunk, path, `refers to the line ${JSON.stringify(header.slice(0, 100))}, which the file does not have`)
    : at + 1;
}

function refuse({ at }: Hunk, path: string, why: string): never {
  return invalidRequest(`${path}: the hunk at line ${at} of the patch ${why}`);
}
