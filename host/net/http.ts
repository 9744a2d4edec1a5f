/**
 * HTTP on the gateway's port: liveness, then the routes of plugins through koa, which is loaded by the first request
 * that needs it. Spec: §4, http/auth.md §4; spec/README.md (real 413 and 408, unauthenticated surfaces).
 */
import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import {
  coversScope,
  describeViolations,
  GatewayError,
  HOOKS,
  isGatewayError,
  type Logger,
  matches,
  type Principal,
  type RouteSpec,
} from "@svc/sdk";
import type { Context, Next } from "koa";
import { isLocal, originRefusal, type OriginPolicy, plainAddress } from "../auth/locality.ts";
import type { AuthSettings } from "../auth/mode.ts";
import { sharedSecretPrincipal } from "../auth/principal.ts";
import { checkBearer } from "../auth/shared-secret.ts";
import type { HookBus } from "../hooks/hook-bus.ts";
import type { RouteEntry } from "../kernel/declarations.ts";
import type { Registry } from "../kernel/registry.ts";
import { canonicalPath } from "./http-path.ts";
import { sendReply, toHttpRefusal } from "./http-reply.ts";

export interface HttpOptions {
  readonly registry: Registry;
  readonly hooks: HookBus;
  readonly log: Logger;
  readonly auth: AuthSettings;
  readonly origins: OriginPolicy;
  /** Milliseconds a body may take. Default 30000. Spec: http/auth.md §4. */
  readonly bodyTimeoutMs?: number;
}

const DEFAULT_MAX_BODY_BYTES = 1_048_576;
const BODY_TIMEOUT_MS = 30_000;

type Handle = (request: IncomingMessage, response: ServerResponse) => void;

/** @returns the handler of every HTTP request that is not an upgrade */
export function createHttpHandler(options: HttpOptions): Handle {
  let application: Promise<Handle> | undefined;
  return (request, response) => {
    if (request.url === "/healthz") return alive(request, response);
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
function alive({ method }: IncomingMessage, response: ServerResponse): void {
  if (method !== "GET" && method !== "HEAD") {
    const headers = { Allow: "GET, HEAD", "Content-Type": "text/plain; charset=utf-8", Connection: "close" };
    response.writeHead(405, { ...headers, ...SECURITY_HEADERS }).end("Method Not Allowed");
    return;
  }
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
    const router = new Router({ sensitive: true, strict: true }); // one spelling per path
    for (const entry of registry.routes()) {
      const { method, path } = entry.route;
      try {
        router.register(path, [method], (context) => serveRoute(context as unknown as Context, entry, options)); // two typings of one context
      } catch (error) {
        entry.owner.charge(error, `route ${method} ${path}`); // a pattern that is none costs its plugin this route
      }
    }
    routes = router.routes() as unknown as typeof routes;
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
      if (reply) return await sendReply(context, reply, (error) => logBroken(context, error, options.log));
      await next();
    } catch (error) {
      await refuse(context, error, options.log);
    }
  });
  app.use((context, next) => currentRoutes()(context, next));
  app.use(nothingServed);
  app.on("error", (error: unknown) => options.log.debug({ err: error }, "HTTP response failed"));
  return app.callback();
}

/** No route took the request: its path is unknown, or only its method is. Spec: http/auth.md §4. */
function nothingServed(context: Context): void {
  const { matched = [] } = context as unknown as { matched?: readonly { methods: readonly string[] }[] }; // set by the router
  const allowed = [...new Set(matched.flatMap(({ methods }) => methods))].sort();
  if (allowed.length === 0)
    throw new GatewayError("NOT_FOUND", `nothing is served at ${context.method} ${context.path}`);
  context.status = 405;
  context.set("Allow", allowed.join(", "));
  if (!context.req.complete) context.set("Connection", "close");
  context.body = "Method Not Allowed";
}

async function serveRoute(context: Context, { route, owner }: RouteEntry, options: HttpOptions): Promise<void> {
  const { log, bodyTimeoutMs = BODY_TIMEOUT_MS } = options;
  if (!owner.ready)
    throw new GatewayError("UNAVAILABLE", `plugin ${owner.id} is still starting`, { retryAfterMs: 500 });
  const principal = route.auth === "gateway" ? authorizeRoute(context, route, options) : undefined;
  const rawBody = await readBody(context.req, route.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES, bodyTimeoutMs);
  const body = route.body ? parseBody(route.body, rawBody) : undefined;
  const gone = new AbortController();
  const left = () => {
    if (!context.res.writableFinished) gone.abort(); // an abort costs more than the rest of a small request
  };
  if (context.res.closed) left();
  else context.res.once("close", left);
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
  const charge = (error: unknown) => {
    if (!isGatewayError(error)) owner.charge(error, `route ${route.method} ${route.path}`);
  };
  try {
    const reply = await owner.run(() => route.handler(request));
    await sendReply(context, reply, (error) => {
      charge(error);
      logBroken(context, error, log);
    });
  } catch (error) {
    charge(error);
    await refuse(context, error, log);
  }
}

/** @throws GatewayError `UNAUTHORIZED`, `FORBIDDEN` */
function authorizeRoute(context: Context, { scope }: RouteSpec, { auth, origins }: HttpOptions): Principal {
  if (!checkBearer(auth, context.get("authorization"))) throw new GatewayError("UNAUTHORIZED", "Unauthorized");
  // Without a credential anybody's web page could post here through the browser of whoever sits at this machine.
  const peer = { remoteAddress: addressOf(context), headers: context.req.headers };
  if (auth.mode === "none" && (!isLocal(peer) || originRefusal(peer, false, origins) !== undefined)) {
    throw new GatewayError(
      "FORBIDDEN",
      "mode none serves programs of this machine, and pages of gateway.controlUi.allowedOrigins",
    );
  }
  // A bearer of the shared secret is the operator. Spec: §4.3 rule 2.
  const principal = sharedSecretPrincipal(auth.mode, "operator", ["operator.admin"]);
  if (scope && !coversScope(principal.scopes, scope)) throw new GatewayError("FORBIDDEN", `missing scope: ${scope}`);
  return principal;
}

/** Reads no further than the limit. @throws GatewayError `PAYLOAD_TOO_LARGE`, `TIMEOUT`, `INVALID_REQUEST` */
async function readBody(request: IncomingMessage, limit: number, timeoutMs: number): Promise<Buffer> {
  const { default: rawBody } = await import("raw-body");
  let late: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    late = setTimeout(() => reject(new GatewayError("TIMEOUT", "Request body timeout")), timeoutMs);
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

async function refuse(context: Context, error: unknown, log: Logger): Promise<void> {
  const known = isGatewayError(error) ? error : internal(context, error, log);
  const { status, headers, body } = toHttpRefusal(known);
  for (const name of context.res.getHeaderNames()) context.remove(name); // a reply that could not be sent may have left some
  context.set(SECURITY_HEADERS);
  if (!context.req.complete) context.set("Connection", "close"); // what is left of the body is not read
  await sendReply(context, { status, headers, body }, () => undefined);
}

/** The status is out already: all that can be done is to end the answer early, and to say so here. */
function logBroken({ method, path }: Context, error: unknown, log: Logger): void {
  log.error({ err: error, method, path }, "an HTTP answer broke off");
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
