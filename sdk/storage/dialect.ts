/** SQL that SQLite and PostgreSQL write differently. Every other statement is one text for both. */

/** Text of a statement: one for both engines, or one for each. */
export type Sql = string | { readonly sqlite: string; readonly postgres: string };

/**
 * The differences. Arguments and results are SQL. A JSON value is a column of type TEXT; functions other than `isJson` need
 * valid JSON: `CASE WHEN ${isJson(x)} THEN ${jsonText(x, "a")} END`.
 */
export interface Dialect {
  readonly name: "sqlite" | "postgres";
  /** The greater of two values that are not NULL. */
  greatest(one: string, other: string): string;
  /** Condition: the text is JSON. */
  isJson(text: string): string;
  /** The value at a path, as text; NULL if absent. SQLite gives a number as a number: cast it. */
  jsonText(json: string, ...path: readonly string[]): string;
  /** The value at a path as JSON; NULL if absent. */
  jsonPart(json: string, ...path: readonly string[]): string;
  /** The value changed by a patch. RFC 7396; the order of keys may change. */
  jsonMerge(json: string, patch: string): string;
  /** An object without some keys. */
  jsonWithout(json: string, ...keys: readonly string[]): string;
  /** An object with one key set to a number. */
  jsonWithNumber(json: string, key: string, number: string): string;
  /** Length of an array. */
  jsonLength(json: string): string;
  /**
   * Entry of FROM: one row for each element of the array at a path, or one row for another value. Columns: `value`, as text; `type`,
   * `object` for an object.
   */
  jsonEach(json: string, alias: string, ...path: readonly string[]): string;
  /** JSON object with these values. */
  jsonObject(values: Readonly<Record<string, string>>): string;
  /** Aggregate: JSON array of the values, of those that meet the condition. */
  jsonArray(value: string, condition?: string): string;
  /** Joins the next table. SQLite reads the tables in the order in which they are written. */
  readonly thenJoin: string;
  /** UTC date of epoch milliseconds, `2026-01-31`. */
  day(ms: string): string;
}

const pathOf = (path: readonly string[]) => `'$${path.map((key) => `.${key}`).join("")}'`;

const SQLITE: Dialect = {
  name: "sqlite",
  greatest: (one, other) => `max(${one}, ${other})`,
  isJson: (text) => `json_valid(${text})`,
  jsonText: (json, ...path) => `${json} ->> ${pathOf(path)}`,
  jsonPart: (json, ...path) => `${json} -> ${pathOf(path)}`,
  jsonMerge: (json, patch) => `json_patch(${json}, ${patch})`,
  jsonWithout: (json, ...keys) => `json_remove(${json}, ${keys.map((key) => pathOf([key])).join(", ")})`,
  jsonWithNumber: (json, key, number) => `json_set(${json}, ${pathOf([key])}, ${number})`,
  jsonLength: (json) => `json_array_length(${json})`,
  jsonEach: (json, alias, ...path) => `json_each(${json}${path.length === 0 ? "" : `, ${pathOf(path)}`}) ${alias}`,
  jsonObject: (values) => `json_object(${pairsOf(values)})`,
  jsonArray: (value, condition) => `json_group_array(${value})${filterOf(condition)}`,
  thenJoin: "cross join",
  day: (ms) => `date((${ms}) / 1000, 'unixepoch')`,
};

const keysOf = (keys: readonly string[]) => `cast(array[${keys.map((key) => `'${key}'`).join(", ")}] as text[])`;

/** The functions `svc_*` are installed by the plugin storage-postgres. */
const POSTGRES: Dialect = {
  name: "postgres",
  greatest: (one, other) => `greatest(${one}, ${other})`,
  isJson: (text) => `svc_is_json(${text})`,
  jsonText: (json, ...path) => `svc_json_text(${json}, ${keysOf(path)})`,
  jsonPart: (json, ...path) => `svc_json_part(${json}, ${keysOf(path)})`,
  jsonMerge: (json, patch) => `svc_json_merge(${json}, ${patch})`,
  jsonWithout: (json, ...keys) => `svc_json_without(${json}, ${keysOf(keys)})`,
  jsonWithNumber: (json, key, number) => `svc_json_with(${json}, '${key}', ${number})`,
  jsonLength: (json) => `json_array_length(cast(${json} as json))`,
  jsonEach: (json, alias, ...path) => `svc_json_each(${json}, ${keysOf(path)}) ${alias}`,
  jsonObject: (values) => `json_build_object(${pairsOf(values)})`,
  jsonArray: (value, condition) => `cast(coalesce(json_agg(${value})${filterOf(condition)}, '[]') as text)`,
  thenJoin: "join",
  day: (ms) => `to_char(to_timestamp((${ms}) / 1000.0) at time zone 'UTC', 'YYYY-MM-DD')`,
};

function pairsOf(values: Readonly<Record<string, string>>): string {
  return Object.entries(values)
    .map(([key, value]) => `'${key}', ${value}`)
    .join(", ");
}

function filterOf(condition: string | undefined): string {
  return condition === undefined ? "" : ` filter (where ${condition})`;
}

/** The statement for each engine. @param write called once for each */
export function sqlFor(write: (dialect: Dialect) => string): Exclude<Sql, string> {
  return { sqlite: write(SQLITE), postgres: write(POSTGRES) };
}
