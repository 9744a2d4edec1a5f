/**
 * Parses a patch: `*** Begin Patch`, sections of files, `*** End Patch`. Pure.
 *
 * A section starts with `*** Add File:`, `*** Delete File:` or `*** Update File:`; the latter may have `*** Move to:`. An
 * update has hunks: `@@`, optionally with a line to search first, then lines prefixed with ` `, `-` or `+`. `*** End of File`
 * anchors a hunk at the end.
 */
import { invalidRequest } from "@svc/sdk";

/** A line of a hunk without its sign. */
export interface HunkLine {
  readonly sign: " " | "-" | "+";
  readonly text: string;
}

/** A change at one place of a file. */
export interface Hunk {
  /** First line of the hunk in the patch, from 1. */
  readonly at: number;
  /** Lines that precede it in the file, in order; from the `@@` lines. */
  readonly headers: readonly string[];
  readonly lines: readonly HunkLine[];
  /** Whether it is anchored at the end of the file. */
  readonly isAtEnd: boolean;
}

/** A section of a patch. */
export type FileChange =
  | { readonly kind: "add"; readonly path: string; readonly content: string }
  | { readonly kind: "delete"; readonly path: string }
  | { readonly kind: "update"; readonly path: string; readonly moveTo?: string; readonly hunks: readonly Hunk[] };

/** Choice: maximum sections and hunks of a patch. */
const MAX_SECTIONS = 100;
const MAX_HUNKS = 500;

const SECTION = /^\*\*\* (Add|Delete|Update) File:\s*(.*)$/;
const MOVE = /^\*\*\* Move to:\s*(.*)$/;
const END = "*** End Patch";
const END_OF_FILE = "*** End of File";

/** Lines with the current position. */
interface Reader {
  readonly lines: readonly string[];
  at: number;
}

/** @throws GatewayError `INVALID_REQUEST` naming the line */
export function parsePatch(patch: string): readonly FileChange[] {
  const lines = patch.trim().split(/\r?\n/);
  if (lines[0]?.trim() !== "*** Begin Patch") wrong(0, 'a patch must start with the line "*** Begin Patch"');
  if (lines.at(-1)?.trim() !== END) wrong(lines.length - 1, `a patch must end with the line "${END}"`);
  const reader: Reader = { lines: lines.slice(0, -1), at: 1 };
  const changes: FileChange[] = [];
  while (reader.at < reader.lines.length) {
    if (changes.length === MAX_SECTIONS) wrong(reader.at, `a patch may have at most ${MAX_SECTIONS} files; split it`);
    changes.push(section(reader));
    skipBlank(reader);
  }
  const hunks = changes.flatMap((change) => (change.kind === "update" ? change.hunks : []));
  if (hunks.length > MAX_HUNKS) wrong(0, `a patch may have at most ${MAX_HUNKS} hunks, not ${hunks.length}; split it`);
  if (changes.length === 0) wrong(1, "this patch has no file");
  return changes;
}

function section(reader: Reader): FileChange {
  const at = reader.at;
  const [, verb, given = ""] = SECTION.exec(reader.lines[at]?.trimEnd() ?? "") ?? [];
  if (verb === undefined) {
    wrong(at, 'expected "*** Add File: <path>", "*** Update File: <path>" or "*** Delete File: <path>"');
  }
  const path = pathOf(given, at);
  reader.at += 1;
  if (verb === "Delete") return { kind: "delete", path };
  return verb === "Add" ? { kind: "add", path, content: added(reader) } : update(path, reader);
}

function pathOf(text: string, at: number): string {
  const path = text.trim();
  return path === "" ? wrong(at, "the path is missing") : path;
}

function added(reader: Reader): string {
  const lines: string[] = [];
  for (let line = here(reader); line !== undefined && !isSection(line); line = next(reader)) {
    if (line === "" && isLastBlank(reader)) break;
    if (!line.startsWith("+")) wrong(reader.at, "each line of an added file must start with +");
    lines.push(line.slice(1));
  }
  return lines.map((line) => `${line}\n`).join("");
}

function update(path: string, reader: Reader): FileChange {
  const start = reader.at;
  const [, target] = MOVE.exec(here(reader)?.trimEnd() ?? "") ?? [];
  if (target !== undefined) reader.at += 1;
  const hunks: Hunk[] = [];
  for (let line = here(reader); line !== undefined && !isSection(line); line = here(reader)) hunks.push(hunk(reader));
  if (hunks.length === 0 && target === undefined) wrong(start, `the patch changes nothing in ${path}; omit that file`);
  return { kind: "update", path, hunks, ...(target === undefined ? {} : { moveTo: pathOf(target, start) }) };
}

function hunk(reader: Reader): Hunk {
  const at = reader.at;
  const headers: string[] = [];
  for (let line = here(reader); line?.startsWith("@@"); line = next(reader)) {
    const header = headerOf(line);
    if (header !== "") headers.push(header);
  }
  const lines: HunkLine[] = [];
  let isAtEnd = false;
  for (let line = here(reader); line !== undefined && !isEndOfHunk(line); line = next(reader)) {
    isAtEnd = line.trimEnd() === END_OF_FILE;
    if (isAtEnd) {
      reader.at += 1;
      break;
    }
    if (line === "" && isLastBlank(reader)) break;
    lines.push(hunkLine(line, reader.at));
  }
  skipBlank(reader);
  if (!lines.some(({ sign }) => sign !== " ")) wrong(at, "this hunk changes nothing; no line starts with - or +");
  return { at: at + 1, headers, lines, isAtEnd };
}

/** `@@`, `@@ line`, and `@@ -1,2 +1,3 @@ line` as other tools write it; the numbers are ignored. */
function headerOf(line: string): string {
  return line
    .slice(2)
    .replace(/^\s*-\d+(,\d+)? \+\d+(,\d+)? @@/, "")
    .trim();
}

function hunkLine(line: string, at: number): HunkLine {
  const [sign = " "] = line;
  if (sign === " " || sign === "-" || sign === "+") return { sign, text: line.slice(1) };
  return wrong(at, "each line of a hunk must start with a blank, - or +");
}

function isEndOfHunk(line: string): boolean {
  return line.startsWith("@@") || isSection(line);
}

function isSection(line: string): boolean {
  return SECTION.test(line.trimEnd());
}

/** Whether this is an empty line between sections, which is not part of a file: empty lines of a hunk start with a blank. */
function isLastBlank({ lines, at }: Reader): boolean {
  let after = at;
  while (lines[after] === "") after += 1;
  const line = lines[after];
  return line === undefined || isEndOfHunk(line);
}

function skipBlank(reader: Reader): void {
  if (here(reader) === "" && isLastBlank(reader)) while (here(reader) === "") reader.at += 1;
}

function here({ lines, at }: Reader): string | undefined {
  return lines[at];
}

function next(reader: Reader): string | undefined {
  reader.at += 1;
  return here(reader);
}

function wrong(index: number, what: string): never {
  return invalidRequest(`line ${index + 1} of the patch: ${what}`);
}
