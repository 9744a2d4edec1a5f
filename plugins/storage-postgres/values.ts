/** Converts values for PostgreSQL and from it, so that both engines return the same. Pure. */
import type { SqlValue } from "@svc/sdk/storage";

/** OIDs of result types. https://www.postgresql.org/docs/current/catalog-pg-type.html */
const BOOL = 16;
const BYTEA = 17;
const INT8 = 20;
const INT2 = 21;
const INT4 = 23;
const FLOAT4 = 700;
const FLOAT8 = 701;
const NUMERIC = 1700;

/** The parser of a result type, for `types` of a client. */
export function getTypeParser(oid: number): (text: string) => SqlValue {
  switch (oid) {
    case BOOL:
      return (text) => (text === "t" ? 1 : 0);
    case BYTEA:
      return (text) => new Uint8Array(Buffer.from(text.slice(2), "hex"));
    case INT8:
    case NUMERIC:
      return toNumber;
    case INT2:
    case INT4:
    case FLOAT4:
    case FLOAT8:
      return Number;
    default:
      return String;
  }
}

/** Integers above 2^53 are bigint. */
function toNumber(text: string): number | bigint {
  const value = Number(text);
  return Number.isSafeInteger(value) || !/^-?\d+$/.test(text) ? value : BigInt(text);
}

/** As the client sends it: PostgreSQL derives the type from the place of the parameter. */
export function toParameter(value: SqlValue): string | Buffer | null {
  if (value === null) return null;
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return String(value);
}
