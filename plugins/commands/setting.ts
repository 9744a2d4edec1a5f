/** Paths and values of `/config`. Pure. */
import { invalidRequest } from "@svc/sdk";
import type { SettingPath } from "@svc/sdk/cli";

export type { SettingPath };

/** Keys that would reach into the prototype of an object. */
const FORBIDDEN = new Set(["__proto__", "prototype", "constructor"]);
const PART = /(?:^|\.)(?:"((?:[^"\\]|\\.)*)"|([^.[\]"']+))|\[(\d{1,6})\]/y;

/** Keys and indexes of `gateway.port`, `plugins.use[0]` or `hooks."a.b".x`. @throws GatewayError `INVALID_REQUEST` */
export function parsePath(text: string): SettingPath {
  const path: (string | number)[] = [];
  for (PART.lastIndex = 0; PART.lastIndex < text.length;) {
    const [, quoted, bare, index] = PART.exec(text) ?? notAPath(text);
    const key = quoted?.replace(/\\(.)/g, "$1") ?? bare ?? "";
    if (FORBIDDEN.has(key)) invalidRequest(`"${key}" cannot be a key of the configuration; use another path`);
    path.push(index === undefined ? key : Number(index));
  }
  return path;
}

function notAPath(text: string): never {
  return invalidRequest(`"${text}" is not a path; use the form gateway.port, plugins.use[0] or hooks."a.b".x`);
}

/** JSON, else the text itself. @throws GatewayError `INVALID_REQUEST` for a text that begins like JSON and is none */
export function parseValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    if (/^\s*[{["]/.test(text)) return invalidRequest("the value is not JSON; correct it, or write a plain word");
    return text;
  }
}

/** The own value at the path, or `undefined`. */
export function valueAt(value: unknown, path: SettingPath): unknown {
  return path.reduce<unknown>((node, part) => {
    if (typeof node !== "object" || node === null || !Object.hasOwn(node, part)) return undefined;
    return (node as Record<string | number, unknown>)[part]; // has it
  }, value);
}

/** Turns bare numbers into indexes where the value is an array. */
export function placeIn(value: unknown, path: SettingPath): SettingPath {
  let node: unknown = value;
  return path.map((part) => {
    const place = Array.isArray(node) && /^\d{1,6}$/.test(String(part)) ? Number(part) : part;
    node = valueAt(node, [place]);
    return place;
  });
}
