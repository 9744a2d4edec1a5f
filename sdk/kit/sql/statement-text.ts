/** Parses the text of one SQL statement as far as this plugin needs. Pure. */

/** Properties of a statement. */
export interface StatementShape {
  /** First word, lower case. */
  readonly verb: string;
  /** Number of `?`. */
  readonly placeholders: number;
}

/**
 * Strings and quoted names (a doubled quote parses as two adjacent strings), comments, parameters, words, anything
 * else.
 */
const TOKEN =
  /[\s\ufeff]+|--[^\n]*|\/\*[^]*?(?:\*\/|$)|'[^']*'|"[^"]*"|`[^`]*`|\[[^\]]*\]|\?\d*|[:@$#]\w+|[\p{ID_Start}_][\p{ID_Continue}$]*|[^]/gu;
const IGNORED = /^(?:[\s\ufeff]|--|\/\*)/;

/** The words, strings, comments and signs of the text, in order; joined, they are the text. */
export function tokensOf(sql: string): readonly string[] {
  return sql.match(TOKEN) ?? [];
}

/** Statements that would end the shared transaction or change the shared connection. */
const REFUSED = new Set(
  "begin commit end rollback savepoint release pragma attach detach vacuum".split(" "), // EXPLAIN of them runs nothing
);

/** Whether a statement with this first word would end the shared transaction or change the shared connection. */
export function isRefused(verb: string): boolean {
  return REFUSED.has(verb.toLowerCase());
}

/**
 * @throws Error if there is no statement or more than one, if a parameter is not a plain `?` (SQLite would
 * silently use NULL), or if the statement controls the transaction or the connection.
 * Choice: a trigger, whose body contains semicolons, can therefore only be created in a migration.
 */
export function shapeOf(sql: string): StatementShape {
  let verb = "";
  let placeholders = 0;
  let ended = false;
  for (const token of tokensOf(sql)) {
    if (IGNORED.test(token)) continue;
    if (token === "\0") throw new Error("the SQL text contains the character U+0000");
    if (ended && token !== ";") throw new Error("only one SQL statement is allowed here; use several entries");
    if (token === ";") ended = true;
    if (token === "?") placeholders += 1;
    else if (/^(?:\?|[:@$#]\w)/.test(token)) throw new Error(`the placeholder ${token} is not allowed; use ?`);
    if (verb === "") verb = token.toLowerCase();
  }
  if (verb === "" || verb === ";") throw new Error("there is no SQL statement");
  if (isRefused(verb))
    throw new Error(
      `the SQL statement ${verb.toUpperCase()} is not allowed: storage controls transactions and connection; remove it`,
    );
  return { verb, placeholders };
}
