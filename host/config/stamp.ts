/** `meta.lastTouchedVersion` and `meta.lastTouchedAt`: version and time of the last write. Spec: protocol/methods-config.md §3. */
import type { KeyPath } from "./changes.ts";
import { rewriteText } from "./edit-text.ts";
import { parseConfig } from "./parse.ts";
import { isObject, own, type PlainObject } from "./plain-data.ts";

const KEYS: ReadonlySet<string | undefined> = new Set(["lastTouchedVersion", "lastTouchedAt"]);

/** Whether the key is written with every change and does not count as a change itself. */
export function isStamp([section, key]: KeyPath): boolean {
  return section === "meta" && KEYS.has(key);
}

/**
 * The text with both keys. Choice: text that cannot be parsed (refused later), a `meta` that is not an object, and a `meta` included
 * from another file stay unchanged.
 * @param at epoch ms
 */
export async function stamped(text: string, version: string, at: number): Promise<string> {
  const parsed = await parseConfig(text);
  if (!("value" in parsed)) return text;
  const meta = own(parsed.value, "meta") ?? {};
  if (!isObject(meta) || own(meta, "$include") !== undefined) return text;
  const stamp = { lastTouchedVersion: version, lastTouchedAt: new Date(at).toISOString() };
  return rewriteText(text, { ...(parsed.value as PlainObject), meta: { ...meta, ...stamp } });
}
