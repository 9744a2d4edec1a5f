/** One key of the schema of the configuration, for forms that load it step by step. Pure. */
import { notFound, type ResultOf } from "@svc/sdk";
import type { config, ConfigStore } from "@svc/sdk/config";
import { nearestName } from "@svc/sdk/errors";

type Found = ResultOf<typeof config.schemaLookup>;
type Child = Found["children"][number];
type Fields = Readonly<Record<string, unknown>>;

export type LookupSource = Pick<ConfigStore, "schema" | "reloadKind">;

/** A node of the schema and how to get there. */
interface Place {
  readonly node: unknown;
  readonly path: readonly string[];
  /** Path of its hint: `*` is a map entry, `[]` an item of a list. */
  readonly hintPath: string;
}

/** @throws GatewayError `NOT_FOUND` with a similar key, if there is one */
export function lookUp(path: string, source: LookupSource): Found {
  const { schema, uiHints } = source.schema();
  const found = partsOf(path).reduce(step, { node: schema, path: [], hintPath: "" });
  const facts = (place: Place) => factsOf(place, uiHints, source);
  const children = childrenOf(found).map(({ key, required, ...place }): Child => {
    const type = typeOf(place.node);
    const hasChildren = childrenOf(place).length > 0;
    return { ...facts(place), key, ...(type === undefined ? {} : { type }), required, hasChildren };
  });
  return { ...facts(found), schema: withoutKeys(found.node), children };
}

/** `a.b`, `a[].b`, `a[0].b`; an empty list for `.`. */
function partsOf(path: string): readonly string[] {
  const dotted = path.replace(/\[(\*|\d*)\]/gu, (_, index: string) => `.${index || "*"}`);
  return dotted
    .split(".")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

function step(from: Place, part: string): Place {
  const children = childrenOf(from);
  const named = children.find(({ key }) => key === part);
  const other = children.find(({ key, isList }) => key === "*" && (!isList || /^(?:\*|\d+)$/u.test(part)));
  const next = named ?? other;
  if (next) return { ...next, path: [...from.path, part] };
  const wanted = [...from.path, part].join(".");
  const meant = nearestName(
    part,
    children.map(({ key }) => key),
  );
  const hint = meant === undefined ? "" : ` Did you mean ${[...from.path, meant].join(".")}?`;
  return notFound(`config schema path not found: the configuration has no path "${wanted}".${hint}`);
}

/** The keys below a node; `*` for the other keys of a map, and for the items of a list. A union has those of all members. */
function childrenOf({ node, path, hintPath }: Place) {
  const found = new Map<string, Place & { key: string; required: boolean; isList: boolean }>();
  const add = (key: string, child: unknown, suffix: string, required = false) => {
    if (!isFields(child) || found.has(key)) return;
    const place = { node: child, path: [...path, key], hintPath: `${hintPath}${suffix}` };
    found.set(key, { ...place, key, required, isList: suffix === "[]" });
  };
  for (const member of membersOf(node)) {
    const required = own(member, "required");
    for (const [key, child] of Object.entries(own(member, "properties") ?? {}))
      add(key, child, hintPath === "" ? key : `.${key}`, Array.isArray(required) && required.includes(key));
    for (const child of Object.values(own(member, "patternProperties") ?? {})) add("*", child, ".*");
    add("*", own(member, "additionalProperties"), ".*");
    add("*", own(member, "items"), "[]");
  }
  return [...found.values()];
}

/** The node itself, then the members of its unions. */
function membersOf(node: unknown): readonly unknown[] {
  const members = ["anyOf", "oneOf", "allOf"].flatMap((key) => own(node, key) ?? []);
  return [node, ...members.flatMap(membersOf)];
}

function factsOf(
  { path, hintPath }: Place,
  uiHints: ReturnType<LookupSource["schema"]>["uiHints"],
  source: LookupSource,
): Omit<Found, "schema" | "children"> {
  if (path.length === 0) return { path: "." };
  const hint = Object.hasOwn(uiHints, hintPath) ? uiHints[hintPath] : undefined;
  const reloadKind = source.reloadKind(path) === "restart" ? ("restart" as const) : ("hot" as const);
  return { path: path.join("."), reloadKind, ...(hint ? { hint, hintPath } : {}) };
}

/** Union members, items and entries stay, since they describe the value itself. */
function withoutKeys(node: unknown): unknown {
  if (!isFields(node)) return node;
  const { properties: _keys, ...rest } = node;
  return rest;
}

function typeOf(node: unknown): Child["type"] {
  const type = own(node, "type");
  if (typeof type === "string") return type;
  const all = membersOf(node).flatMap((member) => own(member, "type") ?? []);
  const names = [...new Set(all.filter((one) => typeof one === "string"))];
  return names.length > 1 ? names : names[0];
}

function own(value: unknown, key: string): object | string | undefined {
  const found = isFields(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  return typeof found === "string" || (typeof found === "object" && found !== null) ? found : undefined;
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
