/** Parses configuration paths: `gateway.port`, `plugins.use[0]`, `hooks."a.b".x`. Pure. */
import { WrongUsage } from "../output.ts";

/** Formats a path, with quotes where needed. */
export { settingText as formatPath } from "@svc/sdk/cli";

/** Keys and array indexes. A bare number is either; the value it applies to decides. */
export type Path = readonly (string | number)[];

const INDEX = /\[(\d+)\]/y;
const QUOTED = /\[?(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')\]?/y;
const BARE = /[^.[\]"']+/y;

/** Keys that would reach into the prototype of an object. */
const FORBIDDEN = new Set(["__proto__", "prototype", "constructor"]);

/** @throws WrongUsage when the text is not a path */
export function parsePath(text: string): Path {
  const path: (string | number)[] = [];
  let at = 0;
  const take = (pattern: RegExp) => {
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (match) at = pattern.lastIndex;
    return match;
  };
  while (at < text.length) {
    const index = path.length > 0 && take(INDEX);
    if (index) {
      path.push(Number(index[1]));
      continue;
    }
    const bracket = text[at] === "[";
    if (path.length > 0 && !bracket && text[at++] !== ".") throw notAPath(text);
    const quoted = take(QUOTED);
    if (quoted) {
      const [whole, double, single] = quoted;
      if (bracket !== whole.endsWith("]") || bracket !== whole.startsWith("[")) throw notAPath(text);
      path.push((double ?? single ?? "").replace(/\\(.)/g, "$1"));
      continue;
    }
    const bare = take(BARE);
    if (!bare) throw notAPath(text);
    path.push(bare[0]);
  }
  if (path.length === 0) throw notAPath(text);
  return path;
}

function notAPath(text: string): WrongUsage {
  return new WrongUsage(
    `"${text}" is not a configuration path; use the form gateway.port, plugins.use[0] or hooks."a.b".x`,
  );
}

/** The own property at the path, or `undefined`. */
export function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((node, part) => {
    if (typeof node !== "object" || node === null || !Object.hasOwn(node, part)) return undefined;
    return (node as Record<string | number, unknown>)[part];
  }, value);
}

/** Turns bare numbers into indexes where the value is an array. @throws WrongUsage for a forbidden key */
export function placeIn(value: unknown, path: Path): Path {
  const forbidden = path.find((part) => FORBIDDEN.has(String(part)));
  if (forbidden !== undefined) throw new WrongUsage(`"${forbidden}" cannot be a key of the configuration`);
  let node: unknown = value;
  return path.map((part) => {
    const place = Array.isArray(node) && /^\d+$/.test(String(part)) ? Number(part) : part;
    node = valueAt(node, [place]);
    return place;
  });
}
