/** The markers around external content, and removal of forged markers. Spec: http/webhooks.md §8. Pure. */
import { foldText } from "./fold-text.ts";

const NAME = "EXTERNAL_UNTRUSTED_CONTENT";

/** Marker before external content. */
export function startMarker(id: string): string {
  return `<<<${NAME} id="${id}">>>`;
}

/** Marker after external content. */
export function endMarker(id: string): string {
  return `<<<END_${NAME} id="${id}">>>`;
}

const MARKER = new RegExp(`<<<(?:END_)?${NAME}\\b[^<>\\n]{0,80}>>>\\n?`, "g");

/** Removes markers, which models sometimes repeat, from a text for people. */
export function withoutMarkers(text: string): string {
  return text.replace(MARKER, "");
}

const NO_START = "[removed: a start marker]";
const NO_END = "[removed: an end marker]";

/** Gap between two letters of a marker. It contains no letters, so the search never retries a gap: linear. */
const GAP = "[^A-Z0-9<>]*";
const spaced = (name: string) => Array.from(name.replaceAll("_", "")).join(GAP);
/** The letters of a marker in folded text, with any gaps. */
const LETTERS = new RegExp(`(?<end>(?<![A-Z])${spaced("END")}${GAP})?${spaced(NAME)}`, "g");
/** The name as it is written in a marker. */
const WRITTEN = /(?<end>END_+)?EXTERNAL_+UNTRUSTED_+CONTENT$/;

/** Any sign or space except letters, digits and `>`. */
const SIGN = /(?!>)[\s\p{P}\p{S}]/u;
/** Number of characters before the letters that are searched for brackets. */
const MAX_OPENING = 64;
/** Maximum number of characters between the letters and the closing brackets. */
const MAX_ATTRIBUTES = 256;

/** A range of text to replace. */
interface Hit {
  readonly from: number;
  readonly to: number;
  readonly isEnd: boolean;
}

/**
 * Replaces everything a reader could mistake for a marker, with any id or none, including look-alike letters, other
 * brackets, invisible characters and gaps. Choice: the exact name of a marker is replaced even without brackets; its
 * letters with gaps only after a bracket.
 */
export function neutralizeMarkers(text: string): string {
  const folded = foldText(text);
  let result = "";
  let done = 0;
  for (const { from, to, isEnd } of findMarkers(folded.text)) {
    const [first, next] = [folded.from[from] ?? text.length, folded.from[to] ?? text.length];
    result += text.slice(done, first) + (isEnd ? NO_END : NO_START);
    done = next;
  }
  return result + text.slice(done);
}

function findMarkers(folded: string): Hit[] {
  const hits: Hit[] = [];
  let free = 0;
  for (const match of folded.matchAll(LETTERS)) {
    const { index } = match;
    if (index < free) continue; // inside the brackets of the previous hit
    const after = index + match[0].length;
    const opening = openingBefore(folded, index, free);
    const bracketed = opening < index;
    const found = bracketed ? match : WRITTEN.exec(match[0]);
    if (!found) continue;
    free = bracketed ? closingAfter(folded, after) : after;
    hits.push({
      from: bracketed ? opening : index + found.index,
      to: free,
      isEnd: found.groups?.["end"] !== undefined,
    });
  }
  return hits;
}

/** Index where the brackets before `index` begin, including gaps and signs between them; `index` if there are none. */
function openingBefore(folded: string, index: number, free: number): number {
  let from = index;
  const last = Math.max(free, index - MAX_OPENING);
  for (let at = index - 1; at >= last && SIGN.test(folded.charAt(at)); at -= 1) if (folded[at] === "<") from = at;
  return from;
}

/** Index where the closing brackets of a marker end, including attributes; `index` if nothing closes it. */
function closingAfter(folded: string, index: number): number {
  const [attributes] = /^[^<>\n]*/.exec(folded.slice(index, index + MAX_ATTRIBUTES)) ?? [""];
  let to = index + attributes.length;
  if (folded[to] !== ">") return index;
  while (folded[to] === ">") to += 1;
  return to;
}
