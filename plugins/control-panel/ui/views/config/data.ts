/** Configurations as plain data: reading and changing at a path, differences, merge patches, rebasing. Pure. */

/** Keys and indexes from the root to a value. */
export type Path = readonly (string | number)[];
export type Plain = Readonly<Record<string, unknown>>;

/** Stands for a secret that the gateway holds; sent back, it keeps the secret. */
export const REDACTED = "__SVC_REDACTED__";

export function isObject(value: unknown): value is Plain {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function own(value: unknown, key: string | number): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, key)
    ? (value as Record<string | number, unknown>)[key]
    : undefined;
}

/** `${NAME}`: the gateway puts the environment variable there. */
export function isPlaceholder(text: string): boolean {
  return /^\$\{[A-Z_][A-Z0-9_]*\}$/.test(text);
}

/** `a.b[0].c`, as the gateway writes paths in its issues. */
export function pathText(path: Path): string {
  return path.reduce<string>(
    (text, key) => (typeof key === "number" ? `${text}[${key}]` : text === "" ? key : `${text}.${key}`),
    "",
  );
}

export function valueAt(root: unknown, path: Path): unknown {
  return path.reduce<unknown>((value, key) => own(value, key), root);
}

/** A copy with a value at a path; `undefined` removes the key or the item. */
export function withValue(root: unknown, path: Path, value: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  if (typeof key === "number") {
    const items: readonly unknown[] = Array.isArray(root) ? root : [];
    const next = withValue(items[key], rest, value);
    return next === undefined ? items.toSpliced(key, 1) : items.toSpliced(key, 1, next);
  }
  const entries = new Map(Object.entries(isObject(root) ? root : {}));
  const next = withValue(entries.get(key), rest, value);
  if (next === undefined) entries.delete(key);
  else entries.set(key, next);
  return Object.fromEntries(entries);
}

export function same(left: unknown, right: unknown): boolean {
  if (Array.isArray(left) && Array.isArray(right))
    return left.length === right.length && left.every((item, index) => same(item, right[index]));
  if (!isObject(left) || !isObject(right)) return Object.is(left, right);
  const keys = new Set([...Object.keys(left), ...Object.keys(right)]);
  return [...keys].every((key) => Object.hasOwn(left, key) && Object.hasOwn(right, key) && same(left[key], right[key]));
}

export interface Change {
  /** Only keys: a list changes as a whole. */
  readonly path: readonly string[];
  /** `undefined`: not in the file. */
  readonly before: unknown;
  readonly after: unknown;
}

/** The smallest changes that make `after` of `before`. */
export function changesOf(before: unknown, after: unknown, path: readonly string[] = []): readonly Change[] {
  if (same(before, after)) return [];
  const isWhole = (value: unknown) => value !== undefined && !isObject(value);
  if (isWhole(before) || isWhole(after)) return [{ path, before, after }];
  const left = (before ?? {}) as Plain;
  const right = (after ?? {}) as Plain;
  const keys = [...new Set([...Object.keys(left), ...Object.keys(right)])];
  if (path.length > 0 && after === undefined) return [{ path, before, after }]; // removed with all it holds
  const below = keys.flatMap((key) => changesOf(own(left, key), own(right, key), [...path, key]));
  return below.length > 0 ? below : [{ path, before, after }]; // an empty object
}

/** A merge patch (RFC 7396). */
export function patchOf(changes: readonly Change[]): Plain {
  return changes.reduce<unknown>((patch, { path, after }) => withValue(patch, path, after ?? null), {}) as Plain;
}

/** A key that two people changed differently. */
export interface Conflict {
  readonly path: readonly string[];
  readonly before: unknown;
  readonly mine: unknown;
  readonly theirs: unknown;
}

/** The own changes on top of a newer file. */
export function rebase(
  base: unknown,
  draft: unknown,
  next: unknown,
): { readonly draft: unknown; readonly conflicts: readonly Conflict[] } {
  const mine = changesOf(base, draft);
  const theirs = changesOf(base, next);
  const overlaps = (a: readonly string[], b: readonly string[]) =>
    a.slice(0, b.length).join("\0") === b.slice(0, a.length).join("\0");
  const conflicts = mine
    .filter(({ path }) => theirs.some((other) => overlaps(path, other.path)))
    .map(({ path, before, after }) => ({ path, before, mine: after, theirs: valueAt(next, path) }))
    .filter(({ mine: own_, theirs: other }) => !same(own_, other));
  return { draft: mine.reduce((result, { path, after }) => withValue(result, path, after), next), conflicts };
}

/** Whether a value holds a secret that the gateway hides. */
export function holdsSecret(value: unknown): boolean {
  if (typeof value === "string") return value.includes(REDACTED);
  return typeof value === "object" && value !== null && Object.values(value).some(holdsSecret);
}

/** A copy without hidden secrets: the gateway would restore them by the place in the list, which is another one now. */
function withoutSecrets(value: unknown): unknown {
  if (typeof value === "string") return value.includes(REDACTED) ? undefined : value;
  if (Array.isArray(value)) return value.map(withoutSecrets).filter((item) => item !== undefined);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([key, item]) => [key, withoutSecrets(item)] as const);
  return Object.fromEntries(entries.filter(([, item]) => item !== undefined));
}

/**
 * A list with its items in another order; `order` holds their former indexes. The gateway finds the secrets of items by `id` if every item has
 * one; else items at another place lose their secrets, and `lost` says so.
 */
export function reordered(
  items: readonly unknown[],
  order: readonly number[],
): { readonly items: readonly unknown[]; readonly lost: boolean } {
  const byId = items.every((item) => isObject(item) && typeof item["id"] === "string" && item["id"] !== "");
  const loses = (from: number, index: number) => !byId && from !== index && holdsSecret(items[from]);
  return {
    items: order.map((from, index) => (loses(from, index) ? withoutSecrets(items[from]) : items[from])),
    lost: order.some(loses),
  };
}

/** Lines of a comparison of texts. */
export interface Line {
  readonly kind: "same" | "removed" | "added";
  readonly text: string;
  /** In the new text, or for removed lines in the old one; from 1. */
  readonly number: number;
}

/** Above this, the differing middle is shown as removed and added as a whole. */
const MAX_CELLS = 4_000_000;

export function linesOf(before: string, after: string): readonly Line[] {
  const [old, now] = [before.split("\n"), after.split("\n")];
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start++;
  let end = 0;
  while (end < old.length - start && end < now.length - start && old.at(-1 - end) === now.at(-1 - end)) end++;
  const [a, b] = [old.slice(start, old.length - end), now.slice(start, now.length - end)];
  const lines: Line[] = now.slice(0, start).map((text, index) => ({ kind: "same", text, number: index + 1 }));
  const width = b.length + 1;
  const isSmall = a.length * b.length <= MAX_CELLS;
  const common = new Uint32Array(isSmall ? (a.length + 1) * width : 0);
  const at = (i: number, j: number) => common[i * width + j] ?? 0;
  if (isSmall)
    for (let i = a.length - 1; i >= 0; i--)
      for (let j = b.length - 1; j >= 0; j--)
        common[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (isSmall && i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ kind: "same", text: b[j] ?? "", number: start + j + 1 });
      [i, j] = [i + 1, j + 1];
    } else if (i < a.length && (j >= b.length || !isSmall || at(i + 1, j) >= at(i, j + 1)))
      lines.push({ kind: "removed", text: a[i] ?? "", number: start + ++i });
    else lines.push({ kind: "added", text: b[j] ?? "", number: start + ++j });
  }
  const rest = now.length - end;
  return [...lines, ...now.slice(rest).map((text, k) => ({ kind: "same" as const, text, number: rest + k + 1 }))];
}

/** The line of each key of a JSON5 text, by its path. Tolerates errors: it reads as far as it understands. */
export function keyLines(text: string): ReadonlyMap<string, number> {
  const lines = new Map<string, number>();
  const stack: { readonly isList: boolean; key: string | number | undefined }[] = [];
  const token =
    /\/\/[^\n]*|\/\*[\s\S]*?\*\/|"(?:[^"\\]|\\[\s\S])*"|'(?:[^'\\]|\\[\s\S])*'|[{}[\],:\n]|[^\s{}[\],:"'/]+/g;
  let line = 1;
  let isKey = false;
  const here = () => pathText(stack.flatMap(({ key }) => (key === undefined ? [] : [key])));
  for (const [part] of text.matchAll(token)) {
    const top = stack.at(-1);
    if (part === "{" || part === "[") {
      stack.push({ isList: part === "[", key: part === "[" ? 0 : undefined });
      if (part === "[") lines.set(here(), line);
      isKey = part === "{";
    } else if (part === "}" || part === "]") {
      stack.pop();
      isKey = false;
    } else if (part === ",") {
      if (top?.isList) {
        top.key = Number(top.key) + 1;
        lines.set(here(), line);
      }
      isKey = top?.isList === false;
    } else if (isKey && top && part !== "\n" && part !== ":" && !part.startsWith("/")) {
      top.key = /^["']/.test(part) ? part.slice(1, -1) : part;
      lines.set(here(), line);
      isKey = false;
    }
    line += part.split("\n").length - 1;
  }
  return lines;
}
