/** Replaces `${NAME}` in the configuration. Spec: http/config.md §2.2. Pure. */
import type { Environment } from "./paths.ts";
import { isObject, own } from "./plain-data.ts";

export interface Issue {
  /** Dotted path; empty for the whole file. */
  readonly path: string;
  readonly message: string;
  /** Set: the value at `path` has this key, which is not part of its schema. */
  readonly unexpected?: string;
}

const VARIABLE = /(\$?)\$\{([A-Z_][A-Z0-9_]*)\}/g;

/** Replaces `${NAME}` in strings, never in keys; `$${NAME}` is a literal. Adds an issue for a missing or empty variable. */
export function substitute(value: unknown, env: Environment, issues: Issue[], path = ""): unknown {
  if (typeof value === "string") {
    return value.replace(VARIABLE, (whole, escaped: string, name: string) => {
      if (escaped) return whole.slice(1);
      const found = Object.hasOwn(env, name) ? env[name] : undefined;
      if (!found) issues.push({ path, message: missingVariable(name) });
      return found ?? "";
    });
  }
  if (Array.isArray(value)) return value.map((item, index) => substitute(item, env, issues, `${path}[${index}]`));
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([key, item]) => [
    key,
    substitute(item, env, issues, path ? `${path}.${key}` : key),
  ]);
  return Object.fromEntries(entries);
}

/** Choice: an empty variable counts as missing, as in the spec; the message explains how to write the literal text. */
function missingVariable(name: string): string {
  return `environment variable ${name} is not set or empty; set it, or write $\${${name}} for the literal text`;
}

/**
 * `next`, with a placeholder of `before` kept if the value is unchanged. A client that received resolved values and changes
 * another key thus does not write secrets into the file.
 */
export function keepPlaceholders(next: unknown, before: unknown, env: Environment): unknown {
  if (typeof next === "string") return typeof before === "string" && standsFor(before, next, env) ? before : next;
  if (Array.isArray(next)) return next.map((item, index) => keepPlaceholders(item, own(before, index), env));
  if (!isObject(next)) return next;
  return Object.fromEntries(
    Object.entries(next).map(([key, item]) => [key, keepPlaceholders(item, own(before, key), env)]),
  );
}

function standsFor(written: string, value: string, env: Environment): boolean {
  const hasVariable = [...written.matchAll(VARIABLE)].some(([, escaped]) => !escaped);
  if (!hasVariable) return false;
  const issues: Issue[] = [];
  return substitute(written, env, issues) === value && issues.length === 0;
}
