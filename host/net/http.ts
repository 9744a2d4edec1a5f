/**
 * HTTP on the gateway's port: liveness, then the routes of plugins through koa, which is loaded by the first request
 * that needs it. Spec: §4, http/auth.md §4; spec/README.md (real 413 and 408, unauthenticated surfaces).
 */
import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import {
  coversScope,
  describeViolations,
  GatewayError,
  HOOKS,
  isGatewayError,
  type Logger,
  matches,
  type Principal,
  type RouteReply,
  type RouteSpec,
} from "@svc/sdk";
import type { Context, Next } from "koa";
import { plainAddress } from "../auth/locality.ts";
import type { AuthSettings } from "../auth/mode.ts";
import { sharedSecretPrincipal } from "../auth/principal.ts";
import { checkBearer } from "../auth/shared-secret.ts";
import type { HookBus } from "../hooks/hook-bus.ts";
import type { RouteEntry } from "../kernel/declarations.ts";
import type { Registry } from "../kernel/registry.ts";
import { canonicalPath } from "./http-path.ts";
import { toHttpRefusal } from "./http-reply.ts";

export interface HttpOptions {
  readonly registry: Registry;
  readonly hooks: HookBus;
  readonly log: Logger;
  readonly auth: AuthSettings;
}

const DEFAULT_MAX_BODY_BYTES = 1_048_576;
/** Milliseconds a body may take. Spec: http/auth.md §4. */
const BODY_TIMEOUT_MS = 30_000;

type Handle = (request: IncomingMessage, response: ServerResponse) => void;

/** @returns the handler of every HTTP request that is not an upgrade */
export function createHttpHandler(options: HttpOptions): Handle {
  let application: Promise<Handle> | undefined;
  return (request, response) => {
    if (request.url === "/healthz" && (request.method === "GET" || request.method === "HEAD")) return alive(response);
    application ??= createApplication(options);
    application.then(
      (handle) => handle(request, response),
      (error: unknown) => {
        options.log.error({ err: error }, "HTTP cannot start");
        response.writeHead(500).end();
      },
    );
  };
}

const ALIVE = '{"ok":true}';

/** All a stranger learns: somebody is here. */
function alive(response: ServerResponse): void {
  response.writeHead(200, {
    "Content-Type": "application/json; charset=utf-8",
    "Content-Length": ALIVE.length,
    "Cache-Control": "no-store",
    ...SECURITY_HEADERS,
  });
  response.end(ALIVE);
}

const SECURITY_HEADERS = { "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer" } as const;

async function createApplication(options: HttpOptions): Promise<Handle> {
  const [{ default: Koa }, { default: Router }] = await Promise.all([import("koa"), import("@koa/router")]);
  const { registry } = options;
  let version = -1;
  let routes: (context: Context, next: Next) => Promise<unknown>;

  /** The router cannot forget a route, so a change of the routes means a new router; requests in flight keep the old one. */
  function currentRoutes() {
    if (version === registry.routesVersion) return routes;
    const router = new Router();
    for (const entry of registry.routes()) {
      const { method, path } = entry.route;
      router.register(path, [method], (context) => serveRoute(context as unknown as Context, entry, options)); // two typings of one context
    }
    const dispatch = router.routes() as unknown as typeof routes;
    const methods = router.allowedMethods() as unknown as typeof routes;
    routes = (context, next) => methods(context, () => dispatch(context, next) as Promise<void>);
    version = registry.routesVersion;
    return routes;
  }

  const app = new Koa();
  const early = options.hooks.emitter(HOOKS.httpRequest);
  app.use(async (context, next) => {
    context.set(SECURITY_HEADERS);
    try {
      const path = canonicalPath(context.url);
      if (path === undefined)
        throw new GatewayError("INVALID_REQUEST", "this path has more than one reading; write it plainly");
      const { method, headers } = context.request;
      const reply = early.isUsed()
        ? await early.emit({ method, path, headers, remoteAddress: addressOf(context) })
        : undefined;
      if (reply) return send(context, reply);
      await next();
    } catch (error) {
      refuse(context, error, options.log);
    }
  });
  app.use((context, next) => currentRoutes()(context, next));
  app.use((context) => {
    if (context.status !== 404 || context.body !== undefined) return;
    throw new GatewayError("NOT_FOUND", `nothing is served at ${context.method} ${context.path}`);
  });
  app.on("error", (error: unknown) => options.log.debug({ err: error }, "HTTP response failed"));
  return app.callback();
}

async function serveRoute(context: Context, { route, owner }: RouteEntry, { auth, log }: HttpOptions): Promise<void> {
  if (!owner.ready)
    throw new GatewayError("UNAVAILABLE", `plugin ${owner.id} is still starting`, { retryAfterMs: 500 });
  const principal = route.auth === "gateway" ? authorizeRoute(context, route, auth) : undefined;
  const rawBody = await readBody(context.req, route.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES);
  const body = route.body ? parseBody(route.body, rawBody) : undefined;
  const gone = new AbortController();
  context.res.once("close", () => gone.abort());
  const request = {
    method: context.method,
    path: context.path,
    params: (context as unknown as { params: Record<string, string> }).params, // set by the router
    query: new URLSearchParams(context.querystring),
    headers: context.headers,
    body: body as never, // matches the route's schema
    rawBody,
    principal,
    remoteAddress: addressOf(context),
    signal: gone.signal,
  };
  try {
    send(context, await owner.run(() => route.handler(request)));
  } catch (error) {
    if (!isGatewayError(error)) owner.charge(error, `route ${route.method} ${route.path}`);
    refuse(context, error, log);
  }
}

/** @throws GatewayError `UNAUTHORIZED`, `FORBIDDEN` */
function authorizeRoute(context: Context, { scope }: RouteSpec, auth: AuthSettings): Principal {
  if (!checkBearer(auth, context.get("authorization"))) throw new GatewayError("UNAUTHORIZED", "Unauthorized");
  // A bearer of the shared secret is the operator. Spec: §4.3 rule 2.
  const principal = sharedSecretPrincipal(auth.mode, "operator", ["operator.admin"]);
  if (scope && !coversScope(principal.scopes, scope)) throw new GatewayError("FORBIDDEN", `missing scope: ${scope}`);
  return principal;
}

/** Reads no further than the limit. @throws GatewayError `PAYLOAD_TOO_LARGE`, `TIMEOUT`, `INVALID_REQUEST` */
async function readBody(request: IncomingMessage, limit: number): Promise<Buffer> {
  const { default: rawBody } = await import("raw-body");
  let late: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    late = setTimeout(() => reject(new GatewayError("TIMEOUT", "Request body timeout")), BODY_TIMEOUT_MS);
  });
  const length = request.headers["content-length"];
  const whole = rawBody(request, { limit, ...(length === undefined ? {} : { length }) });
  try {
    return await Promise.race([whole, timeout]);
  } catch (error) {
    whole.catch(() => undefined); // the loser of the race
    if (isGatewayError(error)) throw error;
    const { type } = error as { type?: unknown };
    if (type === "entity.too.large") throw new GatewayError("PAYLOAD_TOO_LARGE", "Payload too large");
    throw new GatewayError("INVALID_REQUEST", "the request body could not be read", { cause: error });
  } finally {
    clearTimeout(late);
  }
}

/** An empty body is `{}`. @throws GatewayError `INVALID_REQUEST` naming the path */
function parseBody(schema: NonNullable<RouteSpec["body"]>, raw: Buffer): unknown {
  let value: unknown;
  try {
    value = raw.length === 0 ? {} : JSON.parse(raw.toString());
  } catch {
    throw new GatewayError("INVALID_REQUEST", "the request body is not JSON");
  }
  if (matches(schema, value)) return value;
  throw new GatewayError("INVALID_REQUEST", `invalid body: ${describeViolations(schema, value)}`);
}

function send(context: Context, { status = 200, headers = {}, body }: RouteReply): void {
  context.status = status;
  context.set(headers);
  if (body === undefined) context.body = null;
  else if (isAsyncIterable(body)) context.body = Readable.from(body);
  else context.body = body instanceof Uint8Array ? Buffer.from(body) : body;
  if (body === undefined) context.status = status; // an empty body would turn 200 into 204
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

function refuse(context: Context, error: unknown, log: Logger): void {
  const known = isGatewayError(error) ? error : internal(context, error, log);
  const { status, headers, body } = toHttpRefusal(known);
  if (!context.req.complete) context.set("Connection", "close"); // what is left of the body is not read
  send(context, { status, headers, body });
}

function internal(context: Context, error: unknown, log: Logger): GatewayError {
  const correlationId = randomBytes(6).toString("hex");
  log.error(
    { err: error, method: context.method, path: context.path, correlationId },
    "an HTTP request failed unexpectedly",
  );
  return new GatewayError("INTERNAL", `internal error (${correlationId})`);
}

function addressOf(context: Context): string {
  return plainAddress(context.req.socket.remoteAddress ?? "");
}
