/** Finds the keys of existing configurations that this gateway does not read; `foreign-keys.ts` lists them. Pure. */
import type { Issue } from "./environment.ts";
import { UNPROTECTED, WITHOUT_EFFECT } from "./foreign-keys.ts";
import { isObject, type PlainObject } from "./plain-data.ts";

/** Tree of listed keys; `text` is set where a listed key ends. */
interface Node {
  text?: string;
  readonly below: Map<string, Node>;
}

function listOf(entries: Iterable<readonly [pattern: string, text: string]>): Node {
  const root: Node = { below: new Map() };
  for (const [pattern, text] of entries) {
    let node = root;
    for (const part of partsOf(pattern)) {
      const next = node.below.get(part) ?? { below: new Map<string, Node>() };
      node.below.set(part, next);
      node = next;
    }
    node.text = text;
  }
  return root;
}

/** `a.list[].x` -> `a`, `list`, `[]`, `x`. */
function partsOf(pattern: string): string[] {
  return pattern.replaceAll("[]", ".[]").split(".");
}

const accepted = listOf(WITHOUT_EFFECT.flatMap(([why, ...keys]) => keys.map((key) => [key, why] as const)));
const refused = listOf(Object.entries(UNPROTECTED));

function isListed(list: Node, path: readonly string[]): boolean {
  let node: Node | undefined = list;
  for (const part of path) {
    node = node.below.get(part) ?? node.below.get("*");
    if (!node || node.text !== undefined) break;
  }
  return node?.text !== undefined;
}

/** Whether the key is accepted without effect. `[]` stands for any item of a list. */
export function isWithoutEffect(path: readonly string[]): boolean {
  return isListed(accepted, path);
}

/** Whether the key promises a protection that is not implemented. */
export function isUnprotected(path: readonly string[]): boolean {
  return isListed(refused, path);
}

interface Sorted {
  /** The configuration without the keys of the two lists below. */
  readonly used: PlainObject;
  readonly withoutEffect: readonly Issue[];
  /** Keys that promise a protection that is not implemented, with the alternative. */
  readonly unprotected: readonly Issue[];
}

const sorted = new WeakMap<PlainObject, Sorted>();

/** Separates unread keys from used ones; computed once per configuration. */
export function withoutForeign(resolved: PlainObject): Sorted {
  let result = sorted.get(resolved);
  if (!result) {
    const withoutEffect: Issue[] = [];
    const found: Issue[] = [];
    const rest = strip(resolved, accepted, "", withoutEffect);
    const used = strip(rest, refused, "", found) as PlainObject; // an object stays one
    const unprotected = found.map(({ path, message }) => ({
      path,
      message: `${message}; then: svc config unset ${path}`,
    }));
    sorted.set(resolved, (result = { used, withoutEffect, unprotected }));
  }
  return result;
}

function strip(value: unknown, node: Node, path: string, found: Issue[]): unknown {
  if (Array.isArray(value)) {
    const item = node.below.get("[]");
    return item ? value.map((one, index) => strip(one, item, `${path}[${index}]`, found)) : value;
  }
  if (!isObject(value)) return value;
  const entries = Object.entries(value).flatMap(([key, child]) => {
    const next = node.below.get(key) ?? node.below.get("*");
    const at = path ? `${path}.${key}` : key;
    if (next?.text === undefined) return [[key, next ? strip(child, next, at, found) : child] as const];
    found.push({ path: at, message: next.text });
    return [];
  });
  return Object.fromEntries(entries);
}
