/** Text of a configuration file to data, and its fingerprint. */
import { createHash } from "node:crypto";
import { isObject } from "./plain-data.ts";
import { lazy } from "@svc/sdk/files";

const parserCode = lazy(() => import("json5"));

/** Bytes one file may have. Spec: http/config.md §2.1; choice: it holds for the main file, too. */
export const MAX_CONFIG_BYTES = 2 * 1024 * 1024;

/** Objects and lists within each other. Choice: deeper ones are refused, so that every walk through a file ends well. */
const MAX_NESTING = 100;

/** Reads JSON5 (plain JSON by the faster parser) of any kind. @returns the value, or why there is none */
export async function parseJson5(text: string): Promise<{ value: unknown } | { message: string }> {
  const parsed = await parse(text);
  if ("message" in parsed) return parsed;
  return isTooDeep(parsed.value)
    ? { message: `more than ${MAX_NESTING} levels of objects and lists within each other` }
    : parsed;
}

/** As `parseJson5`, for a text that must hold one object. */
export async function parseConfig(text: string): Promise<{ value: Record<string, unknown> } | { message: string }> {
  const parsed = await parseJson5(text);
  if ("message" in parsed) return parsed;
  return isObject(parsed.value) ? { value: parsed.value } : { message: "the file must hold one object" };
}

async function parse(text: string): Promise<{ value: unknown } | { message: string }> {
  if (/^\s*[{[]/.test(text)) {
    try {
      return { value: JSON.parse(text) };
    } catch {
      // not plain JSON: let the JSON5 parser judge it
    }
  }
  const { default: JSON5 } = await parserCode();
  try {
    return { value: JSON5.parse(text) };
  } catch (error) {
    return { message: (error as Error).message };
  }
}

/** By levels, not by recursion: the depth is what is in question. */
function isTooDeep(value: unknown): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; depth <= MAX_NESTING; depth++) {
    level = level.flatMap((node) => (typeof node === "object" && node !== null ? Object.values(node) : []));
    if (level.length === 0) return false;
  }
  return true;
}

/** Lower-case hex. */
export function sha256(text: string | Uint8Array): string {
  return createHash("sha256").update(text).digest("hex");
}
