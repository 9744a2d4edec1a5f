/** Changes to the configuration as data: merge patch, single edits. Pure: arguments are not modified. */
import { invalidRequest } from "@svc/sdk";
import type { ConfigEdit } from "@svc/sdk/config";
import { cleanCopy, idOf, isIdList, isObject, isPrototypeKey, type PlainObject, sameData } from "./plain-data.ts";

/**
 * RFC 7396: `null` deletes, objects merge, other values replace. Lists also replace, unless every current element is an
 * object with an `id`: then entries merge by `id`, and new ones are appended. Prototype keys of the patch are
 * ignored. Spec: methods-config.md §3. Choice: `null`s inside appended entries delete, as they do in a new object.
 * @param replaceLists lists with ids replace, too: the only way to remove or move their entries. Default false
 */
export function mergePatch(target: unknown, patch: unknown, replaceLists = false): unknown {
  if (Array.isArray(patch)) return isIdList(target) && !replaceLists ? mergeById(target, patch) : cleanCopy(patch);
  if (!isObject(patch)) return patch;
  const merged = new Map(isObject(target) ? Object.entries(target) : []);
  for (const [key, change] of Object.entries(patch)) {
    if (isPrototypeKey(key)) continue;
    if (change === null) merged.delete(key);
    else merged.set(key, mergePatch(merged.get(key), change, replaceLists));
  }
  return Object.fromEntries(merged);
}

function mergeById(target: readonly unknown[], patch: readonly unknown[]): unknown[] {
  const merged = [...target];
  for (const entry of patch) {
    const id = idOf(entry);
    const at = id === undefined ? -1 : merged.findIndex((item) => idOf(item) === id);
    if (at < 0) merged.push(mergePatch(undefined, entry));
    else merged[at] = mergePatch(merged[at], entry);
  }
  return merged;
}

/**
 * `next` without keys that are not in the file (`before`) and only repeat a value of its includes (`inherited`), so that a
 * secret of an included file is not copied into the main file.
 */
export function dropInherited(next: unknown, before: unknown, inherited: unknown): unknown {
  if (!isObject(next) || !isObject(inherited)) return next;
  const entries = Object.entries(next).flatMap(([key, item]): [string, unknown][] => {
    const mine = isObject(before) && Object.hasOwn(before, key);
    const theirs = Object.hasOwn(inherited, key) ? inherited[key] : undefined;
    if (mine) return [[key, dropInherited(item, before[key], theirs)]];
    if (theirs !== undefined && sameData(item, theirs)) return [];
    return [[key, dropInherited(item, undefined, theirs)]];
  });
  return Object.fromEntries(entries);
}

/** `parsed` with all edits applied in order. @throws GatewayError `INVALID_REQUEST` for an impossible path */
export function applyEdits(parsed: PlainObject, edits: readonly ConfigEdit[]): PlainObject {
  return edits.reduce<PlainObject>((config, { path, value }) => {
    if (path.length === 0)
      invalidRequest("an edit needs the path of a key; to replace the whole file, write it as text");
    return put(config, path, value, path) as PlainObject; // setting a key keeps an object an object
  }, parsed);
}

function put(node: unknown, path: ConfigEdit["path"], value: unknown, whole: ConfigEdit["path"]): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return cleanCopy(value);
  if (typeof step === "number") return putItem(node, step, rest, value, whole);
  if (isPrototypeKey(step)) invalidRequest(`${shown(whole)}: "${step}" cannot be a key of the configuration`);
  if (node === undefined && value === undefined) return undefined;
  if (node !== undefined && !isObject(node)) {
    const at = shown(whole.slice(0, whole.length - path.length));
    invalidRequest(`${shown(whole)}: ${at} is ${Array.isArray(node) ? "a list" : "not an object"}; set ${at} itself`);
  }
  const entries = new Map(Object.entries(node ?? {}));
  const next = put(entries.get(step), rest, value, whole);
  if (next === undefined) entries.delete(step);
  else entries.set(step, next);
  return Object.fromEntries(entries);
}

function putItem(node: unknown, index: number, rest: ConfigEdit["path"], value: unknown, whole: ConfigEdit["path"]) {
  const at = shown(whole.slice(0, whole.length - rest.length - 1));
  if (node === undefined && value === undefined) return undefined;
  if (node !== undefined && !Array.isArray(node))
    invalidRequest(`${shown(whole)}: ${at} is not a list; set ${at} itself`);
  const items: readonly unknown[] = node ?? [];
  if (!Number.isInteger(index) || index < 0 || index > items.length)
    invalidRequest(`${shown(whole)}: ${at} has ${items.length} entries, so index ${index} does not exist`);
  const next = put(items[index], rest, value, whole);
  if (next === undefined) return items.toSpliced(index, 1);
  return items.toSpliced(index, 1, next);
}

/** `a.b[0]` */
function shown(path: ConfigEdit["path"]): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === "number") return `${text}[${step}]`;
    return text ? `${text}.${step}` : step;
  }, "");
}
