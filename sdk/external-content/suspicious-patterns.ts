/**
 * Phrases that try to steer a model, for a log line only; nothing is rejected because of them. Spec: http/webhooks.md
 * §8. Pure.
 */
import { foldText } from "./fold-text.ts";

/** Number of characters that are scanned. Choice: it is a hint in a log, not a safeguard. */
const MAX_SCANNED = 262_144;

const PRIOR =
  "(ALL |ANY |THE |YOUR |OF |MY |THESE |THOSE ){0,4}(PRIOR|PREVIOUS|EARLIER|ABOVE|PRECEDING|FOREGOING|FORMER)";
const ORDERS = "(INSTRUCTION|PROMPT|RULE|DIRECTION|DIRECTIVE|GUIDELINE|ORDER|CONTEXT|MESSAGE)";

/** Each pattern expects folded text: upper case, one kind of blank. Gaps are bounded, so all patterns are linear. */
const PATTERNS: readonly [name: string, pattern: RegExp][] = [
  ["ignore prior instructions", new RegExp(`\\bIGNORE\\s{1,4}${PRIOR}\\s{1,4}${ORDERS}`)],
  ["disregard prior instructions", new RegExp(`\\bDISREGARD\\s{1,4}(${PRIOR}|${ORDERS}|EVERYTHING|ALL)`)],
  [
    "forget prior instructions",
    /\bFORGET\s{1,4}(EVERYTHING|ALL|YOUR|THE|PRIOR|PREVIOUS)\b.{0,40}\b(ABOVE|INSTRUCTION|RULE|PROMPT|TOLD|GUIDELINE)/,
  ],
  [
    "role reassignment",
    /\b(YOU ARE NOW|FROM NOW ON,? YOU|ACT AS|PRETEND (TO BE|YOU ARE))\s{1,4}(AN?|THE|IN|WILL|ARE|MY|NO)\b/,
  ],
  ["new instructions", /\b(NEW|UPDATED|REVISED|REAL) (INSTRUCTIONS?|ORDERS|TASK)\s{0,4}(:|ARE\b|FOLLOW)/],
  ["system prompt or override", /\bSYSTEM\s{0,4}:?\s{0,4}(PROMPT|OVERRIDE|COMMAND|INSTRUCTION)/],
  ["exec with command", /\bEXEC\b.{0,60}\bCOMMAND\s{0,4}[=:]/],
  ["elevated flag", /\bELEVATED\s{0,4}[=:]\s{0,4}["']?TRUE\b/],
  [
    "recursive delete",
    /\b(RM\s{1,4}-(RF|FR|R\s{1,4}-F|F\s{1,4}-R)\b|RM\s{1,4}--RECURSIVE|RD\s{1,4}\/S|DEL\s{1,4}\/[SF])/,
  ],
  [
    "bulk deletion",
    /\b(DELETE|ERASE|REMOVE|WIPE|DESTROY) (ALL|EVERY|THE ENTIRE)\b.{0,20}\b(E-?MAILS?|MESSAGES?|FILES?|DATA|DATABASES?|RECORDS?|BACKUPS?|CONTACTS?)\b/,
  ],
  ["fake system tag", /<\s{0,4}\/?\s{0,4}(SYSTEM|INSTRUCTIONS?|SYS)\b[^<>\n]{0,40}>/],
  [
    "fake role tag",
    /<\s{0,4}\/?\s{0,4}\|?\s{0,4}(IM_START|IM_END|ASSISTANT|USER|HUMAN|DEVELOPER|TOOL)\s{0,4}\|?\s{0,4}>/,
  ],
  [
    "fake turn in brackets",
    /\[\s{0,4}\/?\s{0,4}(SYSTEM|SYSTEM MESSAGE|ASSISTANT|USER|HUMAN|DEVELOPER|INTERNAL|INST)\s{0,4}\]/,
  ],
  ["fake turn at the start of a line", /(^|\n)[ #*>]{0,8}(SYSTEM|ASSISTANT|HUMAN|DEVELOPER)[*]{0,2}\s{0,4}:/],
];

/**
 * Names of the patterns found in the first 256 Ki characters, each once, in a fixed order; empty: none. Only for
 * logging.
 */
export function suspiciousPatterns(text: string): readonly string[] {
  const folded = foldText(text.slice(0, MAX_SCANNED)).text;
  return PATTERNS.filter(([, pattern]) => pattern.test(folded)).map(([name]) => name);
}
