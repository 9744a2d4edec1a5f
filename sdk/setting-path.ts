/** Paths of settings: `gateway.port`, `plugins.use[0]`, `hooks."a.b".x`. Pure. */
import { invalidRequest } from "./gateway-error.ts";

/** Keys and list indexes. A bare number is either; the value it applies to decides. */
export type SettingPath = readonly (string | number)[];

/** A path in the notation of `svc config set`, quoted if necessary: `mcp.servers."a.b".args[1]`. */
export function settingText(path: SettingPath): string {
  return path
    .map((part, index) => {
      if (typeof part === "number") return `[${part}]`;
      const text = /^[^.[\]"'\s]+$/.test(part) ? part : JSON.stringify(part);
      return index === 0 ? text : `.${text}`;
    })
    .join("");
}

const INDEX = /\[(\d+)\]/y;
const QUOTED = /\[?(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')\]?/y;
const BARE = /[^.[\]"']+/y;

/** Keys that would reach into the prototype of an object. */
const FORBIDDEN = new Set(["__proto__", "prototype", "constructor"]);

/** The path of a text in the notation of `settingText`. @throws GatewayError `INVALID_REQUEST` if it is none */
export function parseSetting(text: string): SettingPath {
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
    if (path.length > 0 && !bracket && text[at++] !== ".") notAPath(text);
    const quoted = take(QUOTED);
    if (quoted) {
      const [whole, double, single] = quoted;
      if (bracket !== whole.endsWith("]") || bracket !== whole.startsWith("[")) notAPath(text);
      path.push((double ?? single ?? "").replace(/\\(.)/g, "$1"));
      continue;
    }
    const [bare] = take(BARE) ?? notAPath(text);
    path.push(bare);
  }
  if (path.length === 0) notAPath(text);
  return path;
}

function notAPath(text: string): never {
  return invalidRequest(
    `"${text}" is not a configuration path; use the form gateway.port, plugins.use[0] or hooks."a.b".x`,
  );
}

/** The own property at the path, or `undefined`. */
export function valueAt(value: unknown, path: SettingPath): unknown {
  return path.reduce<unknown>((node, part) => {
    if (typeof node !== "object" || node === null || !Object.hasOwn(node, part)) return undefined;
    return (node as Record<string | number, unknown>)[part];
  }, value);
}

/** Turns bare numbers into indexes where the value is an array. @throws GatewayError `INVALID_REQUEST` for a forbidden key */
export function settingPlace(value: unknown, path: SettingPath): SettingPath {
  const forbidden = path.find((part) => FORBIDDEN.has(String(part)));
  if (forbidden !== undefined) invalidRequest(`"${forbidden}" cannot be a key of the configuration`);
  let node: unknown = value;
  return path.map((part) => {
    const place = Array.isArray(node) && /^\d+$/.test(String(part)) ? Number(part) : part;
    node = valueAt(node, [place]);
    return place;
  });
}
