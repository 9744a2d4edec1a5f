/** Hides secrets of the configuration before anybody sees it. Spec: protocol/methods-config.md §1 "Redaction". Pure. */
import { isSecretRef } from "@svc/sdk/secrets";

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

/** Whether values at this path are hidden. `[]` stands for any item of a list. */
export function isSensitive(path: readonly string[], hints: Hints): boolean {
  return hintFor(path, hints) ?? isSecretName(nameOf(path));
}

/** Whether all of an object at this path is one secret, whatever its keys are. */
export function isSecretWhole(path: readonly string[], hints: Hints): boolean {
  return hintFor(path, hints) ?? SERVICE_ACCOUNT.test(nameOf(path));
}

/**
 * A copy with every secret replaced. `found` collects the secrets, for redacting the text they stand in.
 * Choice: a hint `sensitive` on an object or array hides everything in it.
 */
export function redact(
  value: unknown,
  hints: Hints,
  found: Set<string> = new Set(),
  path: readonly string[] = [],
): unknown {
  if (typeof value !== "object" || value === null) return isSensitive(path, hints) ? hidden(value, found) : value;
  if (isSensitive(path, hints)) {
    if (!Array.isArray(value) && isSecretRef(value)) return { ...value, id: hidden(value.id, found) };
    if (SERVICE_ACCOUNT.test(nameOf(path)) && !Array.isArray(value)) {
      everyLeaf(value, found);
      return REDACTED;
    }
    if (hintFor(path, hints)) return everyLeaf(value, found);
  }
  if (Array.isArray(value)) return value.map((item) => redact(item, hints, found, [...path, "[]"]));
  const entries = Object.entries(value).map(([key, item]) => [key, redact(item, hints, found, [...path, key])]);
  return Object.fromEntries(entries);
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
