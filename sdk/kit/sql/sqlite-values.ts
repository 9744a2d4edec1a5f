/** Converts values for SQLite and from it. Pure. */
import type { Row, SqlValue } from "@svc/sdk/storage";

/** Converts integers above 32 bits to bigint: the driver binds them as REAL, which a TEXT column stores as `1700000000000.0`. */
export function toBinding(value: SqlValue): SqlValue {
  if (typeof value === "number" && Number.isSafeInteger(value) && value !== (value | 0)) return BigInt(value);
  return value;
}

/** Converts bigints of a row to number where exact. Changes the row. */
export function narrowIntegers(row: Record<string, SqlValue>): Row {
  for (const [name, value] of Object.entries(row)) {
    if (typeof value === "bigint" && Number.isSafeInteger(Number(value))) row[name] = Number(value);
  }
  return row;
}
