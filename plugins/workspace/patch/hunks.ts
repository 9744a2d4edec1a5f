/** Hunks put into a text. Pure. */
import { invalidRequest } from "@svc/sdk";
import type { Hunk } from "./parse.ts";

/** What of a line is compared, the strictest first: all of it, or all but the blanks at its end. */
const COMPARED: readonly ((line: string) => string)[] = [(line) => line, (line) => line.trimEnd()];

/** Choice: lines of a file, so that looking for hunks takes no time anybody notices. */
const MAX_LINES = 100_000;

/**
 * The text with all hunks in it, which come in the order of the file. Lines that stay are left as they are; new ones get the
 * line end of the file's first line, and whether the file ends with a line end does not change.
 * Choice: a place has to be the only one that fits, unless `@@` lines lead to it: the first after them counts then.
 * @param path for refusals @throws GatewayError `INVALID_REQUEST` when a hunk has no place, or several
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

/** Index of the first line it is about. */
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
    refuse(hunk, path, `fits in ${found.length} places; give more lines around it, or a line before it after @@`);
  }
  return refuse(hunk, path, "does not fit; read the file and copy its lines exactly");
}

/** Where these lines stand, one after the other. Looks at each line a bounded number of times, however they repeat (Knuth, Morris, Pratt). */
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

/** For each beginning of `wanted`: how long its longest beginning is that is its end as well. */
function fallbacks(wanted: readonly string[]): number[] {
  const back = [0];
  for (let index = 1, matched = 0; index < wanted.length; index += 1) {
    while (matched > 0 && wanted[matched] !== wanted[index]) matched = back[matched - 1] ?? 0;
    if (wanted[matched] === wanted[index]) matched += 1;
    back.push(matched);
  }
  return back;
}

/** Headers are compared without the blanks around them. */
function afterHeader(header: string, lines: readonly string[], from: number, hunk: Hunk, path: string): number {
  const at = lines.findIndex((line, index) => index >= from && line.trim() === header);
  return at < 0
    ? refuse(hunk, path, `looks for the line ${JSON.stringify(header.slice(0, 100))}, which is not there`)
    : at + 1;
}

function refuse({ at }: Hunk, path: string, why: string): never {
  return invalidRequest(`${path}: the hunk at line ${at} of the patch ${why}`);
}
