/** Canonical JSON, from which the digests of questions are computed. Pure. */
import { createHash } from "node:crypto";
import { invalidRequest } from "@svc/sdk";

/** Choice: maximum nesting and characters of a question's subject. */
const MAX_DEPTH = 64;
const MAX_CHARS = 1024 * 1024;

/**
 * The value as JSON with sorted keys; different JSON values always have different texts.
 * @throws GatewayError `INVALID_REQUEST` naming the place of a value that JSON cannot represent (`undefined`, NaN, dates, cycles)
 */
export function canonicalJson(value: unknown): string {
  const text = write(value, "subject", 0);
  if (text.length > MAX_CHARS) invalidRequest(`subject is larger than ${MAX_CHARS} characters; shorten it`);
  return text;
}

function write(value: unknown, place: string, depth: number): string {
  if (depth > MAX_DEPTH) return refuse(place, "is nested too deeply, or contains itself");
  if (value === null || typeof value === "string" || typeof value === "boolean") return JSON.stringify(value);
  if (typeof value === "number") {
    if (!Number.isFinite(value)) return refuse(place, "is NaN or infinite, which JSON cannot represent");
    return Object.is(value, -0) ? "-0" : JSON.stringify(value);
  }
  if (typeof value !== "object") return refuse(place, `is of type ${typeof value}, which JSON cannot represent`);
  if (Object.getOwnPropertySymbols(value).length > 0) return refuse(place, "has symbol keys");
  if (Array.isArray(value)) return writeList(value, place, depth);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return refuse(place, "is not a plain object");
  const entries = Object.entries(Object.getOwnPropertyDescriptors(value)).sort(([left], [right]) =>
    left < right ? -1 : 1,
  );
  const texts = entries.map(([key, { enumerable, ...property }]) => {
    if (!enumerable || !("value" in property)) return refuse(`${place}.${key}`, "is not a plain property");
    return `${JSON.stringify(key)}:${write(property.value, `${place}.${key}`, depth + 1)}`;
  });
  return `{${texts.join(",")}}`;
}

function writeList(list: readonly unknown[], place: string, depth: number): string {
  // Holes and additional properties would be lost.
  if (Object.keys(list).length !== list.length) return refuse(place, "is not a plain array");
  return `[${list.map((item, index) => write(item, `${place}[${index}]`, depth + 1)).join(",")}]`;
}

function refuse(place: string, why: string): never {
  invalidRequest(`${place.slice(0, 200)} ${why}; the subject of a question must be JSON`);
}

/** Key of a grant for a question, or for its session: hex SHA-256 of kind and subject. @throws GatewayError as `canonicalJson` */
export function questionDigest(kind: string, subject: unknown, what: "question" | "session" = "question"): string {
  return digestOf([what, kind, canonicalJson(subject)]);
}

/** @param parts JSON values; different lists always have different texts */
export function digestOf(parts: readonly unknown[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}
