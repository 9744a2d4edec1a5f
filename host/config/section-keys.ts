/**
 * Keys of the configuration that a plugin may own: one at the top (`notes`), one below a section of the host that is open for
 * them (`hooks.mail`), or one below a key that is nobody's as a whole (`chats.mail`), which several plugins share then. Pure.
 */
import { FREE_KEYS, HOST_SECTIONS, OPEN_SECTIONS } from "./host-schema.ts";
import { isObject, isPrototypeKey, own, type PlainObject } from "./plain-data.ts";

/** The keys from the root down to a section: two below an open one or one that is not the host's, else one. */
export function sectionPath(section: string): readonly string[] {
  const [first = "", ...rest] = section.split(".");
  return rest.length > 0 && isOpen(first) ? [first, rest.join(".")] : [section];
}

/** The section the key at this path belongs to. @param owned sections of plugins */
export function sectionAt([first = "", second]: readonly string[], owned: ReadonlySet<string>): readonly string[] {
  if (second === undefined || !isOpenKey(first, second)) return [first];
  return Object.hasOwn(HOST_SECTIONS, first) || owned.has(`${first}.${second}`) ? [first, second] : [first];
}

/** Whether keys below this one may be sections of plugins. */
function isOpen(first: string): boolean {
  return Object.hasOwn(OPEN_SECTIONS, first) || !isHostKey(first);
}

/** Whether the key at the top is the host's, or carries no configuration. */
export function isHostKey(first: string): boolean {
  return Object.hasOwn(HOST_SECTIONS, first) || FREE_KEYS.includes(first);
}

/** Why no plugin can own this section, or `undefined`. */
export function claimProblem(section: string): string | undefined {
  const [first = "", ...rest] = section.split(".");
  const [, below] = sectionPath(section);
  if (below !== undefined) {
    if (rest.length > 1) return `a plugin can own keys of ${first}, no deeper ones; the plugin must use another one`;
    return isOpenKey(first, below) && !Object.hasOwn(OPEN_SECTIONS[first] ?? {}, below) ? undefined : OF_THE_HOST;
  }
  return isHostKey(first) ? OF_THE_HOST : undefined;
}

const OF_THE_HOST = "this section belongs to the gateway; the plugin must use another one";

/** Whether `key` below the section is none of the host's, so that a plugin may have it. */
function isOpenKey(section: string, key: string): boolean {
  if (!isOpen(section) || section === "" || key === "" || isPrototypeKey(section) || isPrototypeKey(key)) return false;
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
