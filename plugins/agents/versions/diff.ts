/** The difference of two texts in the unified format of `diff -u`. Pure. */
import { invalidRequest } from "@svc/sdk";

/** Unchanged lines shown around a change. */
const CONTEXT = 3;
/** Choice: maximum number of lines of a compared text; 1 MiB of shorter lines would block the gateway for half a second. */
const MAX_LINES = 20_000;
/** Choice: line comparisons and edits after which the differing lines count as replaced. Bounds the time for hostile texts. */
const MAX_STEPS = 4_000_000;
const MAX_EDITS = 1_000;

/** One side: its text, and its label in the header of the diff. */
export interface DiffSide {
  readonly label: string;
  readonly text: string;
}

/** A line of the difference: ` ` unchanged, `-` removed, `+` added. */
interface Line {
  readonly sign: " " | "-" | "+";
  readonly text: string;
}

/** @returns lines that end in `\n`; `""` for equal texts @throws GatewayError `INVALID_REQUEST` for a text of more than 20,000 lines */
export function unifiedDiff(from: DiffSide, to: DiffSide): string {
  if (from.text === to.text) return "";
  const lines = compared(linesOf(from), linesOf(to));
  return [`--- ${from.label}\n+++ ${to.label}\n`, ...hunks(lines)].join("");
}

/** Lines with their line ends; the last one may have none. */
function linesOf({ label, text }: DiffSide): readonly string[] {
  const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  if (lines.length <= MAX_LINES) return lines;
  return invalidRequest(
    `${label} has ${lines.length} lines, and at most ${MAX_LINES} can be compared; choose other versions`,
  );
}

const signed = (sign: Line["sign"], texts: readonly string[]): Line[] => texts.map((text) => ({ sign, text }));

function compared(from: readonly string[], to: readonly string[]): readonly Line[] {
  const shorter = Math.min(from.length, to.length);
  let start = 0;
  while (start < shorter && from[start] === to[start]) start += 1;
  let end = 0;
  while (end < shorter - start && from.at(-1 - end) === to.at(-1 - end)) end += 1;
  return [
    ...signed(" ", from.slice(0, start)),
    ...edits(from.slice(start, from.length - end), to.slice(start, to.length - end)),
    ...signed(" ", from.slice(from.length - end)),
  ];
}

/** The shortest list of removed and added lines, after E. W. Myers, "An O(ND) Difference Algorithm and Its Variations". */
function edits(from: readonly string[], to: readonly string[]): readonly Line[] {
  const ids = new Map<string, number>();
  const numbered = (texts: readonly string[]) =>
    texts.map((text) => {
      const id = ids.get(text) ?? ids.size;
      ids.set(text, id);
      return id;
    });
  const trace = searched(numbered(from), numbered(to));
  return trace ? walkedBack(trace, from, to) : [...signed("-", from), ...signed("+", to)];
}

/** By number of edits: the furthest line of `from` reached on each diagonal (line of `from` minus line of `to`) before that edit. */
type Trace = readonly Int32Array[];

/** Index of diagonal 0. */
const MIDDLE = MAX_EDITS + 1;

/** @returns `undefined`: the texts differ too much */
function searched(from: readonly number[], to: readonly number[]): Trace | undefined {
  const trace: Int32Array[] = [];
  const reached = new Int32Array(2 * MIDDLE + 1);
  let steps = 0;
  for (let count = 0; count <= MAX_EDITS && steps <= MAX_STEPS; count += 1) {
    trace.push(reached.slice());
    for (let diagonal = -count; diagonal <= count; diagonal += 2) {
      const { x: first } = cameFrom(reached, diagonal, count);
      let x = first;
      while (x < from.length && x - diagonal < to.length && from[x] === to[x - diagonal]) x += 1;
      steps += x - first + 1;
      reached[MIDDLE + diagonal] = x;
      if (x >= from.length && x - diagonal >= to.length) return trace;
    }
  }
  return undefined;
}

/** The best step to a diagonal: a line is added, or one is removed. @returns the line of `from` after that step */
function cameFrom(reached: Int32Array, diagonal: number, count: number): { isAdded: boolean; x: number } {
  const below = reached[MIDDLE + diagonal - 1] ?? 0;
  const above = reached[MIDDLE + diagonal + 1] ?? 0;
  const isAdded = diagonal === -count || (diagonal !== count && below < above);
  return { isAdded, x: isAdded ? above : below + 1 };
}

function walkedBack(trace: Trace, from: readonly string[], to: readonly string[]): readonly Line[] {
  const lines: Line[] = [];
  let x = from.length;
  let diagonal = from.length - to.length;
  for (let count = trace.length - 1; count >= 0; count -= 1) {
    const { isAdded, x: first } = cameFrom(trace[count] ?? new Int32Array(), diagonal, count);
    while (x > first) lines.push({ sign: " ", text: from[--x] ?? "" });
    if (count === 0) break;
    if (isAdded) lines.push({ sign: "+", text: to[x - diagonal - 1] ?? "" });
    else lines.push({ sign: "-", text: from[--x] ?? "" });
    diagonal += isAdded ? 1 : -1;
  }
  return lines.toReversed();
}

/** Hunks with their headers; changes whose context touches share a hunk. */
function hunks(lines: readonly Line[]): readonly string[] {
  const found: string[] = [];
  let [at, fromLine, toLine] = [0, 1, 1];
  for (const { start, end } of ranges(lines)) {
    // Lines between two hunks are unchanged, so they count on both sides.
    fromLine += start - at;
    toLine += start - at;
    const shown = lines.slice(start, end);
    const removed = shown.filter(({ sign }) => sign !== "+").length;
    const added = shown.filter(({ sign }) => sign !== "-").length;
    found.push(`@@ -${span(fromLine, removed)} +${span(toLine, added)} @@\n${shown.map(printed).join("")}`);
    [at, fromLine, toLine] = [end, fromLine + removed, toLine + added];
  }
  return found;
}

function ranges(lines: readonly Line[]): readonly { readonly start: number; readonly end: number }[] {
  const found: { start: number; end: number }[] = [];
  for (const [index, { sign }] of lines.entries()) {
    if (sign === " ") continue;
    const start = Math.max(0, index - CONTEXT);
    const end = Math.min(lines.length, index + CONTEXT + 1);
    const last = found.at(-1);
    if (last && start <= last.end) last.end = end;
    else found.push({ start, end });
  }
  return found;
}

/** A range of no lines is named by the line before it. */
const span = (first: number, count: number) =>
  count === 1 ? `${first}` : `${count === 0 ? first - 1 : first},${count}`;

const printed = ({ sign, text }: Line) =>
  text.endsWith("\n") ? sign + text : `${sign}${text}\n\\ No newline at end of file\n`;
