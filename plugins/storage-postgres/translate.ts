/** Converts the shared SQL to that of PostgreSQL. Pure. */
import { isRefused, shapeOf, tokensOf } from "@svc/kit/sql";

export interface Translated {
  readonly text: string;
  readonly placeholders: number;
  /** First word, lower case. */
  readonly verb: string;
  /** Name of the prepared statement. */
  readonly name: string | undefined;
  /** Has a RETURNING of its own. */
  readonly returnsRows: boolean;
}

/** Choice: statements with a name. Further ones are parsed at each use, because a connection keeps every named one. */
const MOST_NAMED = 1_000;

/** @throws Error for text that is not one allowed statement, or a wrong number of parameters */
export class Translator {
  readonly #known = new Map<string, Translated>();

  /** @param params number of parameters */
  get(sql: string, params: number): Translated {
    const translated = this.#known.get(sql) ?? this.#translate(sql);
    if (translated.placeholders === params) return translated;
    throw new Error(`the statement has ${translated.placeholders} placeholders, but ${params} parameters were given`);
  }

  #translate(sql: string): Translated {
    const named = this.#known.size < MOST_NAMED ? `svc_${this.#known.size}` : undefined;
    const translated = { ...shapeOf(sql), ...numbered(sql), name: named };
    if (named !== undefined) this.#known.set(sql, translated);
    return translated;
  }
}

function numbered(sql: string): Pick<Translated, "text" | "returnsRows"> {
  let last = 0;
  let depth = 0;
  let returnsRows = false;
  let text = "";
  for (const token of tokensOf(sql)) {
    if (token === "(") depth += 1;
    if (token === ")") depth -= 1;
    if (depth === 0 && token.toLowerCase() === "returning") returnsRows = true;
    if (token === "?") text += `$${(last += 1)}`;
    else if (token !== ";") text += /^(?:--|\/\*)/.test(token) ? " " : token; // `withExpectation` adds to the last line
  }
  return { text, returnsRows };
}

/**
 * The statement raises `SV001` when it changes another number of rows. Choice: the check is part of the statement, so that a transaction
 * is sent at once, without waiting for its results.
 */
export function withExpectation(text: string, expected: number, returnsRows: boolean): string {
  const counted = `svc_expect((SELECT count(*) FROM svc_changed), ${expected})`;
  return returnsRows
    ? `WITH svc_changed AS (${text}) SELECT * FROM svc_changed WHERE (SELECT ${counted})`
    : `WITH svc_changed AS (${text} RETURNING 1) SELECT ${counted}`;
}

const TYPES: Readonly<Record<string, string>> = {
  text: 'text COLLATE "C"', // SQLite compares bytes
  integer: "bigint",
  blob: "bytea",
  real: "double precision",
};
/** First words of entries of a table definition other than columns. */
const NOT_COLUMNS = new Set(["primary", "unique", "check", "foreign", "constraint"]);

/**
 * A migration step of one or more statements: column types, and without the table options of SQLite.
 * @throws Error for a statement that controls the transaction
 */
export function translateStep(step: string): string {
  let depth = 0;
  /** Words of the entry so far; `undefined` outside of the entries of a table definition and of ADD COLUMN. */
  let entry: string[] | undefined;
  let words: string[] = [];
  const out: string[] = [];
  for (const token of tokensOf(step)) {
    out.push(token);
    const word = token.toLowerCase();
    if (/^(?:\s|--|\/\*)/.test(token)) continue;
    if (token === ";") [depth, entry, words] = [0, undefined, []];
    else if (token === "(") {
      depth += 1;
      if (depth === 1 && words[0] === "create" && words[1] === "table") entry = [];
    } else if (token === ")") {
      depth -= 1;
      if (depth === 0) entry = undefined;
    } else if (token === "," && depth === 1 && entry) entry = [];
    else if (/^[\w"]/.test(token)) {
      const type = entry?.length === 1 && !NOT_COLUMNS.has(String(entry[0])) ? TYPES[word] : undefined;
      if (type !== undefined) out[out.length - 1] = type;
      entry?.push(word);
      words.push(word);
      if (words.length === 1 && isRefused(word))
        throw new Error(`${word.toUpperCase()} is not allowed in a migration step`);
      if (depth === 0 && words[1] === "table" && (word === "strict" || word === "without" || word === "rowid"))
        out.pop();
      if (word === "column" && words[0] === "alter") entry = [];
    }
  }
  return out.join("").replace(/,(?=\s*(?:;|$))/g, "");
}
