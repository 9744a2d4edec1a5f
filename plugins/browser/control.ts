/** The browser control: finds the route of a call, checks its input, and runs it within a deadline. Loaded on first use. */
import { type Connect, connectSocket, type Resolve, resolveName } from "@svc/kit/net";
import { withDeadline } from "@svc/kit/time";
import {
  type Clock,
  describeViolations,
  invalidRequest,
  isGatewayError,
  type Logger,
  messageOf,
  notFound,
  unavailable,
  untilAborted,
} from "@svc/sdk";
import { cut } from "@svc/sdk/cli";
import { join } from "node:path";
import { Browsers } from "./chromium/browsers.ts";
import type { BrowserConfig } from "./config.ts";
import { createFileStore } from "./files.ts";
import { actRoutes } from "./routes/act.ts";
import { lifeRoutes } from "./routes/life.ts";
import { lookRoutes } from "./routes/look.ts";
import type { Caller, Route } from "./routes/route.ts";
import { stateRoutes } from "./routes/state.ts";
import { tabRoutes } from "./routes/tabs.ts";
import { transferRoutes } from "./routes/transfer.ts";
import { watchRoutes } from "./routes/watch.ts";

/** Every route, in the order of the reference pages. */
export const ROUTES: readonly Route[] = [
  ...lifeRoutes,
  ...tabRoutes,
  ...lookRoutes,
  ...actRoutes,
  ...transferRoutes,
  ...watchRoutes,
  ...stateRoutes,
];

/** Milliseconds of a call that sets no `timeoutMs`. */
const DEFAULT_MS = 30_000;
/** A browser that starts has this much longer. */
const START_MS = 30_000;
/** Lines of an error of the browser: the first ones name the reason. */
const MAX_LINES = 6;

/** A call of a route. */
export interface ControlCall {
  readonly method: Route["method"];
  readonly path: string;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: unknown;
  readonly caller: Partial<Caller>;
  readonly signal: AbortSignal;
}

/** The control of all browsers of this gateway. */
export interface Control {
  /** @throws GatewayError `NOT_FOUND`: no such route, tab or profile; `INVALID_REQUEST`; `UNAVAILABLE`; the signal's reason */
  call(call: ControlCall): Promise<unknown>;
  stop(): Promise<void>;
}

export interface ControlDeps {
  readonly config: BrowserConfig;
  readonly stateDir: string;
  readonly clock: Clock;
  readonly log: Pick<Logger, "info" | "warn">;
  /** Default: the resolver of this machine. */
  readonly resolve?: Resolve;
  /** Default: a TCP connection; only called with checked addresses. */
  readonly connect?: Connect;
}

export function createControl(deps: ControlDeps): Control {
  const { config, stateDir, clock, log, resolve = resolveName, connect = connectSocket } = deps;
  const files = createFileStore(join(stateDir, "files"), clock);
  const browsers = new Browsers({ config, stateDir, files, clock, log, resolve, connect });
  const ownFiles = { root: files.directory, nameOf: (path: string) => nameBelow(files.directory, path) };

  return {
    async call({ method, path, query, body, caller, signal }) {
      const { route, params } = findRoute(method, path);
      const input = inputOf(route, { query, body, params });
      const profile = typeof input["profile"] === "string" ? input["profile"] : browsers.defaultProfile;
      const timeoutMs = typeof input["timeoutMs"] === "number" ? input["timeoutMs"] : DEFAULT_MS;
      const ms = timeoutMs + (browsers.get(profile) ? 0 : START_MS);
      const late = () =>
        `${method} ${path} did not finish within ${timeoutMs} ms; set timeoutMs, or look at the tab with GET /snapshot`;
      const uploads = async () => [ownFiles, ...((await caller.uploads?.()) ?? [])];
      try {
        return await withDeadline({ ms, clock, signals: [signal], late }, (ending) => {
          const context = { browsers, files, clock, caller: { ...caller, uploads }, signal: ending, timeoutMs };
          return untilAborted(route.run(input, context), ending);
        });
      } catch (error) {
        signal.throwIfAborted();
        throw isGatewayError(error) ? error : asRefusal(error);
      } finally {
        if (browsers.get(profile)) browsers.touch(profile);
      }
    },
    stop: () => browsers.stopAll(),
  };
}

/**
 * Errors of the browser and of the disk: what happened is for the caller, e.g. which element covers another. Pages choose a part
 * of these words, so they are also a detail of their own.
 */
function asRefusal(error: unknown): never {
  // eslint-disable-next-line no-control-regex
  const plain = messageOf(error).replace(/\u001b\[[0-9;]*m/g, "");
  const lines = plain.split("\n").map((line) => line.trim());
  const reported = cut(lines.filter(Boolean).slice(0, MAX_LINES).join("; "), 1_000);
  return unavailable(`the browser reports: ${reported}`, { details: { reported }, cause: error });
}

/** @throws GatewayError `NOT_FOUND` */
function findRoute(method: string, path: string): { readonly route: Route; readonly params: Record<string, string> } {
  const steps = path.split("/");
  for (const route of ROUTES) {
    const wanted = route.path.split("/");
    const fits = wanted.every((step, at) => step === steps[at] || (step.startsWith(":") && (steps[at] ?? "") !== ""));
    if (route.method !== method || wanted.length !== steps.length || !fits) continue;
    const named = wanted.flatMap((step, at) =>
      step.startsWith(":") ? [[step.slice(1), decoded(steps[at] ?? "")]] : [],
    );
    return { route, params: Object.fromEntries(named) as Record<string, string> };
  }
  return notFound(`there is no route ${method} ${cut(path, 200)}; the README of the plugin browser lists them`);
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}

interface Sources {
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: unknown;
  readonly params: Record<string, string>;
}

/** One object from query, body and path. @throws GatewayError `INVALID_REQUEST` naming the key */
function inputOf({ input: schema }: Route, { query, body, params }: Sources): Record<string, unknown> {
  if (body !== undefined && body !== null && (typeof body !== "object" || Array.isArray(body)))
    invalidRequest("the body must be an object");
  const typed = Object.entries(query).map(([key, value]) => [key, valueOf(value, schema.properties[key])]);
  const input = { ...(Object.fromEntries(typed) as object), ...body, ...params };
  const wrong = describeViolations(schema, input);
  if (wrong !== "") invalidRequest(`the request is not valid: ${cut(wrong, 1_000)}`);
  return input;
}

/** Numbers and flags of a query may be written as text, as in a URL. */
function valueOf(value: unknown, schema: object | undefined): unknown {
  if (typeof value !== "string") return value;
  const { type } = Object(schema) as { readonly type?: unknown };
  if ((type === "integer" || type === "number") && value.trim() !== "" && !Number.isNaN(Number(value)))
    return Number(value);
  if (type === "boolean" && (value === "true" || value === "1")) return true;
  return type === "boolean" && (value === "false" || value === "0") ? false : value;
}

/** The part of `path` below `root`; `undefined`: it is elsewhere. */
function nameBelow(root: string, path: string): string | undefined {
  return path.startsWith(`${root}/`) ? path.slice(root.length + 1) : undefined;
}
