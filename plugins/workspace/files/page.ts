/** Some lines of a text, with a note of what was left out. Pure. */
import { invalidRequest } from "@svc/sdk";

/** Choice: lines and UTF-16 units one answer has at most. */
export const MAX_LINES = 2_000;
export const MAX_CHARS = 50_000;

export interface PageRequest {
  /** First line, from 1. Default 1. */
  readonly offset?: number | undefined;
  /** Lines. Default and most 2000. */
  readonly limit?: number | undefined;
}

export interface Page {
  /** The lines, and a note where something is left out. */
  readonly text: string;
  /** First and last line of it; `to` less than `from`: none. */
  readonly from: number;
  readonly to: number;
  /** Lines that are known; more where the file was cut. */
  readonly lines: number;
  readonly truncated: boolean;
}

/**
 * @param isCut the text goes on beyond what is known of it
 * @throws GatewayError `INVALID_REQUEST` when there is no such line
 */
export function pageOf(text: string, { offset = 1, limit = MAX_LINES }: PageRequest, isCut = false): Page {
  const lines = text.split("\n");
  if (lines.at(-1) === "" || (isCut && lines.length > 1)) lines.pop(); // the last one has no end, or is not whole
  const total = lines.length;
  if (offset > Math.max(1, total)) invalidRequest(`there are ${total} lines; line ${offset} is past the end`);
  const wanted = lines.slice(offset - 1, offset - 1 + Math.min(limit, MAX_LINES));
  const { shown, isLineCut } = fitting(wanted);
  const to = offset - 1 + shown.length;
  const isAll = offset === 1 && to === total && !isCut && !isLineCut;
  const next = to < total ? `go on with offset ${to + 1}` : undefined;
  const notes = [
    `lines ${offset} to ${to} of ${isCut ? `more than ${total}` : total}`,
    ...(isLineCut ? [`line ${to} is cut at ${MAX_CHARS} characters`] : []),
    ...(next ? [next] : []),
  ];
  const body = shown.join("\n");
  const whole = total === 0 ? "[the file is empty]" : isAll ? text : `${body}\n[${notes.join("; ")}]`;
  return { text: whole, from: offset, to, lines: total, truncated: !isAll && total > 0 };
}

/** As many lines as there is room for; the first one in any case, cut where it is too long. */
function fitting(lines: readonly string[]): { shown: string[]; isLineCut: boolean } {
  const shown: string[] = [];
  let room = MAX_CHARS;
  for (const line of lines) {
    if (line.length + 1 > room) break;
    shown.push(line);
    room -= line.length + 1;
  }
  const [first] = lines;
  if (shown.length > 0 || first === undefined) return { shown, isLineCut: false };
  return { shown: [first.slice(0, MAX_CHARS)], isLineCut: true };
}
