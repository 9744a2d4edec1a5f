/**
 * Keeps secrets out of what is written: values that are known to be secret, whatever stands under a key that names one, and
 * texts that look like one. An ordinary line costs a search; only one that may hold something is taken apart.
 */
import { isSecretName } from "../config/redact.ts";
import { HIDDEN, hideShapes, mayLookSecret } from "../config/secret-shapes.ts";

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
      return `${JSON.stringify({ level: 50, time: Date.now(), msg: "a log line could not be parsed and was dropped" })}\n`;
    }
  }

  /** Any text without secrets. */
  text(text: string): string {
    const known = this.#sorted.reduce(
      (rest, secret) => (rest.includes(secret) ? rest.replaceAll(secret, HIDDEN) : rest),
      text,
    );
    const shaped = this.#shapes ? hideShapes(known) : known;
    return this.#patterns.length > 0 ? this.#hidePatterns(shaped) : shaped;
  }

  #mayHold(line: string): boolean {
    return this.#patterns.length > 0 || mayLookSecret(line) || this.#sorted.some((secret) => line.includes(secret));
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
