/** `meta.lastTouchedVersion` and `meta.lastTouchedAt`: who wrote the file last, and when. Spec: protocol/methods-config.md §3. */
import type { KeyPath } from "./changes.ts";
import { rewriteText } from "./edit-text.ts";
import { parseConfig } from "./parse.ts";
import { isObject, own, type PlainObject } from "./plain-data.ts";

const KEYS: ReadonlySet<string | undefined> = new Set(["lastTouchedVersion", "lastTouchedAt"]);

/** Whether it is written with every change, and never a change itself. */
export function isStamp([section, key]: KeyPath): boolean {
  return section === "meta" && KEYS.has(key);
}

/**
 * The text with both keys. Choice: a text that cannot be parsed, a `meta` that is no object, and one that is included from another file
 * stay as they are: the first is refused anyway, and the others are the author's.
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
