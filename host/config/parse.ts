/** Parses and hashes the text of a configuration file. */
import { createHash } from "node:crypto";
import { isObject } from "./plain-data.ts";
import { lazy } from "@svc/sdk/files";

const parserCode = lazy(() => import("json5"));

/** Maximum bytes of one file. Spec: http/config.md §2.1; choice: also for the main file. */
export const MAX_CONFIG_BYTES = 2 * 1024 * 1024;

/** Maximum nesting of objects and lists. Choice: bounds the recursion of code that walks a file. */
const MAX_NESTING = 100;

/** Parses JSON5, plain JSON with the faster parser. @returns the value or an error message */
export async function parseJson5(text: string): Promise<{ value: unknown } | { message: string }> {
  const parsed = await parse(text);
  if ("message" in parsed) return parsed;
  return isTooDeep(parsed.value) ? { message: `more than ${MAX_NESTING} levels of nested objects and lists` } : parsed;
}

/** Like `parseJson5`, for text that must hold one object. */
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
      // not plain JSON: try the JSON5 parser
    }
  }
  const { default: JSON5 } = await parserCode();
  try {
    return { value: JSON5.parse(text) };
  } catch (error) {
    return { message: (error as Error).message };
  }
}

/** Iterates by levels: recursion could overflow the stack on deep input. */
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
