/** Splits a text into messages that a channel can carry. Pure. Spec: http/sessions-routing.md §9: paragraph, line, sentence, word, hard cut. */

/** Choice: maximum number of messages for one text; the rest is left out, and the last message says so. */
export const MAX_PIECES = 40;

/** Break patterns, best first; the cut is after the match. */
const BREAKS: readonly RegExp[] = [/\n[ \t]*\n\s*/g, /\n\s*/g, /[.!?…。！？]+["')\]]*\s+/g, /\s+/g];

/** Pieces of at most `maxChars` UTF-16 units, none of them blank; a character is never split. */
export function split(text: string, maxChars: number): readonly string[] {
  const limit = Math.max(16, Math.trunc(maxChars));
  const pieces: string[] = [];
  let rest = text.trim();
  while (rest !== "") {
    if (pieces.length === MAX_PIECES - 1 && rest.length > limit) {
      pieces.push(shortened(rest, limit));
      break;
    }
    const cut = rest.length <= limit ? rest.length : cutOf(rest, limit);
    const piece = rest.slice(0, cut).trimEnd();
    if (piece !== "") pieces.push(piece);
    rest = rest.slice(cut).trimStart();
  }
  return pieces;
}

/** End of the first piece. Choice: a break in the first half is ignored, because it would make pieces short. */
function cutOf(text: string, limit: number): number {
  const head = text.slice(0, limit + 1);
  for (const pattern of BREAKS) {
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
