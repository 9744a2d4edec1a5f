/** `svc docs [topic] [name]`: what the SDK knows of methods, events, hooks, services and error codes. Needs no gateway. */
import { HOOKS, invalidRequest, type TSchema } from "@svc/sdk";
import { type CommandContext, show, table } from "@svc/sdk/cli";
import { DETAIL_CODES, nearestName } from "@svc/sdk/errors";

/** Entry points of `@svc/sdk` that declare something. */
export const DOMAINS = [
  "agents",
  "approvals",
  "channels",
  "chat",
  "config",
  "cron",
  "devices",
  "gateway",
  "health",
  "heartbeat",
  "logs",
  "media",
  "memory",
  "models",
  "nodes",
  "plugins",
  "secrets",
  "sessions",
  "storage",
  "tools",
  "update",
  "usage",
  "web",
  "webhooks",
] as const;

/** One page. Pairs of a label and a text, or a schema. */
interface Page {
  readonly name: string;
  readonly summary: string;
  readonly facts: readonly (readonly [label: string, value: string | TSchema])[];
}

const TOPICS: Readonly<Record<string, () => Promise<readonly Page[]> | readonly Page[]>> = {
  methods: async () => (await declared()).flatMap(methodPages),
  events: async () => (await declared()).flatMap(eventPages),
  services: async () => (await declared()).flatMap(servicePages),
  hooks: () => Object.values(HOOKS).map(hookPage),
  errors: () => Object.entries(DETAIL_CODES).map(([name, entry]) => errorPage(name, entry)),
};
const ELSEWHERE = "Keys of the configuration: svc config schema <path>. Plugins: svc plugins inspect <id>.";

/** @throws GatewayError `INVALID_REQUEST` for a topic or a name that is not there, with the nearest one */
export async function showDocs(context: CommandContext): Promise<void> {
  const [topic, name] = context.args;
  const topics = Object.keys(TOPICS);
  if (topic === undefined) return show(context, { topics }, () => [`svc docs ${topics.join(" | ")} [name]`, ELSEWHERE]);
  const read = Object.hasOwn(TOPICS, topic) ? TOPICS[topic] : undefined;
  if (!read) invalidRequest(`there is no topic "${topic}"; topics are ${topics.join(", ")}\nNext: ${ELSEWHERE}`);
  const pages = (await read()).toSorted((one, other) => (one.name < other.name ? -1 : 1));
  if (name === undefined) {
    const list = pages.map((page) => ({ name: page.name, summary: page.summary }));
    return show(context, list, () => table(list.map((page) => [page.name, page.summary])));
  }
  const page = pages.find((one) => one.name === name) ?? missing(topic, name, pages);
  show(context, { ...page, facts: Object.fromEntries(page.facts) }, () => pageLines(page));
}

function missing(topic: string, name: string, pages: readonly Page[]): never {
  const near = nearestName(
    name,
    pages.map((one) => one.name),
  );
  const next = near === undefined ? `svc docs ${topic}, which lists them` : `did you mean ${near}?`;
  invalidRequest(`${topic} has no "${name}"\nNext: ${next}`);
}

async function declared(): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const modules = await Promise.all(DOMAINS.map((domain) => import(`@svc/sdk/${domain}`)));
  return modules.flatMap((module: object) => Object.values(module)).filter(isRecord);
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;
const isText = (value: unknown): value is string => typeof value === "string";

/** A contract is an object of methods. */
function methodPages(contract: Readonly<Record<string, unknown>>): Page[] {
  return Object.values(contract).flatMap((method) => {
    if (!isRecord(method)) return [];
    const { name, summary, scope, role = "operator", params, result } = method;
    if (!isText(name) || !isText(summary) || !isText(scope) || !isRecord(params) || !isRecord(result)) return [];
    const facts = [
      ["scope", scope],
      ["role", String(role)],
      ["params", params],
      ["result", result],
    ] as const;
    return [{ name, summary, facts }];
  });
}

function eventPages({ name, summary, payload, scope = "none" }: Readonly<Record<string, unknown>>): Page[] {
  if (!isText(name) || !isText(summary) || !isRecord(payload)) return [];
  const facts = [
    ["scope", String(scope)],
    ["payload", payload],
  ] as const;
  return [{ name, summary, facts }];
}

function servicePages({ kind, id, version }: Readonly<Record<string, unknown>>): Page[] {
  if (!isText(id) || (kind !== "service" && kind !== "extension-point")) return [];
  const summary = kind === "service" ? `service ${String(version)}` : "extension point";
  return [{ name: id, summary, facts: [] }];
}

function hookPage({ name, kind, keyed, owner, when, returns, throws }: (typeof HOOKS)[keyof typeof HOOKS]): Page {
  const facts = [
    ["kind", keyed ? `${kind}, for a key` : kind],
    ["emitted by", owner],
    ["a return", returns],
    ["a throw", throws],
  ] as const;
  return { name, summary: when, facts };
}

function errorPage(name: string, { error, by, when, next }: (typeof DETAIL_CODES)[keyof typeof DETAIL_CODES]): Page {
  const facts = [
    ["error.code", error],
    ["sent by", by.join(", ")],
    ["next", next],
  ] as const;
  return { name, summary: when, facts };
}

function pageLines({ name, summary, facts }: Page): string[] {
  const lines = facts.flatMap(([label, value]) =>
    isText(value) ? [`${label}: ${value}`] : [`${label}:`, ...schemaLines(value, "  ")],
  );
  return [`${name}: ${summary}`, ...lines];
}

/** One line for each key, those of objects and lists below it. */
function schemaLines(schema: TSchema, indent: string): string[] {
  const {
    properties,
    required = [],
    items,
    anyOf,
  } = schema as {
    properties?: Readonly<Record<string, TSchema>>;
    required?: readonly string[];
    items?: TSchema;
    anyOf?: readonly TSchema[];
  };
  if (properties) {
    const all = Object.entries(properties);
    if (all.length === 0) return [`${indent}no keys`];
    return all.flatMap(([key, value]) => [
      `${indent}${key}${required.includes(key) ? "" : "?"}: ${typeText(value)}${descriptionOf(value)}`,
      ...below(value, `${indent}  `),
    ]);
  }
  if (items) return schemaLines(items, indent);
  if ("patternProperties" in schema) return [`${indent}any keys`];
  if (anyOf) return anyOf.flatMap((one) => [`${indent}${typeText(one)}`, ...below(one, `${indent}  `)]);
  return [`${indent}${typeText(schema)}${descriptionOf(schema)}`];
}

/** Lines that say more than the type does. */
function below(schema: TSchema, indent: string): string[] {
  const { properties, items } = schema as { properties?: object; items?: TSchema };
  if (properties && Object.keys(properties).length > 0) return schemaLines(schema, indent);
  return items ? below(items, indent) : [];
}

function descriptionOf(schema: TSchema): string {
  const { description } = schema as { description?: unknown };
  return isText(description) ? `. ${description}` : "";
}

function typeText(schema: TSchema): string {
  const { type, const: one, enum: some, anyOf, items, minimum, maximum } = schema as Readonly<Record<string, unknown>>;
  if (one !== undefined) return JSON.stringify(one);
  if (Array.isArray(some)) return some.map((value) => JSON.stringify(value)).join(" | ");
  if (Array.isArray(anyOf)) return (anyOf as TSchema[]).map(typeText).join(" | ");
  if (type === "array" && isRecord(items)) return `list of ${typeText(items)}`;
  const range = [
    minimum === undefined ? "" : ` from ${Number(minimum)}`,
    maximum === undefined ? "" : ` to ${Number(maximum)}`,
  ];
  return `${isText(type) ? type : "anything"}${range.join("")}`;
}
