/** Messages that mean "stop what you are doing" and are not for the agent. Pure. Spec: protocol/methods-chat.md §2. */

/**
 * Choice: the spec lists the English phrases and "equivalents in several languages"; these are words and set phrases of
 * eleven more languages.
 */
const PHRASES = {
  words: ["/stop", "stop", "esc", "abort", "wait", "exit", "interrupt", "halt", "please stop", "stop please"],
  runs: ["stop run", "stop current run", "stop agent", "stop the agent", "stop action", "stop current action"],
  doing: [
    "do not do that",
    "don't do that",
    "stop doing anything",
    "stop do not do anything",
    "stop don't do anything",
  ],
  product: ["svc stop", "stop svc"],
  ar: ["توقف", "قف"],
  de: ["stopp", "anhalten", "aufhören", "hör auf", "hoer auf", "abbrechen"],
  es: ["para", "detente", "detén", "deten"],
  fr: ["arrete", "arrête", "arrêtez"],
  hi: ["रुको", "रुकिए"],
  it: ["fermati", "ferma"],
  ja: ["やめて", "止めて", "ストップ"],
  ko: ["멈춰", "중지"],
  pt: ["pare", "parar"],
  ru: ["стоп", "остановись", "останови", "остановить", "прекрати"],
  zh: ["停止", "停下", "停"],
} as const;

const STOP_PHRASES: ReadonlySet<string> = new Set(Object.values(PHRASES).flat());

const TRAILING_PUNCTUATION = /[\s.!?…,;:'")\]}。！？，、；：’”»]+$/u;

/** Longer messages are no stop request: the patterns below would take a time that grows with the square of their length. */
const MAX_CHARS = 200;

/** Whether the whole message is a stop request, ignoring case, blanks and trailing punctuation. */
export function isStopRequest(message: string): boolean {
  const trimmed = message.trim();
  if (trimmed.length > MAX_CHARS) return false;
  const phrase = trimmed.replaceAll("’", "'").replace(TRAILING_PUNCTUATION, "").replace(/\s+/g, " ").toLowerCase();
  return STOP_PHRASES.has(phrase);
}
