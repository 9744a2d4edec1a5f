/** The markers around text from outside, and taking forged ones out of it. Spec: http/webhooks.md §8. Pure. */
import { foldText } from "./fold-text.ts";

const NAME = "EXTERNAL_UNTRUSTED_CONTENT";

/** What stands before text from outside. */
export function startMarker(id: string): string {
  return `<<<${NAME} id="${id}">>>`;
}

/** What stands after it. */
export function endMarker(id: string): string {
  return `<<<END_${NAME} id="${id}">>>`;
}

const MARKER = new RegExp(`<<<(?:END_)?${NAME}\\b[^<>\\n]{0,80}>>>\\n?`, "g");

/** A text for people: without markers, which models repeat at times. */
export function withoutMarkers(text: string): string {
  return text.replace(MARKER, "");
}

const NO_START = "[removed: a start marker]";
const NO_END = "[removed: an end marker]";

/** Between two letters of a marker. Letters are not in it, so a search never tries a gap twice: linear. */
const GAP = "[^A-Z0-9<>]*";
const spaced = (name: string) => Array.from(name.replaceAll("_", "")).join(GAP);
/** The letters of a marker in folded text, whatever stands between them. */
const LETTERS = new RegExp(`(?<end>(?<![A-Z])${spaced("END")}${GAP})?${spaced(NAME)}`, "g");
/** The name as it stands in a marker. */
const WRITTEN = /(?<end>END_+)?EXTERNAL_+UNTRUSTED_+CONTENT$/;

/** Neither a letter nor a digit, nor what closes a bracket. */
const SIGN = /(?!>)[\s\p{P}\p{S}]/u;
/** Characters before the letters that are looked at for brackets. */
const MAX_OPENING = 64;
/** Characters between the letters and the closing brackets. */
const MAX_ATTRIBUTES = 256;

/** A part of a text that is replaced. */
interface Hit {
  readonly from: number;
  readonly to: number;
  readonly isEnd: boolean;
}

/**
 * Replaces everything a reader could take for a marker, with any id or none: also in other letters that look the same,
 * in other brackets, with invisible characters or gaps in between. Choice: the name as it stands in a marker is replaced
 * without brackets, too; its letters with gaps only behind a bracket.
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
    if (index < free) continue; // inside the last one's brackets
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

/** Where the brackets before `index` begin, gaps and signs between them included; `index` when there are none. */
function openingBefore(folded: string, index: number, free: number): number {
  let from = index;
  const last = Math.max(free, index - MAX_OPENING);
  for (let at = index - 1; at >= last && SIGN.test(folded.charAt(at)); at -= 1) if (folded[at] === "<") from = at;
  return from;
}

/** Where the brackets end that close a marker, attributes included; `index` when nothing closes it. */
function closingAfter(folded: string, index: number): number {
  const [attributes] = /^[^<>\n]*/.exec(folded.slice(index, index + MAX_ATTRIBUTES)) ?? [""];
  let to = index + attributes.length;
  if (folded[to] !== ">") return index;
  while (folded[to] === ">") to += 1;
  return to;
}
