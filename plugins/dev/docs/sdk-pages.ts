/** Pages about the declarations of the SDK: methods, events, services, extension points, hooks and error codes. */
import { HOOK_DEADLINE_MS, HOOKS } from "@svc/sdk";
import { DETAIL_CODES, ERRORS } from "@svc/sdk/errors";
import type { Page } from "./page.ts";

/** Entry points of `@svc/sdk` that declare methods, events, services or extension points. */
export const DOMAINS = [
  "agents",
  "approvals",
  "browser",
  "channels",
  "chat",
  "commands",
  "config",
  "cron",
  "devices",
  "gateway",
  "health",
  "heartbeat",
  "import",
  "logs",
  "media",
  "memory",
  "models",
  "nodes",
  "panel",
  "plugins",
  "protocol",
  "push",
  "secrets",
  "sessions",
  "skills",
  "speech",
  "storage",
  "talk",
  "tools",
  "update",
  "usage",
  "web",
  "webhooks",
  "wizard",
] as const;

type Declared = Readonly<Record<string, unknown>>;

/** A value that an entry point exports, and the names to import it by. */
interface Export {
  readonly from: string;
  readonly as: string;
  readonly value: Declared;
}

async function exportsOfDomains(): Promise<readonly Export[]> {
  const modules = await Promise.all(
    DOMAINS.map(async (domain) => {
      const from = `@svc/sdk/${domain}`;
      const found = (await import(from)) as Declared;
      return Object.entries(found).flatMap(([as, value]) => (isRecord(value) ? [{ from, as, value }] : []));
    }),
  );
  return modules.flat();
}

const isRecord = (value: unknown): value is Declared => typeof value === "object" && value !== null;
const isText = (value: unknown): value is string => typeof value === "string";

/** Methods by their wire names. */
export const methodPages = async (): Promise<Page[]> => (await exportsOfDomains()).flatMap(methodsOf);
/** Events by their wire names. */
export const eventPages = async (): Promise<Page[]> => (await exportsOfDomains()).flatMap(eventOf);
/** Services by id. */
export const servicePages = async (): Promise<Page[]> =>
  (await exportsOfDomains()).flatMap((found) => tokenOf("service", found));
/** Extension points by id. */
export const extensionPages = async (): Promise<Page[]> =>
  (await exportsOfDomains()).flatMap((found) => tokenOf("extension-point", found));

/** Whether the value is a contract: an object of methods. */
function methodsOf({ from, as, value: contract }: Export): Page[] {
  return Object.values(contract).flatMap((method) => {
    if (!isRecord(method)) return [];
    const { name, summary, scope, role = "operator", params, result } = method;
    if (!isText(name) || !isText(summary) || !isText(scope) || !isRecord(params) || !isRecord(result)) return [];
    const facts = [
      ["scope", scope],
      ["role", String(role)],
      ["import", `{ ${as} } from "${from}"`],
      ["params", params],
      ["result", result],
    ] as const;
    return [{ name, summary, facts }];
  });
}

function eventOf({ from, as, value: { name, summary, payload, scope = "none" } }: Export): Page[] {
  if (!isText(name) || !isText(summary) || !isRecord(payload)) return [];
  const facts = [
    ["scope", String(scope)],
    ["import", `{ ${as} } from "${from}"`],
    ["payload", payload],
  ] as const;
  return [{ name, summary, facts }];
}

function tokenOf(wanted: "service" | "extension-point", { from, as, value }: Export): Page[] {
  const { kind, id, version, summary, remotable } = value;
  if (kind !== wanted || !isText(id) || !isText(summary)) return [];
  const facts = [
    ...(isText(version) ? [["version", version] as const] : []),
    ["import", `{ ${as} } from "${from}"`],
    ["from a thread or process", remotable === true ? "yes" : "no"],
  ] as const;
  return [{ name: id, summary, facts }];
}

/** Pages of hooks, named by the keys of `gateway.hooks`. */
export function hookPages(): Page[] {
  return Object.values(HOOKS).map(({ name, kind, keyed, owner, when, returns, throws, ...rest }) => {
    const deadline = "deadlineMs" in rest && rest.deadlineMs !== undefined ? rest.deadlineMs : HOOK_DEADLINE_MS[kind];
    const facts = [
      ["kind", keyed ? `${kind}, tapped with .for(key)` : kind],
      ["emitted by", owner],
      ["return", returns],
      ["throw", throws],
      ["deadline", deadline === 0 ? "none; the handler is synchronous" : `${deadline} ms`],
    ] as const;
    return { name, summary: when, facts };
  });
}

/** Pages of the values of `error.code` and `error.details.code`. */
export function errorPages(): Page[] {
  const codes = Object.entries(ERRORS).map(([name, { http, retry, meaning }]) => ({
    name,
    summary: meaning,
    facts: [
      ["HTTP status", String(http)],
      ["same request again", retry ? "yes, after error.retryAfterMs" : "no"],
    ] as const,
  }));
  const details = Object.entries(DETAIL_CODES).map(([name, { error, by, when, next }]) => ({
    name,
    summary: when,
    facts: [
      ["error.code", error],
      ["sent by", by.join(", ")],
      ["next", next],
    ] as const,
  }));
  return [...codes, ...details];
}
