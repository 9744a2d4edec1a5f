/** Writes new values into the text of a configuration file, preserving comments and formatting. */
import type { JsonArrayNode, JsonNode, JsonObjectNode, JsonValueNode } from "@croct/json5-parser";
import { cutSpan } from "./cut-text.ts";
import { parseConfig } from "./parse.ts";
import { isObject, type PlainObject, sameData } from "./plain-data.ts";
import { lazy } from "@svc/sdk";

const writerCode = lazy(() => import("json5"));
const editorCode = lazy(() => import("@croct/json5-parser"));

/**
 * Changes `text` to represent `next`, rewriting only the differing parts. The result is parsed and compared. If it differs
 * from `next`, or plain JSON would no longer be plain JSON, the whole file is written as plain JSON with indent 2.
 */
export async function rewriteText(text: string, next: PlainObject): Promise<string> {
  const edited = await tryEdit(text, next);
  if (edited === undefined) return plainText(next);
  const reread = await parseConfig(edited);
  const proven = "value" in reread && sameData(reread.value, next) && (isPlain(edited) || !isPlain(text));
  return proven ? edited : plainText(next);
}

/** A CommonJS module: once bundled, its exports are only on `default`. */
async function loadEditor() {
  return (await editorCode()).default;
}

async function tryEdit(text: string, next: PlainObject): Promise<string | undefined> {
  const before = await parseConfig(text);
  if (!("value" in before) || /^\s*\{\s*\}\s*$/.test(text)) return undefined; // no formatting to preserve
  if (sameData(before.value, next)) return text;
  const mark = text.startsWith("\ufeff") ? "\ufeff" : "";
  const { JsonArrayNode, JsonObjectNode, JsonParser } = await loadEditor();
  const kinds = { JsonArrayNode, JsonObjectNode };
  try {
    const source = await withoutRemoved(text.slice(mark.length), next);
    const root = JsonParser.parse(source.text, JsonObjectNode);
    changeObject(root, source.value, next, kinds);
    return mark + root.toString();
  } catch {
    return undefined; // syntax that the editor does not support
  }
}

/** Maximum number of removals; with more, the text is rewritten as a whole. */
const MAX_REMOVALS = 500;

/** The text without the parts that `next` lacks. Own implementation, since the editor loses comments after a removed part. */
async function withoutRemoved(source: string, next: PlainObject): Promise<{ text: string; value: PlainObject }> {
  const { JsonArrayNode, JsonLexer, JsonObjectNode, JsonParser } = await loadEditor();
  let text = source;
  for (let count = 0; count < MAX_REMOVALS; count++) {
    const parsed = await parseConfig(text);
    if (!("value" in parsed)) throw new Error("a removal broke the text");
    const root = JsonParser.parse(text, JsonObjectNode);
    const location = firstRemoved(root, parsed.value, next, { JsonArrayNode, JsonObjectNode })?.location;
    if (!location) return { text, value: parsed.value };
    text = cutSpan(text, JsonLexer.tokenize(text), { start: location.start.index, end: location.end.index });
  }
  throw new Error("too much to remove");
}

/** The first property or item of `before` that is missing in `next`. */
function firstRemoved(node: JsonValueNode, before: unknown, next: unknown, kinds: Kinds): JsonNode | undefined {
  if (sameData(before, next)) return undefined;
  if (node instanceof kinds.JsonObjectNode && isObject(before) && isObject(next)) {
    for (const property of node.properties) {
      const key = property.key.toJSON();
      if (!Object.hasOwn(next, key)) return property;
      const below = firstRemoved(property.value, before[key], next[key], kinds);
      if (below) return below;
    }
  }
  if (node instanceof kinds.JsonArrayNode && Array.isArray(before) && Array.isArray(next)) {
    const { front, removed, paired } = alignment(before, next);
    if (removed > paired) return node.elements[front + paired];
    for (let index = front; index < front + paired; index++) {
      const below = firstRemoved(node.get(index), before[index], next[index], kinds);
      if (below) return below;
    }
  }
  return undefined;
}

/** Equal entries at the front and the back stay; entries between are paired by position as far as both lists have them. */
function alignment(before: readonly unknown[], next: readonly unknown[]) {
  const shorter = Math.min(before.length, next.length);
  let front = 0;
  while (front < shorter && sameData(before[front], next[front])) front++;
  let back = 0;
  while (back < shorter - front && sameData(before.at(-1 - back), next.at(-1 - back))) back++;
  const [removed, added] = [before.length - front - back, next.length - front - back];
  return { front, removed, added, paired: Math.min(removed, added) };
}

interface Kinds {
  readonly JsonArrayNode: typeof JsonArrayNode;
  readonly JsonObjectNode: typeof JsonObjectNode;
}

type Value = Parameters<JsonObjectNode["set"]>[1];

function changeObject(node: JsonObjectNode, before: PlainObject, next: PlainObject, kinds: Kinds): void {
  for (const [key, value] of Object.entries(next)) {
    const known = Object.hasOwn(before, key);
    if (known && sameData(before[key], value)) continue;
    if (!known || !changeInside(node.get(key), before[key], value, kinds)) node.set(key, value as Value);
  }
}

function changeArray(node: JsonArrayNode, before: readonly unknown[], next: readonly unknown[], kinds: Kinds): void {
  const { front, added, paired } = alignment(before, next);
  for (let index = front; index < front + paired; index++) {
    if (!changeInside(node.get(index), before[index], next[index], kinds)) node.set(index, next[index] as Value);
  }
  if (added > paired) node.splice(front + paired, 0, ...(next.slice(front + paired, front + added) as Value[]));
}

/** @returns false when the value must be replaced as a whole */
function changeInside(node: JsonValueNode, before: unknown, next: unknown, kinds: Kinds): boolean {
  if (node instanceof kinds.JsonObjectNode && isObject(before) && isObject(next)) {
    changeObject(node, before, next, kinds);
    return true;
  }
  if (node instanceof kinds.JsonArrayNode && Array.isArray(before) && Array.isArray(next)) {
    changeArray(node, before, next, kinds);
    return true;
  }
  return false;
}

function isPlain(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** JSON if it can represent the value, else JSON5 (`NaN`, `Infinity`). */
async function plainText(value: PlainObject): Promise<string> {
  const json = `${JSON.stringify(value, null, 2)}\n`;
  if (sameData(JSON.parse(json), value)) return json;
  const { default: JSON5 } = await writerCode();
  return `${JSON5.stringify(value, null, 2)}\n`;
}
