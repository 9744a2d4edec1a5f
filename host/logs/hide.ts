/**
 * Keeps secrets out of what is written: values that are known to be secret, whatever stands under a key that names one, and
 * texts that look like one. An ordinary line costs a search; only one that may hold something is taken apart.
 */
import { isSecretName } from "../config/redact.ts";

export const HIDDEN = "[redacted]";

/** Choice: shorter ones are words people write; they are hidden by their key alone. */
const MIN_KNOWN_CHARS = 6;
/** Choice: texts that are known, each in up to four spellings; then the oldest is forgotten. */
const MAX_KNOWN = 8_000;
/** Choice: JavaScript characters of one line; of a longer one the fields but those that name it are left out. */
const MAX_LINE_CHARS = 262_144;
const MAX_MESSAGE_CHARS = 65_536;
const MAX_DEPTH = 64;
/** Choice: a pattern of the configuration that took longer on one text is not used again. */
const SLOW_PATTERN_MS = 20;

/** Besides the names that hide values of the configuration. */
const SECRET_KEY = /(tokens|passwd|passphrase|private.?key|signature|credentials?)$/i;
/** Numbers below it are counts, e.g. of tokens. */
const COUNTING_KEY = /tokens$/i;

/** A line without any of these has nothing to hide but what is known. */
const SUSPECT = new RegExp(
  [
    "token|secret|passw|passphrase|api.?key|private.?key|authorization|cookie|signature|credential|serviceaccount",
    'bearer|basic |-----begin|://[^\\s"/]*@|\\b[sprw]k[-_]|gh[opsur]_|github_pat|xox[a-z]-|aiza|akia|glpat-|hf_|whsec_|eyj',
    "[?&](?:key|sig|auth|code|pwd)=|\\d{8}:[\\w-]{30}",
  ].join("|"),
  "i",
);

/** Each with what stands in its place. */
const SHAPES: readonly (readonly [shape: RegExp, instead: string])[] = [
  [/-----BEGIN [A-Z0-9 ]{1,64}-----[\s\S]*?(?:-----END [A-Z0-9 ]{1,64}-----|$)/g, HIDDEN],
  [/\b(bearer)(\s+|%20)[\w.~+/=-]{8,}/gi, `$1$2${HIDDEN}`],
  [/\b(Basic)\s+(?=[\w+/-]*(?:\d|[a-z][A-Z]|=))[\w+/-]{6,}={0,2}/g, `$1 ${HIDDEN}`],
  [/([a-z][a-z0-9+.-]{0,31}:\/\/)[^\s/?#"'@]{1,512}@/gi, `$1${HIDDEN}@`],
  [
    /([?&#;][\w.-]{0,64}?(?:token|secret|passw(?:or)?d|pwd|key|signature|sig|auth|code|credential)[\w.-]{0,32}=)[^&\s"'#<>]+/gi,
    `$1${HIDDEN}`,
  ],
  [/\b(?:[sprw]k|sk-ant|sk-proj)[-_][\w-]{16,}/g, HIDDEN],
  [
    /\b(?:gh[opsur]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|hf_\w{20,}|whsec_[\w+/=-]{16,}|xox[a-z]-[\w-]{10,})/g,
    HIDDEN,
  ],
  [/\b(?:AIza[\w-]{30,}|(?:AKIA|ASIA)[A-Z0-9]{16}|eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?|\d{8,10}:[\w-]{30,})/g, HIDDEN],
  [
    /\b((?:proxy-)?authorization|(?:set-)?cookie|x-[\w-]{0,32}(?:key|token|secret))(\s*:\s*)(?!\[redacted\])[^\r\n"']+/gi,
    `$1$2${HIDDEN}`,
  ],
  // A name and its value in a sentence, as `token=x`, `"password": "x"`, `api-key:x`.
  [
    /\b([\w.-]{0,64}?(?:token|secret|passw(?:or)?d|passphrase|api[-_]?key|authorization|cookie)(?:\\*["'])?(?:=|:|: ?(?=\\*["']))\\*["']?)(?!\[redacted\])[^\s"'\\,;&}\])]{4,}/gi,
    `$1${HIDDEN}`,
  ],
];

export interface HideOptions {
  readonly shapes: boolean;
  /** Regular expressions; one that is none is left out. */
  readonly patterns: readonly string[];
}

/** Texts that are secrets, and what they are replaced by. */
export class SecretHider {
  /** Spellings in which known secrets stand in JSON, in the order they came. */
  readonly #known = new Set<string>();
  /** Longest first: one may be part of another. */
  #sorted: readonly string[] = [];
  #shapes = true;
  #patterns: RegExp[] = [];

  use({ shapes, patterns }: HideOptions): void {
    this.#shapes = shapes;
    this.#patterns = patterns.flatMap((pattern) => {
      try {
        return [new RegExp(pattern, "gi")];
      } catch {
        return []; // told where the configuration is checked
      }
    });
  }

  /** From now on these are secret; for good, since a former one may still be told. */
  know(values: Iterable<string>): void {
    const before = this.#known.size;
    for (const value of values) {
      const text = value.trim();
      if (text.length < MIN_KNOWN_CHARS) continue;
      for (const spelling of spellings(text)) this.#known.add(spelling);
    }
    if (this.#known.size === before) return;
    for (const oldest of this.#known) {
      if (this.#known.size <= MAX_KNOWN) break;
      this.#known.delete(oldest);
    }
    this.#sorted = [...this.#known].toSorted((a, b) => b.length - a.length);
  }

  /** A line of JSON, its end included, without secrets. */
  line(line: string): string {
    if (line.length <= MAX_LINE_CHARS && !this.#mayHold(line)) return line;
    try {
      const whole = JSON.parse(line) as Record<string, unknown>; // the log writes objects
      const safe = this.#hide(whole, 0) as Record<string, unknown>; // the same keys
      const text = JSON.stringify(safe);
      return `${text.length <= MAX_LINE_CHARS ? text : JSON.stringify(shortened(safe, text.length))}\n`;
    } catch {
      return `${JSON.stringify({ level: 50, time: Date.now(), msg: "a line of the log was not readable and is left out" })}\n`;
    }
  }

  /** Any text without secrets. */
  text(text: string): string {
    const known = this.#sorted.reduce(
      (rest, secret) => (rest.includes(secret) ? rest.replaceAll(secret, HIDDEN) : rest),
      text,
    );
    const shaped = this.#shapes && SUSPECT.test(known) ? hideShapes(known) : known;
    return this.#patterns.length > 0 ? this.#hidePatterns(shaped) : shaped;
  }

  #mayHold(line: string): boolean {
    return this.#patterns.length > 0 || SUSPECT.test(line) || this.#sorted.some((secret) => line.includes(secret));
  }

  #hide(value: unknown, depth: number): unknown {
    if (typeof value === "string") return this.text(value);
    if (typeof value === "number") return this.#known.has(String(value)) ? HIDDEN : value;
    if (typeof value !== "object" || value === null) return value;
    if (depth >= MAX_DEPTH) return "[too deep]";
    if (Array.isArray(value)) return value.map((item) => this.#hide(item, depth + 1));
    const entries = Object.entries(value).map(([key, item]) => [
      this.text(key),
      namesSecret(key) ? hideWhole(item, COUNTING_KEY.test(key)) : this.#hide(item, depth + 1),
    ]);
    return Object.fromEntries(entries);
  }

  #hidePatterns(text: string): string {
    return this.#patterns.reduce((rest, pattern) => {
      const began = performance.now();
      const safe = rest.replace(pattern, HIDDEN);
      if (performance.now() - began > SLOW_PATTERN_MS) this.#patterns = this.#patterns.filter((one) => one !== pattern);
      return safe;
    }, text);
  }
}

/** What looks like a secret is replaced, known or not. */
export function hideShapes(text: string): string {
  return SHAPES.reduce((rest, [shape, instead]) => rest.replace(shape, instead), text);
}

function namesSecret(key: string): boolean {
  return isSecretName(key) || SECRET_KEY.test(key);
}

/** Texts and numbers of any shape; that something is there, or is not, may be told. */
function hideWhole(value: unknown, isCount: boolean): unknown {
  if (typeof value === "string") return value === "" ? value : HIDDEN;
  if (typeof value === "number") return isCount ? value : HIDDEN;
  if (typeof value !== "object" || value === null) return value;
  if (!isCount || Array.isArray(value)) return HIDDEN;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, typeof item === "number" ? item : HIDDEN]),
  );
}

/** As it is, in JSON, in JSON in a text, and in a URL. */
function spellings(text: string): readonly string[] {
  const once = JSON.stringify(text).slice(1, -1);
  const twice = JSON.stringify(once).slice(1, -1);
  return [text, once, twice, inUrl(text)];
}

function inUrl(text: string): string {
  try {
    return encodeURIComponent(text);
  } catch {
    return text; // half a character stands in no URL
  }
}

/** Of a line that is too long: where it comes from, and the beginning of what it says. */
function shortened({ level, time, plugin, msg }: Record<string, unknown>, chars: number): object {
  return {
    level,
    time,
    plugin,
    msg: typeof msg === "string" ? msg.slice(0, MAX_MESSAGE_CHARS) : msg,
    leftOutOfChars: chars,
  };
}
