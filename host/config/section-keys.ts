/**
 * Keys of the configuration that a plugin may own: one at the top (`notes`), one below a place of the host that is open for
 * them (`hooks.mail`, `gateway.http.endpoints.mail`), or one below a key that is nobody's as a whole (`chats.mail`), which
 * several plugins share then. Pure.
 */
import { isWithoutEffect } from "./foreign.ts";
import { FREE_KEYS, HOST_SECTIONS, OPEN_SECTIONS } from "./host-schema.ts";
import { isObject, isPrototypeKey, own, type PlainObject } from "./plain-data.ts";

/** A place of the host below which plugins may own keys. */
interface OpenPlace {
  readonly path: readonly string[];
  /** Keys nobody has, and what to do instead. */
  readonly refused: Readonly<Record<string, string>>;
}

/** The deepest first. */
const OPEN_PLACES: readonly OpenPlace[] = Object.entries(OPEN_SECTIONS)
  .map(([place, refused]) => ({ path: place.split("."), refused }))
  .sort((one, other) => other.path.length - one.path.length);

/** Those in a section of the host, the section itself included. */
export function openPlacesIn(section: string): readonly OpenPlace[] {
  return OPEN_PLACES.filter(({ path }) => path[0] === section);
}

/** The open place these keys lie below. */
function openPlaceOf(keys: readonly string[]): OpenPlace | undefined {
  return OPEN_PLACES.find(({ path }) => keys.length > path.length && path.every((key, index) => keys[index] === key));
}

/** The keys from the root down to a section: below an open place or a key that is not the host's as many as it takes, else one. */
export function sectionPath(section: string): readonly string[] {
  const keys = section.split(".");
  const place = openPlaceOf(keys)?.path ?? (keys.length > 1 && !isHostKey(keys[0] ?? "") ? keys.slice(0, 1) : []);
  return [...place, keys.slice(place.length).join(".")];
}

/** The section the key at this path belongs to. @param owned sections of plugins */
export function sectionAt(path: readonly string[], owned: ReadonlySet<string>): readonly string[] {
  const [first = "", second] = path;
  const place = openPlaceOf(path);
  if (place && isOpenKey(place.path, path[place.path.length] ?? "")) return path.slice(0, place.path.length + 1);
  const isShared = second !== undefined && !isHostKey(first) && owned.has(`${first}.${second}`);
  return isShared && isOpenKey([first], second) ? [first, second] : [first];
}

/** Whether the key at the top is the host's, or carries no configuration. */
export function isHostKey(first: string): boolean {
  return Object.hasOwn(HOST_SECTIONS, first) || FREE_KEYS.includes(first);
}

/** The action whose keys in `hooks.mappings` a plugin claims by this section: `hooks.mappings[<action>]`. */
export function claimedAction(section: string): string | undefined {
  return /^hooks\.mappings\[([^[\]]+)\]$/.exec(section)?.[1];
}

/** Why no plugin can own this section, or `undefined`. */
export function claimProblem(section: string): string | undefined {
  const path = sectionPath(section);
  if (isWithoutEffect(path)) return OF_THE_HOST;
  const around = path.slice(0, -1);
  const key = path.at(-1) ?? "";
  if (around.length === 0) return isHostKey(section.split(".")[0] ?? "") ? OF_THE_HOST : undefined;
  if (key.includes("."))
    return `a plugin can own keys of ${around.join(".")}, no deeper ones; the plugin must use another one`;
  const refused = openPlaceOf(path)?.refused ?? {};
  return isOpenKey(around, key) && !Object.hasOwn(refused, key) ? undefined : OF_THE_HOST;
}

const OF_THE_HOST = "this section belongs to the gateway; the plugin must use another one";

/** Whether `key` at this place is none of the host's, so that a plugin may have it. */
function isOpenKey(place: readonly string[], key: string): boolean {
  if (key === "" || [...place, key].some((name) => name === "" || isPrototypeKey(name))) return false;
  const [first = "", ...rest] = place;
  const schema = rest.reduce<unknown>((node, name) => own(own(node, "properties"), name), own(HOST_SECTIONS, first));
  return own(own(schema, "properties"), key) === undefined;
}

/** Keys of an open place that hold objects and are not the host's: those of plugins, here or not. */
export function openKeys({ path, refused }: OpenPlace, value: unknown): string[] {
  if (!isObject(value)) return [];
  return Object.keys(value).filter(
    (key) => isOpenKey(path, key) && isObject(value[key]) && !Object.hasOwn(refused, key),
  );
}

/** A host's section without keys that others answer for. */
export function without(value: unknown, keys: readonly string[]): unknown {
  if (!isObject(value) || !keys.some((key) => Object.hasOwn(value, key))) return value;
  return Object.fromEntries(Object.entries(value).filter(([key]) => !keys.includes(key)));
}

/** What stands at a path; `undefined` for nothing. */
export function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((node, key) => own(node, key), value);
}

/** The value with what stands at the path replaced; as it is where something on the way is no object. */
export function withValueAt(value: unknown, path: readonly string[], change: (node: unknown) => unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return change(value);
  if (!isObject(value)) return value;
  const former = own(value, key);
  const next = withValueAt(former === undefined && rest.length > 0 ? {} : former, rest, change);
  return next === former ? value : { ...value, [key]: next };
}

/** `found` is false where the file says nothing; a value may be anything. */
export function lookUp(resolved: PlainObject, section: string): { readonly found: boolean; readonly value?: unknown } {
  let node: unknown = resolved;
  for (const key of sectionPath(section)) {
    if (!isObject(node) || !Object.hasOwn(node, key)) return { found: false };
    node = node[key];
  }
  return { found: true, value: node };
}
