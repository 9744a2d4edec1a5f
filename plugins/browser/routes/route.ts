/** A route of the browser control, and what routes share. */
import { type Clock, invalidRequest, notFound, type Static, Strict, type TProperties, Type } from "@svc/sdk";
import type { Locator } from "playwright-core";
import type { Browsers, Running } from "../chromium/browsers.ts";
import type { Tab } from "../chromium/tab.ts";
import { ProfileName } from "../config.ts";
import type { FileStore, UploadRoot } from "../files.ts";

/** Who calls, and what the caller may do. */
export interface Caller {
  /** Session whose tabs the call sees; absent: an operator, who sees all tabs. */
  readonly owner?: string;
  /** Directories from which the caller may upload. */
  uploads(): Promise<readonly UploadRoot[]>;
}

/** Context of a call. */
export interface RouteContext {
  readonly browsers: Browsers;
  readonly files: FileStore;
  readonly clock: Clock;
  readonly caller: Caller;
  /** Aborts at the deadline of the call, and when the caller leaves. */
  readonly signal: AbortSignal;
  /** Milliseconds of the whole call. */
  readonly timeoutMs: number;
}

/** A route: `input` has the keys of its query, its body and its path together. */
export interface Route<P extends TProperties = TProperties> {
  readonly method: "GET" | "POST" | "DELETE";
  readonly path: string;
  readonly input: ReturnType<typeof Strict<P>>;
  run(input: Static<ReturnType<typeof Strict<P>>>, context: RouteContext): Promise<unknown>;
}

/** Keys of every route. */
const COMMON = {
  profile: Type.Optional(ProfileName),
  timeoutMs: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 120_000, description: "milliseconds of the call; default 30000" }),
  ),
};

/** Key of routes on a tab. */
export const TARGET = {
  targetId: Type.Optional(Type.String({ maxLength: 40, description: "tab; default: the current one" })),
};

/** Keys that name an element. */
export const ELEMENT = {
  ref: Type.Optional(Type.String({ pattern: "^(f[0-9]+)?e[0-9]+$", description: "reference of a snapshot, e.g. e12" })),
  selector: Type.Optional(
    Type.String({ minLength: 1, maxLength: 2_000, description: "selector of the browser library" }),
  ),
};

/** Declares a route; ties the type of `input` to `run`. */
export function route<P extends TProperties>(
  method: Route["method"],
  path: string,
  properties: P,
  run: Route<P & typeof COMMON>["run"],
): Route {
  return { method, path, input: Strict({ ...COMMON, ...properties }), run } as unknown as Route; // `Control.call` validates before it runs a route
}

/** Name of the profile that a call means. */
export function profileOf({ profile }: { readonly profile?: string }, { browsers }: RouteContext): string {
  return profile ?? browsers.defaultProfile;
}

/** The running browser of the call. */
export async function browserOf(input: { readonly profile?: string }, context: RouteContext): Promise<Running> {
  const running = await context.browsers.open(profileOf(input, context));
  running.lastOwner = context.caller.owner;
  return running;
}

/** Tabs that the caller sees. */
export function tabsOf(running: Running, { caller }: RouteContext): Tab[] {
  return [...running.tabs.values()].filter(({ owner }) => caller.owner === undefined || owner === caller.owner);
}

interface TabInput {
  readonly profile?: string;
  readonly targetId?: string;
}

/** The tab of the call; a new one if the caller has none. @throws GatewayError `NOT_FOUND`; `UNAVAILABLE` after a crash */
export async function tabOf(input: TabInput, context: RouteContext): Promise<Tab> {
  const running = await browserOf(input, context);
  const tab = await pick(running, input.targetId, context);
  running.current.set(context.caller.owner, tab.id);
  running.tabs.delete(tab.id);
  running.tabs.set(tab.id, tab);
  tab.requireAlive();
  tab.page.setDefaultTimeout(context.timeoutMs * 0.9); // ends before the call, and so with a reason
  return tab;
}

/** As `tabOf`, but the tab may have crashed. */
export async function pick(running: Running, targetId: string | undefined, context: RouteContext): Promise<Tab> {
  const tabs = tabsOf(running, context);
  if (targetId !== undefined)
    return (
      tabs.find(({ id }) => id === targetId) ?? notFound(`there is no tab "${targetId}"; list them with GET /tabs`)
    );
  const current = running.current.get(context.caller.owner);
  return tabs.find(({ id }) => id === current) ?? tabs.at(-1) ?? context.browsers.newTab(running, context.caller.owner);
}

interface ElementInput {
  readonly ref?: string;
  readonly selector?: string;
}

/** @throws GatewayError `INVALID_REQUEST` for a reference that the page no longer has, and for neither or both keys */
export async function elementOf(tab: Tab, { ref, selector }: ElementInput): Promise<Locator> {
  if ((ref === undefined) === (selector === undefined)) invalidRequest("name the element with either ref or selector");
  if (selector !== undefined) return tab.page.locator(selector).first();
  const locator = tab.page.locator(`aria-ref=${ref}`);
  if ((await locator.count()) === 0) invalidRequest(`the page has no element ${ref} any more; take a new snapshot`);
  return locator;
}

/** What a call that changed a tab returns. */
export function outcome(tab: Tab, more: object = {}): Record<string, unknown> {
  return { ok: true, targetId: tab.id, url: tab.page.url(), ...more };
}
