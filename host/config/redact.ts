/** Hides secrets of the configuration before anybody sees it. Spec: protocol/methods-config.md §1 "Redaction". Pure. */

export const REDACTED = "__SVC_REDACTED__";

const SENSITIVE = /(token$|password|secret|api.?key|serviceaccount(ref)?$)/i;
const HARMLESS =
  /(maxtokens|maxoutputtokens|maxinputtokens|maxcompletiontokens|contexttokens|totaltokens|tokencount|tokenlimit|tokenbudget|passwordfile)$/i;
const PLACEHOLDER = /^\$\{[A-Z_][A-Z0-9_]*\}$/;

/** `uiHints` of the schema: `sensitive` there wins over the name of the key. */
export type Hints = Readonly<Record<string, unknown>>;

function hintFor(path: readonly string[], hints: Hints): boolean | undefined {
  for (const [pattern, hint] of Object.entries(hints)) {
    const { sensitive } = hint as { sensitive?: unknown };
    if (typeof sensitive !== "boolean") continue;
    const parts = pattern.replaceAll("[]", ".[]").split(".");
    if (parts.length === path.length && parts.every((part, index) => part === "*" || part === path[index]))
      return sensitive;
  }
  return undefined;
}

function isSensitive(path: readonly string[], hints: Hints): boolean {
  const hinted = hintFor(path, hints);
  if (hinted !== undefined) return hinted;
  const name = path.join(".");
  return SENSITIVE.test(name) && !HARMLESS.test(name);
}

/** A copy with every secret replaced. `found` collects the secrets, for redacting the text they stand in. */
export function redact(
  value: unknown,
  hints: Hints,
  found: Set<string> = new Set(),
  path: readonly string[] = [],
): unknown {
  if (Array.isArray(value)) return value.map((item) => redact(item, hints, found, [...path, "[]"]));
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value).map(([key, item]) => [key, redact(item, hints, found, [...path, key])]);
    return Object.fromEntries(entries);
  }
  const secret = (typeof value === "string" && value !== "") || typeof value === "number";
  if (!secret || !isSensitive(path, hints)) return value;
  if (typeof value === "string" && PLACEHOLDER.test(value)) return value;
  found.add(String(value));
  return REDACTED;
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
