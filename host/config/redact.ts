/** Hides the secrets of the configuration from readers. Spec: protocol/methods-config.md §1 "Redaction". Pure. */
import { isSecretRef } from "@svc/sdk/secrets";
import { hideShapes } from "./secret-shapes.ts";

export const REDACTED = "__SVC_REDACTED__";

/** Choice: includes names of headers with a credential, since webhook mappings compare headers. */
const SENSITIVE = /(token$|password|secret|api.?key|authorization$|cookie$|serviceaccount(ref)?$)/i;
const SERVICE_ACCOUNT = /serviceaccount(ref)?$/i;
const HARMLESS =
  /(maxtokens|maxoutputtokens|maxinputtokens|maxcompletiontokens|contexttokens|totaltokens|tokencount|tokenlimit|tokenbudget|passwordfile)$/i;
const PLACEHOLDER = /^\$\{[A-Z_][A-Z0-9_]*\}$/;

/** `uiHints` of the schema: their `sensitive` overrides the name of the key. */
export type Hints = Readonly<Record<string, unknown>>;

interface Rule {
  readonly parts: readonly string[];
  readonly sensitive: boolean;
}

/** The hints with `sensitive`, extracted once per schema. */
const rulesOf = new WeakMap<Hints, readonly Rule[]>();

function readRules(hints: Hints): readonly Rule[] {
  const rules = Object.entries(hints).flatMap(([pattern, hint]) => {
    const { sensitive } = hint as { sensitive?: unknown };
    return typeof sensitive === "boolean" ? [{ parts: pattern.replaceAll("[]", ".[]").split("."), sensitive }] : [];
  });
  rulesOf.set(hints, rules);
  return rules;
}

function hintFor(path: readonly string[], hints: Hints): boolean | undefined {
  const rules = rulesOf.get(hints) ?? readRules(hints);
  return rules.find(
    ({ parts }) => parts.length === path.length && parts.every((part, index) => part === "*" || part === path[index]),
  )?.sensitive;
}

/** Items of an array, and values under `not` in a condition, count as secret if the name of their parent does. */
function nameOf(path: readonly string[]): string {
  return path.filter((part) => part !== "[]" && part !== "not").join(".");
}

/** Whether a dotted path names a secret; ignores hints. */
export function isSecretName(name: string): boolean {
  return SENSITIVE.test(name) && !HARMLESS.test(name);
}

/** Path of the conditions of webhook mappings. */
export const MATCH = ["hooks", "mappings", "[]", "match"] as const;
/** Choice: headers and payload paths that identify an event. Any other required value may be a credential. */
const EVENT_HEADER = /^(?:accept|host|user-[a-z]+|content-type|.*-(?:event|topic|action)(?:-(?:key|type|name))?)$/i;
const EVENT_PLACE =
  /(?:^|[.\]])(?:(?:full_?)?name|action|event|kind|type|status|state|conclusion|ref|branch|level|severity|source|environment)$/i;

/** Whether the value in a condition is hidden. @param name of a header, or the path in a payload */
export function isMatchSecret(of: "headers" | "when", name: string): boolean {
  return isSecretName(name) || !(of === "headers" ? EVENT_HEADER : EVENT_PLACE).test(name);
}

function isMatched(path: readonly string[]): boolean {
  const [of, name] = path.slice(MATCH.length);
  if (name === undefined || (of !== "headers" && of !== "when")) return false;
  return MATCH.every((part, index) => path[index] === part) && isMatchSecret(of, name);
}

/** Whether the value of a program option, e.g. `--api-key`, is a secret. */
export function isSecretOption(option: string): boolean {
  const [, name] = /^--?([\w-]+)$/.exec(option) ?? [];
  return (
    name !== undefined && (isSecretName(name) || /(?:^|[-_])(?:key|auth|pass|pwd|credentials?|bearer)$/i.test(name))
  );
}

/** Whether an argument of a program contains a secret: the value of the option before it, or `--option=value`. */
function isSecretArgument(before: unknown, argument: unknown): boolean {
  if (typeof argument !== "string") return false;
  const own = argument.indexOf("=");
  if (own > 0 && isSecretOption(argument.slice(0, own))) return true;
  return typeof before === "string" && isSecretOption(before) && !argument.startsWith("--");
}

/** Whether values at this path are hidden. `[]` stands for any item of a list. */
export function isSensitive(path: readonly string[], hints: Hints): boolean {
  return hintFor(path, hints) ?? (isSecretName(nameOf(path)) || isMatched(path));
}

/** Whether the whole object at this path is one secret, regardless of its keys. */
export function isSecretWhole(path: readonly string[], hints: Hints): boolean {
  return hintFor(path, hints) ?? SERVICE_ACCOUNT.test(nameOf(path));
}

/**
 * A copy with every secret replaced. `found` collects the secrets, for redacting the text of the file.
 * Choice: a hint `sensitive` on an object or array hides everything in it. Text that looks like a secret, e.g. a URL with a password,
 * is hidden as a whole at any path; so are program arguments that contain a secret.
 */
export function redact(
  value: unknown,
  hints: Hints,
  found: Set<string> = new Set(),
  path: readonly string[] = [],
): unknown {
  if (typeof value !== "object" || value === null)
    return isSensitive(path, hints) || looksSecret(value, path, hints) ? hidden(value, found) : value;
  if (isSensitive(path, hints)) {
    if (!Array.isArray(value) && isSecretRef(value)) return { ...value, id: hidden(value.id, found) };
    if (SERVICE_ACCOUNT.test(nameOf(path)) && !Array.isArray(value)) {
      everyLeaf(value, found);
      return REDACTED;
    }
    if (hintFor(path, hints)) return everyLeaf(value, found);
  }
  if (Array.isArray(value))
    return value.map((item: unknown, index) =>
      isSecretArgument(value[index - 1], item) ? hidden(item, found) : redact(item, hints, found, [...path, "[]"]),
    );
  const entries = Object.entries(value).map(([key, item]) => [key, redact(item, hints, found, [...path, key])]);
  return Object.fromEntries(entries);
}

/** Whether text looks like a secret, unless the schema has a hint for the path. */
function looksSecret(value: unknown, path: readonly string[], hints: Hints): boolean {
  return typeof value === "string" && hintFor(path, hints) === undefined && hideShapes(value) !== value;
}

/** The sentinel for non-empty text or a number; placeholders and other values stay. */
function hidden(value: unknown, found: Set<string>): unknown {
  const secret = (typeof value === "string" && value !== "") || typeof value === "number";
  if (!secret || PLACEHOLDER.test(String(value))) return value;
  found.add(String(value));
  return REDACTED;
}

function everyLeaf(value: unknown, found: Set<string>): unknown {
  if (typeof value !== "object" || value === null) return hidden(value, found);
  if (Array.isArray(value)) return value.map((item) => everyLeaf(item, found));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, everyLeaf(item, found)]));
}

/** The file's text with the given secrets replaced, longest first. */
export function redactText(text: string, secrets: ReadonlySet<string>): string {
  return [...secrets]
    .sort((left, right) => right.length - left.length)
    .reduce(
      (rest, secret) => rest.replaceAll(secret, REDACTED).replaceAll(JSON.stringify(secret).slice(1, -1), REDACTED),
      text,
    );
}
