/**
 * Hides secrets in log lines: known secret values, values under a key that names a secret, and text that looks like a secret. A line is
 * searched first, and parsed only if it may contain a secret.
 */
import { isSecretName } from "../config/redact.ts";
import { HIDDEN, hideShapes, mayLookSecret } from "../config/secret-shapes.ts";

/** Minimum length of a known secret. Choice: shorter ones may be ordinary words; only their keys hide them. */
const MIN_KNOWN_CHARS = 6;
/** Maximum number of known texts; each secret has up to four spellings. Choice: beyond it, the oldest is dropped. */
const MAX_KNOWN = 8_000;
/** Maximum length of a line, in JavaScript characters. Choice: a longer one keeps only level, time, plugin and the start of its message. */
const MAX_LINE_CHARS = 262_144;
const MAX_MESSAGE_CHARS = 65_536;
const MAX_DEPTH = 64;
/** Time limit for a configured pattern on one text. ms. Choice: a pattern that exceeds it is not used again. */
const SLOW_PATTERN_MS = 20;

/** Key names that hide their values, in addition to those of the configuration. */
const SECRET_KEY = /(tokens|passwd|passphrase|private.?key|signature|credentials?)$/i;
/** Keys whose numbers are counts, e.g. of tokens, and are not hidden. */
const COUNTING_KEY = /tokens$/i;

export interface HideOptions {
  readonly shapes: boolean;
  /** Regular expressions; invalid ones are ignored. */
  readonly patterns: readonly string[];
}

/** Replaces secrets in lines and texts. */
export class SecretHider {
  /** All spellings of known secrets, oldest first. */
  readonly #known = new Set<string>();
  /** The known texts, longest first, as one may be part of another. */
  #sorted: readonly string[] = [];
  #shapes = true;
  #patterns: RegExp[] = [];

  use({ shapes, patterns }: HideOptions): void {
    this.#shapes = shapes;
    this.#patterns = patterns.flatMap((pattern) => {
      try {
        return [new RegExp(pattern, "gi")];
      } catch {
        return []; // reported by the configuration check
      }
    });
  }

  /** Adds secrets. They are never removed, since a former secret may still be logged. */
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

  /** Hides secrets in a line of JSON, which ends with a newline. */
  line(line: string): string {
    if (line.length <= MAX_LINE_CHARS && !this.#mayHold(line)) return line;
    try {
      const whole = JSON.parse(line) as Record<string, unknown>; // every log line is an object
      const safe = this.#hide(whole, 0) as Record<string, unknown>; // the same keys
      const text = JSON.stringify(safe);
      return `${text.length <= MAX_LINE_CHARS ? text : JSON.stringify(shortened(safe, text.length))}\n`;
    } catch {
      return `${JSON.stringify({ level: 50, time: Date.now(), msg: "a log line could not be parsed and was dropped" })}\n`;
    }
  }

  /** Hides secrets in any text. */
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

/** Hides strings, numbers and objects; whether a value is set may be shown. */
function hideWhole(value: unknown, isCount: boolean): unknown {
  if (typeof value === "string") return value === "" ? value : HIDDEN;
  if (typeof value === "number") return isCount ? value : HIDDEN;
  if (typeof value !== "object" || value === null) return value;
  if (!isCount || Array.isArray(value)) return HIDDEN;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, typeof item === "number" ? item : HIDDEN]),
  );
}

/** A secret as plain text, in JSON, in JSON within a JSON string, and in a URL. */
function spellings(text: string): readonly string[] {
  const once = JSON.stringify(text).slice(1, -1);
  const twice = JSON.stringify(once).slice(1, -1);
  return [text, once, twice, inUrl(text)];
}

function inUrl(text: string): string {
  try {
    return encodeURIComponent(text);
  } catch {
    return text; // a lone surrogate cannot be part of a URL
  }
}

/** What is kept of a line that is too long. */
function shortened({ level, time, plugin, msg }: Record<string, unknown>, chars: number): object {
  return {
    level,
    time,
    plugin,
    msg: typeof msg === "string" ? msg.slice(0, MAX_MESSAGE_CHARS) : msg,
    leftOutOfChars: chars,
  };
}
