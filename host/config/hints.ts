/** Hints for forms, derived from the schema. Spec: http/config.md §3.2. Pure. */
import type { ConfigHint } from "@svc/sdk/config";
import { isObject, own, type PlainObject } from "./plain-data.ts";
import { isSecretName } from "./redact.ts";

/** Numbers of the host's sections. Spec. Plugins set `order` on their section's schema. */
const SECTION_ORDER: Readonly<Record<string, number>> = {
  update: 25,
  cli: 26,
  diagnostics: 27,
  gateway: 30,
  hooks: 110,
  ui: 120,
  plugins: 205,
  discovery: 210,
  logging: 900,
};

/** Choice: sections without a number follow those with a number, before `logging`. */
const UNNUMBERED = 800;

/** Words of a key that imply a tag. Choice: one tag per word. */
const TAGS: readonly [tag: string, words: RegExp][] = [
  ["security", /^(auth|token|password|secret|tls|origins?|allow|deny|trusted)$/],
  ["auth", /^(auth|token|password|credentials?)$/],
  ["network", /^(port|bind|host|url|proxy|proxies|tls|origins?|address|timeout)$/],
  ["access", /^(allow|allowed|deny|policy|scopes?)$/],
  ["observability", /^(logging|log|diagnostics|trace)$/],
  ["performance", /^(max|limit|concurrent|concurrency|cache|debounce)$/],
  ["reliability", /^(retry|retries|backoff|timeout|drain|reload)$/],
  ["storage", /^(store|storage|directory|dir|paths?|file|retention)$/],
];

interface Where {
  readonly path: string;
  readonly group: string | undefined;
  /** Position among its siblings, from 1; undefined for map entries and items. */
  readonly place: number | undefined;
}

/** Hints by dotted path: `*` is a map entry, `[]` an item of a list. Every key of the schema has a hint. */
export function composeHints(schema: unknown): Record<string, ConfigHint> {
  const hints = new Map<string, ConfigHint>();
  visitKeys(schema, (node, where) => {
    const hint = { ...hintOf(node, where), ...hints.get(where.path) }; // the first member of a union wins
    if (Object.keys(hint).length > 0) hints.set(where.path, hint);
  });
  return Object.fromEntries(hints);
}

/** The hints that have `sensitive`, with nothing else: all that redaction needs, at a fraction of the time and memory. */
export function composeSecretHints(schema: unknown): Record<string, Pick<ConfigHint, "sensitive">> {
  const hints = new Map<string, Pick<ConfigHint, "sensitive">>();
  visitKeys(schema, (node, { path }) => {
    const sensitive = sensitiveOf(node, path);
    if (typeof sensitive === "boolean" && !hints.has(path)) hints.set(path, { sensitive });
  });
  return Object.fromEntries(hints);
}

/** Calls `see` for each key of the schema; for a union first with the union itself, then with each member. */
function visitKeys(schema: unknown, see: (node: PlainObject, where: Where) => void): void {
  const visit = (node: unknown, where: Where) => {
    if (!isObject(node)) return;
    const { path } = where;
    const group = text(node, "group") ?? where.group;
    if (path) see(node, { ...where, group });
    const properties = Object.entries((own(node, "properties") ?? {}) as object);
    for (const [index, [key, child]] of properties.entries()) {
      const top = path === "";
      visit(child, {
        path: top ? key : `${path}.${key}`,
        group: top ? (text(child, "title") ?? labelOf(key)) : group,
        place: index + 1,
      });
    }
    const inside = { group, place: undefined };
    for (const child of Object.values((own(node, "patternProperties") ?? {}) as object))
      visit(child, { ...inside, path: `${path}.*` });
    visit(own(node, "additionalProperties"), { ...inside, path: `${path}.*` });
    visit(own(node, "items"), { ...inside, path: `${path}[]` });
    for (const choice of ["anyOf", "oneOf", "allOf"].flatMap((key) => own(node, key) ?? [])) visit(choice, where);
  };
  visit(schema, { path: "", group: undefined, place: undefined });
}

function sensitiveOf(node: PlainObject, path: string): unknown {
  return own(node, "sensitive") ?? (isText(node) && isSecretName(path) ? true : undefined);
}

function hintOf(node: PlainObject, { path, group, place }: Where): ConfigHint {
  const key = place === undefined ? undefined : path.slice(path.lastIndexOf(".") + 1);
  const sensitive = sensitiveOf(node, path);
  const order = own(node, "order") ?? (path === key ? (SECTION_ORDER[path] ?? UNNUMBERED) : place);
  const advanced = own(node, "advanced");
  const tags = tagsOf(node, key, sensitive === true);
  return {
    ...optional("label", text(node, "title") ?? (key === undefined ? undefined : labelOf(key))),
    ...optional("help", text(node, "description")),
    ...(key === undefined ? {} : optional("group", group)),
    ...(typeof order === "number" ? { order } : {}),
    ...(typeof advanced === "boolean" ? { advanced } : {}),
    ...(typeof sensitive === "boolean" ? { sensitive } : {}),
    ...optional("placeholder", text(node, "placeholder")),
    ...(tags.length > 0 ? { tags } : {}),
  };
}

function optional(key: string, value: string | undefined): ConfigHint {
  return value === undefined ? {} : { [key]: value };
}

function text(node: unknown, key: string): string | undefined {
  const value = own(node, key);
  return typeof value === "string" ? value : undefined;
}

/** Excludes objects and lists: a `sensitive` hint on them would hide everything inside. */
function isText(node: PlainObject): boolean {
  const type = own(node, "type");
  return type === "string" || type === "number" || type === "integer";
}

/** `customBindHost` -> `Custom Bind Host`. */
function labelOf(key: string): string {
  const words = wordsOf(key).map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return words.join(" ") || key;
}

function wordsOf(key: string): string[] {
  return key
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .split(/[^A-Za-z0-9]+/)
    .filter(Boolean);
}

/** Tags from the schema, else derived from the words of the key. */
function tagsOf(node: PlainObject, key: string | undefined, secret: boolean): string[] {
  const given = own(node, "tags");
  const words = key === undefined ? [] : wordsOf(key).map((word) => word.toLowerCase());
  const derived = TAGS.filter(([, pattern]) => words.some((word) => pattern.test(word))).map(([tag]) => tag);
  const all = Array.isArray(given) ? given.filter((tag) => typeof tag === "string") : derived;
  return [
    ...new Set([...(secret ? ["security"] : []), ...all, ...(own(node, "advanced") === true ? ["advanced"] : [])]),
  ];
}
