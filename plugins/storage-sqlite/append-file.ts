/**
 * Files of appended transactions. One line per write to the disk: its CRC-32, a space, and a JSON list. A text in the list is SQL; it is the next of
 * the file, counted from 0. A list in the list is one transaction: `[number of the SQL, values][]`.
 */
import type { OwnStatement } from "@svc/kit/sql";
import type { SqlValue } from "@svc/sdk/storage";
import { existsSync, readdirSync } from "node:fs";
import { basename, dirname } from "node:path";
import { crc32 } from "node:zlib";

/** A transaction before its SQL has numbers. */
export interface Entry {
  readonly sql: readonly string[];
  /** JSON of the values, by statement. */
  readonly values: readonly string[];
}

const SUM_LENGTH = 8;

export function appendFile(database: string, number: number): string {
  return `${database}.appended-${number}`;
}

/** Locked by the process that appends. */
export function lockFile(database: string): string {
  return `${database}.appending`;
}

/** Numbers of the files of a database, in the order in which they were written. */
export function appendFiles(database: string): number[] {
  const [place, prefix] = [dirname(database), `${basename(database)}.appended-`];
  if (!existsSync(place)) return [];
  const named = readdirSync(place).filter(
    (name) => name.startsWith(prefix) && /^[1-9]\d*$/.test(name.slice(prefix.length)),
  );
  return named.map((name) => Number(name.slice(prefix.length))).sort((one, other) => one - other);
}

export function toEntry(statements: readonly OwnStatement[]): Entry {
  return {
    sql: statements.map(({ sql }) => sql),
    values: statements.map(({ params = [] }) => JSON.stringify(params.map(encoded))),
  };
}

/** @param numbers SQL of the file so far; new SQL is added */
export function toLine(entries: readonly Entry[], numbers: Map<string, number>): string {
  const items: string[] = [];
  const numberOf = (sql: string): number => {
    const known = numbers.get(sql);
    if (known !== undefined) return known;
    items.push(JSON.stringify(sql));
    numbers.set(sql, numbers.size);
    return numbers.size - 1;
  };
  for (const { sql, values } of entries) {
    const statements = sql.map((text, index) => `[${numberOf(text)},${values[index] ?? "[]"}]`);
    items.push(`[${statements.join(",")}]`);
  }
  const json = `[${items.join(",")}]`;
  return `${sumOf(json)} ${json}\n`;
}

/**
 * The transactions of a line. @param texts SQL of the file so far; the line's SQL is added
 * @returns undefined for a line that was not written completely
 */
export function fromLine(line: string, texts: string[]): OwnStatement[][] | undefined {
  const json = line.slice(SUM_LENGTH + 1);
  if (line.slice(0, SUM_LENGTH) !== sumOf(json)) return undefined;
  const items = JSON.parse(json) as (string | [number, unknown[]][])[]; // written by `toLine`, as the sum shows
  return items.flatMap((item) => {
    if (typeof item !== "string")
      return [item.map(([number, values]) => ({ sql: texts[number] ?? "", params: values.map(decoded) }))];
    texts.push(item);
    return [];
  });
}

function sumOf(json: string): string {
  return crc32(json).toString(16).padStart(SUM_LENGTH, "0");
}

/** JSON has no form for these. */
function encoded(value: SqlValue): unknown {
  if (typeof value === "bigint") return { int: String(value) };
  if (value instanceof Uint8Array) return { bytes: Buffer.from(value).toString("base64") };
  if (typeof value === "number" && (!Number.isFinite(value) || Object.is(value, -0)))
    return { real: Object.is(value, -0) ? "-0" : String(value) };
  return value;
}

function decoded(value: unknown): SqlValue {
  if (typeof value !== "object" || value === null) return value as SqlValue; // written by `encoded`
  const { int, bytes, real } = value as Partial<Record<"int" | "bytes" | "real", string>>;
  if (int !== undefined) return BigInt(int);
  if (bytes !== undefined) return new Uint8Array(Buffer.from(bytes, "base64"));
  return Number(real);
}
