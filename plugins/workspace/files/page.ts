/** Selects lines of a text, with a note about omitted lines. Pure. */
import { invalidRequest } from "@svc/sdk";

/** Choice: maximum lines and UTF-16 units of one result. */
export const MAX_LINES = 2_000;
export const MAX_CHARS = 50_000;

export interface PageRequest {
  /** First line, from 1. Default 1. */
  readonly offset?: number | undefined;
  /** Number of lines. Default and maximum 2000. */
  readonly limit?: number | undefined;
}

export interface Page {
  /** The lines, and a note if lines were omitted. */
  readonly text: string;
  /** First and last line of the page; `to` less than `from`: none. */
  readonly from: number;
  readonly to: number;
  /** Lines of the text; the file has more if it was cut. */
  readonly lines: number;
  readonly truncated: boolean;
}

/**
 * @param isCut `text` is only the beginning of the file
 * @throws GatewayError `INVALID_REQUEST`: `offset` is past the end
 */
export function pageOf(text: string, { offset = 1, limit = MAX_LINES }: PageRequest, isCut = false): Page {
  const lines = text.split("\n");
  if (lines.at(-1) === "" || (isCut && lines.length > 1)) lines.pop(); // the last line is empty or incomplete
  const total = lines.length;
  if (offset > Math.max(1, total)) invalidRequest(`the text has ${total} lines; line ${offset} is past the end`);
  const wanted = lines.slice(offset - 1, offset - 1 + Math.min(limit, MAX_LINES));
  const { shown, isLineCut } = fitting(wanted);
  const to = offset - 1 + shown.length;
  const isAll = offset === 1 && to === total && !isCut && !isLineCut;
  const next = to < total ? `continue with offset ${to + 1}` : undefined;
  const notes = [
    `lines ${offset} to ${to} of ${isCut ? `more than ${total}` : total}`,
    ...(isLineCut ? [`line ${to} is cut at ${MAX_CHARS} characters`] : []),
    ...(next ? [next] : []),
  ];
  const body = shown.join("\n");
  const whole = total === 0 ? "[the file is empty]" : isAll ? text : `${body}\n[${notes.join("; ")}]`;
  return { text: whole, from: offset, to, lines: total, truncated: !isAll && total > 0 };
}

/** As many lines as fit; the first one in any case, cut if it is too long. */
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
