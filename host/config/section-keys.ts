/**
 * Configuration keys that a plugin may own: a top-level key (`notes`), a key below an open place of the host (`hooks.mail`,
 * `gateway.http.endpoints.mail`), or a key below a top-level key without an owner (`chats.mail`), which several plugins then
 * share. Pure.
 */
import { isWithoutEffect } from "./foreign.ts";
import { FREE_KEYS, HOST_SECTIONS, OPEN_SECTIONS } from "./host-schema.ts";
import { isObject, isPrototypeKey, own, type PlainObject } from "./plain-data.ts";

/** A place of the host below which plugins may own keys. */
interface OpenPlace {
  readonly path: readonly string[];
  /** Keys that no plugin may own, each with the alternative. */
  readonly refused: Readonly<Record<string, string>>;
}

/** Deepest first. */
const OPEN_PLACES: readonly OpenPlace[] = Object.entries(OPEN_SECTIONS)
  .map(([place, refused]) => ({ path: place.split("."), refused }))
  .sort((one, other) => other.path.length - one.path.length);

/** The open places in a section of the host, including the section itself. */
export function openPlacesIn(section: string): readonly OpenPlace[] {
  return OPEN_PLACES.filter(({ path }) => path[0] === section);
}

/** The open place above these keys. */
function openPlaceOf(keys: readonly string[]): OpenPlace | undefined {
  return OPEN_PLACES.find(({ path }) => keys.length > path.length && path.every((key, index) => keys[index] === key));
}

/** The keys from the root to a section: several below an open place or a key that is not the host's, else one. */
export function sectionPath(section: string): readonly string[] {
  const keys = section.split(".");
  const place = openPlaceOf(keys)?.path ?? (keys.length > 1 && !isHostKey(keys[0] ?? "") ? keys.slice(0, 1) : []);
  return [...place, keys.slice(place.length).join(".")];
}

/** The section that contains this path. @param owned sections of plugins */
export function sectionAt(path: readonly string[], owned: ReadonlySet<string>): readonly string[] {
  const [first = "", second] = path;
  const place = openPlaceOf(path);
  if (place && isOpenKey(place.path, path[place.path.length] ?? "")) return path.slice(0, place.path.length + 1);
  const isShared = second !== undefined && !isHostKey(first) && owned.has(`${first}.${second}`);
  return isShared && isOpenKey([first], second) ? [first, second] : [first];
}

/** Whether the top-level key belongs to the host or carries no configuration. */
export function isHostKey(first: string): boolean {
  return Object.hasOwn(HOST_SECTIONS, first) || FREE_KEYS.includes(first);
}

/** The action in a claim on keys of mappings: `hooks.mappings[<action>]`. */
export function claimedAction(section: string): string | undefined {
  return /^hooks\.mappings\[([^[\]]+)\]$/.exec(section)?.[1];
}

/** Why no plugin can own this section; `undefined` if a plugin can. */
export function claimProblem(section: string): string | undefined {
  const path = sectionPath(section);
  if (isWithoutEffect(path)) return OF_THE_HOST;
  const around = path.slice(0, -1);
  const key = path.at(-1) ?? "";
  if (around.length === 0) return isHostKey(section.split(".")[0] ?? "") ? OF_THE_HOST : undefined;
  if (key.includes("."))
    return `a plugin can own only direct keys of ${around.join(".")}; the plugin must use another section`;
  const refused = openPlaceOf(path)?.refused ?? {};
  return isOpenKey(around, key) && !Object.hasOwn(refused, key) ? undefined : OF_THE_HOST;
}

const OF_THE_HOST = "this section belongs to the gateway; the plugin must use another section";

/** Whether `key` at this place does not belong to the host, so that a plugin may own it. */
function isOpenKey(place: readonly string[], key: string): boolean {
  if (key === "" || [...place, key].some((name) => name === "" || isPrototypeKey(name))) return false;
  const [first = "", ...rest] = place;
  const schema = rest.reduce<unknown>((node, name) => own(own(node, "properties"), name), own(HOST_SECTIONS, first));
  return own(own(schema, "properties"), key) === undefined;
}

/** Keys of an open place that hold objects and are not the host's: keys of plugins, loaded or not. */
export function openKeys({ path, refused }: OpenPlace, value: unknown): string[] {
  if (!isObject(value)) return [];
  return Object.keys(value).filter(
    (key) => isOpenKey(path, key) && isObject(value[key]) && !Object.hasOwn(refused, key),
  );
}

/** `value` without the given keys. */
export function without(value: unknown, keys: readonly string[]): unknown {
  if (!isObject(value) || !keys.some((key) => Object.hasOwn(value, key))) return value;
  return Object.fromEntries(Object.entries(value).filter(([key]) => !keys.includes(key)));
}

/** The value at a path; `undefined` if there is none. */
export function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((node, key) => own(node, key), value);
}

/** `value` with the value at the path replaced; unchanged if a parent is not an object. */
export function withValueAt(value: unknown, path: readonly string[], change: (node: unknown) => unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return change(value);
  if (!isObject(value)) return value;
  const former = own(value, key);
  const next = withValueAt(former === undefined && rest.length > 0 ? {} : former, rest, change);
  return next === former ? value : { ...value, [key]: next };
}

/** Looks a section up; `found` is false if the file does not set it, since any value may be set. */
export function lookUp(resolved: PlainObject, section: string): { readonly found: boolean; readonly value?: unknown } {
  let node: unknown = resolved;
  for (const key of sectionPath(section)) {
    if (!isObject(node) || !Object.hasOwn(node, key)) return { found: false };
    node = node[key];
  }
  return { found: true, value: node };
}
