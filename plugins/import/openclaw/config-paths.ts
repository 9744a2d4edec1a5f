/** Places in a configuration: paths, patterns of paths, and the values at them. */
import { isRecord } from "./values.ts";

export type Values = Record<string, unknown>;
export type Path = readonly (string | number)[];

export function isValues(value: unknown): value is Values {
  return isRecord(value);
}

/** `["agents", "list", 0, "id"]` -> `agents.list[0].id`. */
export function dotted(path: Path): string {
  return path
    .map((step, index) => (typeof step === "number" ? `[${step}]` : `${index === 0 ? "" : "."}${step}`))
    .join("");
}

export function at(root: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (node, step) =>
      typeof node === "object" && node !== null && Object.hasOwn(node, step) ? (node as Values)[step] : undefined,
    root,
  );
}

/** Sets a value; missing objects on the way are created. */
export function put(root: Values, path: Path, value: unknown): void {
  let node: Values = root;
  for (const step of path.slice(0, -1)) {
    const next = node[step];
    if (typeof next === "object" && next !== null) node = next as Values; // an array is indexed like an object
    else node = node[step] = {} as Values;
  }
  node[path.at(-1) ?? ""] = value;
}

/** Removes the value at a path and returns it. An item of a list leaves a hole, which `compact` closes. */
export function cut(root: Values, path: Path): unknown {
  const holder = at(root, path.slice(0, -1));
  const key = path.at(-1) ?? "";
  const value = at(holder, [key]);
  if (Array.isArray(holder) && typeof key === "number") holder[key] = undefined;
  else if (isValues(holder)) delete holder[key];
  return value;
}

/** Removes an object that is empty, and those above it that become empty by that. */
export function prune(root: Values, path: Path): void {
  for (let place = path; place.length > 0 && isEmpty(at(root, place)); place = place.slice(0, -1)) cut(root, place);
}

export function isEmpty(value: unknown): boolean {
  return isValues(value) && Object.keys(value).length === 0;
}

/** A copy without holes. */
export function compact(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((item) => item !== undefined).map(compact);
  return isValues(value)
    ? Object.fromEntries(Object.entries(value).map(([key, item]) => [key, compact(item)] as const))
    : value;
}

/** The path of each scalar, each list of scalars and each empty object. */
export function leaves(value: unknown, path: Path = []): Path[] {
  if (Array.isArray(value) && value.some((item) => typeof item === "object" && item !== null))
    return value.flatMap((item, index) => (item === undefined ? [] : leaves(item, [...path, index])));
  const entries = isValues(value) ? Object.entries(value) : [];
  return entries.length === 0 ? [path] : entries.flatMap(([key, item]) => leaves(item, [...path, key]));
}

/** The path of each text. */
export function texts(value: unknown, path: Path = []): Path[] {
  if (typeof value === "string") return [path];
  if (Array.isArray(value)) return value.flatMap((item, index) => texts(item, [...path, index]));
  return isValues(value) ? Object.entries(value).flatMap(([key, item]) => texts(item, [...path, key])) : [];
}

/**
 * The place that a dotted path about the compacted value names; keys may contain dots and brackets.
 * @returns the deepest place that exists, and whether it is the named one
 */
export function locate(root: unknown, text: string): { readonly path: Path; readonly whole: boolean } {
  if (text === "") return { path: [], whole: true };
  let best: { path: Path; whole: boolean } = { path: [], whole: false };
  for (const [name, step] of stepsOf(root)) {
    if (!text.startsWith(name)) continue;
    const rest = text.slice(name.length);
    if (rest !== "" && !rest.startsWith(".") && !rest.startsWith("[")) continue;
    const below = locate(at(root, [step]), rest.startsWith(".") ? rest.slice(1) : rest);
    const found = { path: [step, ...below.path], whole: below.whole };
    if (found.whole) return found;
    if (found.path.length > best.path.length) best = found;
  }
  return best;
}

/** How a message may write each key or index. */
function stepsOf(value: unknown): (readonly [name: string, step: string | number])[] {
  if (Array.isArray(value))
    return [...value.keys()].filter((index) => value[index] !== undefined).map((index, count) => [`[${count}]`, index]);
  const keys = isValues(value) ? Object.keys(value) : [];
  return keys.flatMap((key) => [[key, key] as const, ...(/^\d+$/.test(key) ? [[`[${key}]`, key] as const] : [])]);
}

export function isWithin(path: Path, place: Path): boolean {
  return place.length <= path.length && place.every((step, index) => step === path[index]);
}

/**
 * Length of the beginning of `path` that fits the pattern; `undefined`: it does not fit. `*`: any step; `**`: any
 * steps, also none; `[]`: any index; `{a,b}`: one of these.
 */
export function fits(pattern: string, path: Path): number | undefined {
  return fit(pattern.replaceAll("[]", ".[]").match(/\{[^}]*\}|[^.]+/g) ?? [], path, 0);
}

function fit([first, ...rest]: readonly string[], path: Path, from: number): number | undefined {
  if (first === undefined) return from;
  if (first === "**") {
    for (let skip = from; skip <= path.length; skip++) {
      const end = fit(rest, path, skip);
      if (end !== undefined) return end;
    }
    return undefined;
  }
  const step = path[from];
  if (step === undefined) return undefined;
  const isOne = first.startsWith("{") && first.slice(1, -1).split(",").includes(String(step));
  return isOne || first === "*" || first === String(step) || (first === "[]" && typeof step === "number")
    ? fit(rest, path, from + 1)
    : undefined;
}
