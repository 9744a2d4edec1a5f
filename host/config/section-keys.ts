/**
 * Keys of the configuration that a plugin may own: one at the top (`notes`), or one below a section of the host that is
 * open for them (`hooks.mail`). Pure.
 */
import { FREE_KEYS, HOST_SECTIONS, OPEN_SECTIONS } from "./host-schema.ts";
import { isObject, isPrototypeKey, own, type PlainObject } from "./plain-data.ts";

/** The keys from the root down to a section: two below an open one, else one. */
export function sectionPath(section: string): readonly string[] {
  const [first = "", ...rest] = section.split(".");
  return rest.length > 0 && Object.hasOwn(OPEN_SECTIONS, first) ? [first, rest.join(".")] : [section];
}

/** The section the key at this path belongs to. */
export function sectionAt([first = "", second]: readonly string[]): readonly string[] {
  return second !== undefined && isOpenKey(first, second) ? [first, second] : [first];
}

/** Why no plugin can own this section, or `undefined`. */
export function claimProblem(section: string): string | undefined {
  const [first = "", ...rest] = section.split(".");
  const [, below] = sectionPath(section);
  if (below !== undefined) {
    if (rest.length > 1) return `a plugin can own keys of ${first}, no deeper ones; the plugin must use another one`;
    return isOpenKey(first, below) && !Object.hasOwn(OPEN_SECTIONS[first] ?? {}, below) ? undefined : OF_THE_HOST;
  }
  if (Object.hasOwn(HOST_SECTIONS, first)) return OF_THE_HOST;
  return FREE_KEYS.includes(section) ? OF_THE_HOST : undefined;
}

const OF_THE_HOST = "this section belongs to the gateway; the plugin must use another one";

/** Whether `key` below the section is none of the host's, so that a plugin may have it. */
function isOpenKey(section: string, key: string): boolean {
  if (!Object.hasOwn(OPEN_SECTIONS, section) || key === "" || isPrototypeKey(key)) return false;
  const schema: unknown = own(HOST_SECTIONS, section);
  return own(own(schema, "properties"), key) === undefined;
}

/** Keys of a host's section that hold objects and are not the host's: those of plugins, here or not. */
export function openKeys(section: string, value: unknown): string[] {
  if (!isObject(value)) return [];
  const refused = OPEN_SECTIONS[section] ?? {};
  return Object.keys(value).filter(
    (key) => isOpenKey(section, key) && isObject(value[key]) && !Object.hasOwn(refused, key),
  );
}

/** A host's section without keys that others answer for. */
export function without(value: unknown, keys: readonly string[]): unknown {
  if (!isObject(value) || !keys.some((key) => Object.hasOwn(value, key))) return value;
  return Object.fromEntries(Object.entries(value).filter(([key]) => !keys.includes(key)));
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
