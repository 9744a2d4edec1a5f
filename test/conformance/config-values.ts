/** Valid values for any node of a schema, and whole configurations in which one key has one of them. Pure. */
import { isDeepStrictEqual } from "node:util";
import { alternatives, type Node } from "./config-leaves.ts";

/** Texts for patterns: the first match is used. */
const TEXTS = ["sample", "other", "7d", "8d", "10mb", "20mb", "https://one.example/v1", "https://two.example/v1"];

/** Name of a map entry, unless a test sets another one. */
export const ENTRY = "acme";

/** Values the node accepts, each different from its default; at least one. @throws Error when none can be generated */
export function valuesFor(node: Node, path: string): unknown[] {
  const found = candidates(node, path).filter((value) => !isDeepStrictEqual(value, node.default));
  if (found.length > 0) return found;
  throw new Error(`${path}: no value can be made for ${JSON.stringify(node)}; give one in the table of this test`);
}

function candidates(node: Node, path: string): unknown[] {
  const union = alternatives(node);
  if (union.length > 0) return union.flatMap((member) => candidates(member, path));
  if (node.const !== undefined) return [node.const];
  if (node.enum) return [...node.enum];
  switch (node.type) {
    case "boolean":
      return [true, false];
    case "integer":
      return numbers(node, 1);
    case "number":
      return numbers(node, 0.125);
    case "string":
      return texts(node);
    case "array":
      return node.items ? candidates(node.items, `${path}[]`).map((item) => [item]) : [];
    case "object":
      return [smallest(node, path)];
    default:
      return [];
  }
}

function numbers({ minimum = 0, maximum = Number.MAX_SAFE_INTEGER, default: standard }: Node, step: number): number[] {
  const start = typeof standard === "number" ? standard : minimum;
  return [start + step, start - step, start + 2 * step].filter((value) => value >= minimum && value <= maximum);
}

function texts({ pattern = "", minLength = 0 }: Node): string[] {
  return TEXTS.filter((text) => text.length >= minLength && new RegExp(pattern).test(text));
}

/** Only required keys without a default. */
export function smallest(node: Node, path: string): Record<string, unknown> {
  const properties = Object.entries(node.properties ?? {});
  const needed = properties.filter(([key, child]) => node.required?.includes(key) && child.default === undefined);
  return Object.fromEntries(needed.map(([key, child]) => [key, valuesFor(child, `${path}.${key}`)[0]]));
}

/** Whether the key may be absent. */
export function mayBeAbsent(schema: Node, keys: readonly string[]): boolean {
  const key = keys.at(-1) ?? "";
  const parents = nodesAt(schema, keys.slice(0, -1));
  if (key === "*") return true;
  return parents.some(({ properties, required }) => {
    const node = properties?.[key];
    return node !== undefined && (!required?.includes(key) || node.default !== undefined);
  });
}

function nodesAt(schema: Node, keys: readonly string[]): Node[] {
  return keys
    .reduce<Node[]>((all, key) => all.flatMap((node) => members(node).flatMap((one) => childOf(one, key))), [schema])
    .flatMap(members);
}

function members(node: Node): Node[] {
  const union = alternatives(node);
  return union.length > 0 ? union.flatMap(members) : [node];
}

function childOf(node: Node, key: string): Node[] {
  if (key === "[]") return node.items ? [node.items] : [];
  if (key !== "*") return node.properties?.[key] ? [node.properties[key]] : [];
  const rest = typeof node.additionalProperties === "object" ? [node.additionalProperties] : [];
  return [...Object.values(node.patternProperties ?? {}), ...rest];
}

/** The minimal configuration with `value` at `keys`; `undefined` leaves that key out. */
export function planted(schema: Node, keys: readonly string[], value: unknown, entry = ENTRY, path = ""): unknown {
  const [key, ...rest] = keys;
  if (key === undefined) return value;
  const [node, child] = members(schema)
    .flatMap((member) => childOf(member, key).map((below) => [member, below] as const))
    .at(0) ?? [undefined, undefined];
  if (!node || !child) throw new Error(`${path}: no key ${key}`);
  const inner = planted(child, rest, value, entry, `${path}.${key}`);
  if (key === "[]") return [inner];
  const around = path === "" ? {} : smallest(node, path);
  const name = key === "*" ? entry : key;
  if (inner === undefined) return around;
  return { ...around, [name]: inner };
}

/** Objects key by key, everything else as in `over`. */
export function merged(base: unknown, over: unknown): unknown {
  if (!isPlain(base) || !isPlain(over)) return over === undefined ? base : over;
  const keys = new Set([...Object.keys(base), ...Object.keys(over)]);
  return Object.fromEntries([...keys].map((key) => [key, merged(base[key], over[key])]));
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Path of the part of the configuration that differs: a list is one value. */
export function changedPath(keys: readonly string[], entry = ENTRY): string {
  const list = keys.indexOf("[]");
  return (list < 0 ? keys : keys.slice(0, list)).map((key) => (key === "*" ? entry : key)).join(".");
}
