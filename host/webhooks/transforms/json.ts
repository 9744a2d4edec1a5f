/** What a transform returned, as plain JSON. Pure. */
import { Complaint, cutText } from "./problem.ts";

const MAX_DEPTH = 100;

/**
 * A copy that shares nothing. Keys whose value is `undefined` are left out, as JSON does; so is `__proto__`, which a sender may have put there.
 * @throws Complaint naming the place of what is no JSON
 */
export function jsonCopy(value: unknown, place: string = "the result", depth: number = 0): unknown {
  if (depth > MAX_DEPTH)
    throw new Complaint(`${cutText(place, 100)} is nested more than ${MAX_DEPTH} deep, or in itself`);
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number") {
    if (Number.isFinite(value)) return value;
    throw new Complaint(`${place} is ${value}, which JSON does not have`);
  }
  if (Array.isArray(value)) return Array.from(value, (item, index) => jsonCopy(item, `${place}[${index}]`, depth + 1));
  if (typeof value !== "object")
    throw new Complaint(`${place} is ${value === undefined ? "" : "a "}${typeof value}; return JSON only`);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && prototype !== Object.prototype)
    throw new Complaint(`${place} is a ${className(prototype)}; return JSON only`);
  const entries = Object.entries(value).filter(([key, item]) => item !== undefined && key !== "__proto__");
  return Object.fromEntries(entries.map(([key, item]) => [key, jsonCopy(item, `${place}.${key}`, depth + 1)]));
}

function className(prototype: unknown): string {
  const maker: unknown = (prototype as { constructor?: unknown }).constructor;
  return typeof maker === "function" && maker.name ? maker.name : "object of a class";
}

/** First place where two JSON values differ, `""` for the whole; `undefined`: nowhere. */
export function differenceAt(left: unknown, right: unknown, place: string = ""): string | undefined {
  if (left === right) return undefined;
  if (typeof left !== "object" || typeof right !== "object" || left === null || right === null) return place;
  if (Array.isArray(left) !== Array.isArray(right)) return place;
  const [one, other] = [left as Record<string, unknown>, right as Record<string, unknown>]; // arrays by index
  for (const key of new Set([...Object.keys(one), ...Object.keys(other)])) {
    const at = `${place}/${key}`;
    if (!Object.hasOwn(one, key) || !Object.hasOwn(other, key)) return at;
    const found = differenceAt(one[key], other[key], at);
    if (found !== undefined) return found;
  }
  return undefined;
}
