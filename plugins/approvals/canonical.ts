/** One text per JSON value: what a digest of any question is made of. Pure. */
import { createHash } from "node:crypto";
import { invalidRequest } from "@svc/sdk";

/** Choice: levels, and characters, of what a question is about. */
const MAX_DEPTH = 64;
const MAX_CHARS = 1024 * 1024;

/**
 * The value as JSON with sorted keys: two values have the same text only when they are the same JSON.
 * @throws GatewayError `INVALID_REQUEST` naming the place of what JSON cannot hold (`undefined`, NaN, dates, cycles)
 */
export function canonicalJson(value: unknown): string {
  const text = write(value, "subject", 0);
  if (text.length > MAX_CHARS) invalidRequest(`subject is larger than ${MAX_CHARS} characters; ask about less of it`);
  return text;
}

function write(value: unknown, place: string, depth: number): string {
  if (depth > MAX_DEPTH) return refuse(place, "is nested too deeply, or holds itself");
  if (value === null || typeof value === "string" || typeof value === "boolean") return JSON.stringify(value);
  if (typeof value === "number") {
    if (!Number.isFinite(value)) return refuse(place, "is no number that JSON has");
    return Object.is(value, -0) ? "-0" : JSON.stringify(value);
  }
  if (typeof value !== "object") return refuse(place, `is ${typeof value}, which JSON has not`);
  if (Object.getOwnPropertySymbols(value).length > 0) return refuse(place, "has symbols for keys");
  if (Array.isArray(value)) return writeList(value, place, depth);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return refuse(place, "is no plain object");
  const entries = Object.entries(Object.getOwnPropertyDescriptors(value)).sort(([left], [right]) =>
    left < right ? -1 : 1,
  );
  const texts = entries.map(([key, { enumerable, ...property }]) => {
    if (!enumerable || !("value" in property)) return refuse(`${place}.${key}`, "is no plain property");
    return `${JSON.stringify(key)}:${write(property.value, `${place}.${key}`, depth + 1)}`;
  });
  return `{${texts.join(",")}}`;
}

function writeList(list: readonly unknown[], place: string, depth: number): string {
  // Holes, and properties beside the items, would be lost.
  if (Object.keys(list).length !== list.length) return refuse(place, "is no plain list");
  return `[${list.map((item, index) => write(item, `${place}[${index}]`, depth + 1)).join(",")}]`;
}

function refuse(place: string, why: string): never {
  invalidRequest(`${place.slice(0, 200)} ${why}; what people are asked has to be JSON`);
}

/** What an answer to a question, or for its session, is kept under: hex SHA-256 of its kind and subject. @throws GatewayError as `canonicalJson` */
export function questionDigest(kind: string, subject: unknown, what: "question" | "session" = "question"): string {
  return digestOf([what, kind, canonicalJson(subject)]);
}

/** @param parts JSON; no two lists of different parts have the same text */
export function digestOf(parts: readonly unknown[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}
