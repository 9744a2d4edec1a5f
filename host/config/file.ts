/** Reads the configuration file. Never writes, never throws for what a person wrote: it says what is wrong. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { Environment } from "./paths.ts";

export interface Issue {
  /** Dotted, empty for the whole file. */
  readonly path: string;
  readonly message: string;
}

export interface ConfigFile {
  readonly path: string;
  readonly exists: boolean;
  /** Text as it stands, empty when there is no file. */
  readonly text: string;
  /** SHA-256 of the text, hex. */
  readonly hash: string;
  /** The object in the file; `{}` when there is none or it cannot be parsed. */
  readonly parsed: Readonly<Record<string, unknown>>;
  /** `parsed` with `${NAME}` replaced from the environment. */
  readonly resolved: Readonly<Record<string, unknown>>;
  readonly issues: readonly Issue[];
}

/** @throws nothing: an unreadable file is an issue. JSON5. */
export async function readConfigFile(path: string, env: Environment): Promise<ConfigFile> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === "ENOENT";
    const issues = missing ? [] : [{ path: "", message: `cannot read ${path}: ${(error as Error).message}` }];
    return { path, exists: !missing, text: "", hash: sha256(""), parsed: {}, resolved: {}, issues };
  }
  const base = { path, exists: true, text, hash: sha256(text) };
  const parsed = await parseConfig(text);
  if ("message" in parsed)
    return { ...base, parsed: {}, resolved: {}, issues: [{ path: "", message: parsed.message }] };
  const issues: Issue[] = [];
  const resolved = substitute(parsed.value, env, "", issues) as Record<string, unknown>; // an object stays one
  return { ...base, parsed: parsed.value, resolved, issues };
}

/** Reads JSON5 (plain JSON by the faster parser). @returns the object, or why there is none */
export async function parseConfig(text: string): Promise<{ value: Record<string, unknown> } | { message: string }> {
  let value: unknown;
  try {
    value = text.trimStart().startsWith("{") ? JSON.parse(text) : undefined;
  } catch {
    value = undefined; // not plain JSON: let the JSON5 parser judge it
  }
  if (value === undefined) {
    const { default: JSON5 } = await import("json5");
    try {
      value = JSON5.parse(text);
    } catch (error) {
      return { message: (error as Error).message };
    }
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return { message: "the file must hold one object" };
  return { value: value as Record<string, unknown> };
}

/** Replaces `${NAME}` in strings; `$${NAME}` is a literal. A missing or empty variable is an issue. Spec: http/config.md §2.2. */
function substitute(value: unknown, env: Environment, path: string, issues: Issue[]): unknown {
  if (typeof value === "string") {
    return value.replace(/(\$?)\$\{([A-Z_][A-Z0-9_]*)\}/g, (whole, escaped: string, name: string) => {
      if (escaped) return whole.slice(1);
      const found = env[name];
      if (!found) issues.push({ path, message: missingVariable(name) });
      return found ?? "";
    });
  }
  if (Array.isArray(value)) return value.map((item, index) => substitute(item, env, `${path}[${index}]`, issues));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, item]) => [
    key,
    substitute(item, env, path ? `${path}.${key}` : key, issues),
  ]);
  return Object.fromEntries(entries);
}

/** Choice: an empty variable counts as missing, as in the spec, and the way to write the text itself is told. */
function missingVariable(name: string): string {
  return `environment variable ${name} is not set or empty; set it, or write $\${${name}} for the text itself`;
}

export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
