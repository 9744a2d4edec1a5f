/** Hides secrets of the configuration before anybody sees it. Spec: protocol/methods-config.md §1 "Redaction". Pure. */
import { isSecretRef } from "@svc/sdk/secrets";
import { hideShapes } from "./secret-shapes.ts";

export const REDACTED = "__SVC_REDACTED__";

/** Choice: the names of headers that carry a credential are in it, too: mappings of webhooks compare them. */
const SENSITIVE = /(token$|password|secret|api.?key|authorization$|cookie$|serviceaccount(ref)?$)/i;
const SERVICE_ACCOUNT = /serviceaccount(ref)?$/i;
const HARMLESS =
  /(maxtokens|maxoutputtokens|maxinputtokens|maxcompletiontokens|contexttokens|totaltokens|tokencount|tokenlimit|tokenbudget|passwordfile)$/i;
const PLACEHOLDER = /^\$\{[A-Z_][A-Z0-9_]*\}$/;

/** `uiHints` of the schema: `sensitive` there wins over the name of the key. */
export type Hints = Readonly<Record<string, unknown>>;

interface Rule {
  readonly parts: readonly string[];
  readonly sensitive: boolean;
}

/** The few hints that say something about secrets, read once and not for every value. */
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

/** Items of an array are judged by the name of the array, and so is what a condition says a place must not be. */
function nameOf(path: readonly string[]): string {
  return path.filter((part) => part !== "[]" && part !== "not").join(".");
}

/** Whether a dotted path names a secret, no hint considered. */
export function isSecretName(name: string): boolean {
  return SENSITIVE.test(name) && !HARMLESS.test(name);
}

/** Where the conditions of webhooks stand. */
export const MATCH = ["hooks", "mappings", "[]", "match"] as const;
/** Choice: headers and places of a payload that say what an event is. Any other value a sender must have may be a credential. */
const EVENT_HEADER = /^(?:accept|host|user-[a-z]+|content-type|.*-(?:event|topic|action)(?:-(?:key|type|name))?)$/i;
const EVENT_PLACE =
  /(?:^|[.\]])(?:(?:full_?)?name|action|event|kind|type|status|state|conclusion|ref|branch|level|severity|source|environment)$/i;

/** Whether the value that a condition asks for is hidden. @param name of a header, or the place in a payload */
export function isMatchSecret(of: "headers" | "when", name: string): boolean {
  return isSecretName(name) || !(of === "headers" ? EVENT_HEADER : EVENT_PLACE).test(name);
}

function isMatched(path: readonly string[]): boolean {
  const [of, name] = path.slice(MATCH.length);
  if (name === undefined || (of !== "headers" && of !== "when")) return false;
  return MATCH.every((part, index) => path[index] === part) && isMatchSecret(of, name);
}

/** Whether an option of a program, e.g. `--api-key`, takes a secret. */
export function isSecretOption(option: string): boolean {
  const [, name] = /^--?([\w-]+)$/.exec(option) ?? [];
  return (
    name !== undefined && (isSecretName(name) || /(?:^|[-_])(?:key|auth|pass|pwd|credentials?|bearer)$/i.test(name))
  );
}

/** Whether an argument of a program holds a secret by the option before it, or by its own. */
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

/** Whether all of an object at this path is one secret, whatever its keys are. */
export function isSecretWhole(path: readonly string[], hints: Hints): boolean {
  return hintFor(path, hints) ?? SERVICE_ACCOUNT.test(nameOf(path));
}

/**
 * A copy with every secret replaced. `found` collects the secrets, for redacting the text they stand in.
 * Choice: a hint `sensitive` on an object or array hides everything in it. A text that looks like a secret, e.g. a URL with a password, is
 * hidden as a whole wherever it stands, and so are arguments of programs that hold one.
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

/** Unless the schema says that nothing secret stands there. */
function looksSecret(value: unknown, path: readonly string[], hints: Hints): boolean {
  return typeof value === "string" && hintFor(path, hints) === undefined && hideShapes(value) !== value;
}

/** The sentinel, for a text or number that is there and is no placeholder. */
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
