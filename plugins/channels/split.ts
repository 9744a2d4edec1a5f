/** Cuts a text into messages a channel can carry. Pure. Spec: http/sessions-routing.md §9: paragraph, line, sentence, word, hard cut. */

/** Choice: messages one text may become; what does not fit is left out, and the last one says so. */
export const MAX_PIECES = 40;

/** Ends of parts, best first; a cut comes after the match. */
const BREAKS: readonly RegExp[] = [/\n[ \t]*\n\s*/g, /\n\s*/g, /[.!?…。！？]+["')\]]*\s+/g, /\s+/g];

/** Pieces of at most `maxChars` UTF-16 units, none of them blank; a character is never cut in two. */
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

/** Where the first piece ends. Choice: a break in the first half is none, else pieces get short. */
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

/** What belongs to the character before it: marks, joiners, variation selectors. */
const JOINED = /^(?:\p{M}|\u{200d}|[\u{fe00}-\u{fe0f}])/u;
/** Code units looked back over for a place between two characters. */
const LOOKED_BACK = 16;

/** At most `limit`, and not between the halves of a character or before what combines with it. */
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
