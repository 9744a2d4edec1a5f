/**
 * Splits a text into messages that a channel can carry: paragraph, line, sentence, word, hard cut. A code fence that is cut is
 * closed, and opened again in the next message. Pure. Spec: http/sessions-routing.md §9.
 */

/** Choice: maximum number of messages for one text; the rest is left out, and the last message says so. */
export const MAX_PIECES = 40;

/** Break patterns, best first; the cut is after the match. */
const BREAKS: readonly RegExp[] = [/\n[ \t]*\n\s*/g, /\n\s*/g, /[.!?…。！？]+["')\]]*\s+/g, /\s+/g];
/** Break patterns inside a code fence, best first. */
const CODE_BREAKS: readonly RegExp[] = [/\n/g, /[ \t]+/g];

/** A line that opens or closes a code fence. */
const FENCE = /^ {0,3}(`{3,}|~{3,})([^\n]*)$/gm;
/** Choice: longest opening line that is repeated; a longer one is repeated without its language. */
const MAX_OPENING_CHARS = 40;
/** Choice: in channels with a smaller limit, fences are cut like other text. */
const LEAST_FENCED_CHARS = 200;

/** An open code fence: the line that opened it, and the one that closes it. */
interface Fence {
  readonly opening: string;
  readonly closing: string;
}

/** Pieces of at most `maxChars` UTF-16 units, none of them blank; a character is never split. */
export function split(text: string, maxChars: number): readonly string[] {
  const limit = Math.max(16, Math.trunc(maxChars));
  const keepsFences = limit >= LEAST_FENCED_CHARS;
  const pieces: string[] = [];
  let rest = text.trim();
  let open: Fence | undefined;
  while (rest !== "") {
    const prefix: string = open ? `${open.opening}\n` : "";
    if (pieces.length === MAX_PIECES - 1 && prefix.length + rest.length > limit) {
      pieces.push(shortened(rest, limit));
      break;
    }
    const isLast: boolean = prefix.length + rest.length <= limit;
    const cut: number = isLast ? rest.length : fencedCut(prefix, rest, limit, keepsFences);
    const head: string = prefix + rest.slice(0, cut).trimEnd();
    open = isLast || !keepsFences ? undefined : fenceLeftOpen(head);
    const piece: string = open ? `${head}\n${open.closing}` : head;
    if (piece.trim() !== "") pieces.push(piece);
    rest = open ? rest.slice(cut).replace(/^[ \t]*\n/, "") : rest.slice(cut).trimStart();
    if (open && rest.trim() === open.closing) break;
  }
  return pieces;
}

/** Length of the first piece of `rest`, with room for the lines that close and reopen a fence. */
function fencedCut(prefix: string, rest: string, limit: number, keepsFences: boolean): number {
  const whole = prefix + rest;
  const cut = cutOf(whole, limit, prefix === "" ? BREAKS : CODE_BREAKS);
  if (!keepsFences) return cut;
  const fence = fenceLeftOpen(whole.slice(0, cut));
  if (!fence) return Math.max(1, cut - prefix.length);
  const start = whole.slice(0, cut).lastIndexOf(fence.opening);
  // A fence that begins in the second half moves to the next message as a whole.
  if (prefix === "" && start > limit / 2) return start;
  const room = limit - fence.closing.length - 1;
  return Math.max(1, cutOf(whole, room, CODE_BREAKS) - prefix.length);
}

/** The code fence that is open at the end of the text. */
function fenceLeftOpen(text: string): Fence | undefined {
  let open: Fence | undefined;
  for (const [line, closing = "", info = ""] of text.matchAll(FENCE)) {
    if (!open) open = { opening: line.length > MAX_OPENING_CHARS ? closing : line, closing };
    else if (info.trim() === "" && closing.startsWith(open.closing)) open = undefined;
  }
  return open;
}

/** End of the first piece. Choice: a break in the first half is ignored, because it would make pieces short. */
function cutOf(text: string, limit: number, breaks: readonly RegExp[]): number {
  const head = text.slice(0, limit + 1);
  for (const pattern of breaks) {
    const ends = [...head.matchAll(pattern)]
      .filter(({ index }) => index <= limit)
      .map((match) => match.index + match[0].length);
    const last = ends.at(-1);
    if (last !== undefined && last > limit / 2) return Math.min(last, limit);
  }
  return wholeCharacters(text, limit);
}

/** Code points that belong to the preceding character: marks, joiners, variation selectors. */
const JOINED = /^(?:\p{M}|\u{200d}|[\u{fe00}-\u{fe0f}])/u;
/** Code units searched backwards for a boundary between two characters. */
const LOOKED_BACK = 16;

/** At most `limit`, and not inside a surrogate pair or before a combining character. */
function wholeCharacters(text: string, limit: number): number {
  const least = Math.max(1, limit - LOOKED_BACK);
  for (let end = limit; end > least; end -= 1) {
    if (!isLowSurrogate(text, end) && !JOINED.test(text.slice(end, end + 2))) return end;
  }
  return isLowSurrogate(text, limit) ? limit - 1 : limit;
}

function isLowSurrogate(text: string, index: number): boolean {
  const unit = text.charCodeAt(index);
  return unit >= 0xdc00 && unit <= 0xdfff;
}

function shortened(text: string, limit: number): string {
  const note = `… [${text.length} more characters are left out]`;
  const fits = note.slice(0, limit);
  return `${text.slice(0, wholeCharacters(text, Math.max(0, limit - fits.length)))}${fits}`;
}
