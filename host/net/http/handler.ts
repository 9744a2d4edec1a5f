/**
 * HTTP on the gateway's port: liveness and readiness probes, then plugin routes through koa. The first request that needs koa
 * loads it. Spec: §4, http/auth.md §4; spec/README.md (real 413 and 408, unauthenticated surfaces).
 */
import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { GatewayError, isGatewayError, lazy, type Logger, type RouteSpec } from "@svc/sdk";
import type { Context, Next } from "koa";
import type { Access } from "../../auth/access.ts";
import { resolvePeer } from "../../auth/client-address.ts";
import type { HookBus } from "../../hooks/hook-bus.ts";
import { Deadlines } from "../../hooks/deadline.ts";
import type { LiveRoute } from "../../kernel/kinds/routes.ts";
import type { Table } from "../../kernel/table.ts";
import { createEarlyReply } from "./early-reply.ts";
import { authorizeRoute } from "./auth.ts";
import { answerFrontPage } from "./front-page.ts";
import { createBodyReader, DEFAULT_MAX_BODY_BYTES, parseBody } from "./body.ts";
import { shareOf } from "../scheduler.ts";
import { canonicalPath, withPlainSlashes } from "./path.ts";
import { answerProbe, probePath, type Readiness } from "./probes.ts";
import { sendReply, toHttpRefusal } from "./reply.ts";
import { RouteCall } from "./route-call.ts";
import { isSecurityHeader } from "./security-headers.ts";

export interface HttpOptions {
  readonly routes: Table<LiveRoute>;
  readonly hooks: HookBus;
  readonly log: Logger;
  readonly access: Access;
  readiness(): Readiness;
  /** Milliseconds within which a body must arrive. Default 30000. Spec: http/auth.md §4. */
  readonly bodyTimeoutMs?: number;
  /** Called with every request before the routes. @returns whether it answers this request. Default: it answers none. */
  ingress?(request: IncomingMessage, response: ServerResponse): boolean;
}

export interface HttpHandler {
  /** Handles every HTTP request that is not an upgrade. */
  handle(request: IncomingMessage, response: ServerResponse): void;
  /** Aborts the responses to requests whose credential is no longer valid. */
  closeDead(): void;
  /** Refuses every further request with `refusal`. */
  close(refusal: GatewayError): void;
  /** Resolves when no request is in flight, streams included. Call it after `close`. */
  idle(): Promise<void>;
}

const BODY_TIMEOUT_MS = 30_000;
/**
 * Choice: maximum number of requests in flight per connection, as many as calls of a WebSocket. Further requests wait,
 * and the gateway stops reading their connection.
 */
const MAX_PIPELINED = 64;

/** The requests of one connection. */
interface Pipeline {
  /** Requests not answered yet, in flight or queued. */
  open: number;
  inFlight: number;
  /** Called when a request in flight ends. */
  isBelow(): void;
}

type Handle = HttpHandler["handle"];

export function createHttpHandler(options: HttpOptions): HttpHandler {
  const application = lazy(() => createApplication(options, inFlight));
  const inFlight = new Set<RouteCall>();
  const pipelines = new Map<Socket, Pipeline>();
  let open = 0;
  let closed: GatewayError | undefined;
  let idle = () => {};
  /** Choice: a plugin route for exactly this path replaces the probe; one that takes the rest of a path, like `/*file`, does not. */
  const isServed = (path: string) => options.routes.list().some(({ route }) => route.path === path);

  function serve(request: IncomingMessage, response: ServerResponse): void {
    const probe = probePath(request.url ?? "");
    if (probe !== undefined && (closed || !isServed(probe)))
      return answerProbe(probe, request, response, options.readiness);
    if (closed) return turnAway(response, closed);
    if (options.ingress?.(request, response)) return;
    application().then(
      (handle) => handle(request, response),
      (error: unknown) => {
        options.log.error({ err: error }, "HTTP could not start; the next request tries again");
        turnAway(
          response,
          isGatewayError(error)
            ? error
            : new GatewayError("INTERNAL", "HTTP could not start; see the log of the gateway"),
        );
      },
    );
  }

  /** A response queued behind another one emits no `close` when its socket closes, so the pipeline counts it as ended. */
  function pipelineOf(socket: Socket): Pipeline {
    const known = pipelines.get(socket);
    if (known) return known;
    const pipeline: Pipeline = { open: 0, inFlight: 0, isBelow: () => {} };
    pipelines.set(socket, pipeline);
    socket.once("close", () => {
      pipelines.delete(socket);
      shareOf(socket).leave();
      ended(pipeline.open);
    });
    return pipeline;
  }

  function ended(count: number): void {
    open -= count;
    if (open === 0) idle();
  }

  return {
    handle(request, response) {
      const { socket } = request;
      const share = shareOf(socket);
      const pipeline = pipelineOf(socket);
      pipeline.open++;
      open++;
      response.once("close", () => {
        if (!pipelines.has(socket)) return; // the socket closed, which ended all its requests
        pipeline.open--;
        pipeline.inFlight--;
        pipeline.isBelow();
        ended(1);
      });
      share.run(() => {
        if (++pipeline.inFlight === MAX_PIPELINED)
          void share.hold(new Promise((resolve) => (pipeline.isBelow = resolve)));
        serve(request, response);
      });
    },
    closeDead() {
      const { authority } = options.access;
      for (const call of inFlight) if (call.principal && !authority.isLive(call.principal)) call.cutOff();
    },
    close(refusal) {
      closed = refusal;
    },
    idle: () => (open === 0 ? Promise.resolve() : new Promise((resolve) => (idle = resolve))),
  };
}

function turnAway(response: ServerResponse, refusal: GatewayError): void {
  const { status, headers, body } = toHttpRefusal(refusal);
  const fixed = { "Content-Type": "application/json; charset=utf-8", Connection: "close" };
  response.writeHead(status, { ...headers, ...fixed }).end(JSON.stringify(body));
}

async function createApplication(options: HttpOptions, inFlight: Set<RouteCall>): Promise<Handle> {
  const [{ default: Koa }, { default: Router }, readBody] = await Promise.all([
    import("koa"),
    import("@koa/router"),
    createBodyReader(new Deadlines(), options.bodyTimeoutMs ?? BODY_TIMEOUT_MS),
  ]);
  const { routes: mounted, access, log } = options;
  let version = -1;
  let routes: (context: Context, next: Next) => Promise<unknown>;
  let fallbacks: readonly LiveRoute[] = [];

  /** The router cannot remove a route, so each change of the routes needs a new router; requests in flight keep the old one. */
  function currentRoutes() {
    if (version === mounted.version) return routes;
    const router = new Router({ sensitive: true, strict: true }); // exactly one spelling per path
    const entries = mounted.list();
    fallbacks = entries.filter(({ route }) => route.isFallback === true);
    for (const entry of entries) {
      const { method, path, isFallback } = entry.route;
      if (isFallback === true) continue;
      try {
        router.register(path, [method], (context, next) => serveRoute(context as unknown as Context, next, entry)); // the same context, typed twice
      } catch (error) {
        entry.owner.charge(error, `route ${method} ${path}`); // a plugin with an invalid pattern loses only this route
      }
    }
    routes = router.routes() as unknown as typeof routes;
    version = mounted.version;
    return routes;
  }

  async function serveRoute(context: Context, next: Next, { route, owner }: LiveRoute): Promise<unknown> {
    const { hold } = owner;
    if (hold && !hold.passes()) {
      await hold.wait();
      const after = route.isFallback === true ? () => serveFallback(context, next) : next;
      return currentRoutes()(context, after); // another route may match by then
    }
    if (!owner.ready)
      throw new GatewayError("UNAVAILABLE", `plugin ${owner.id} is still starting`, { retryAfterMs: 500 });
    owner.enter();
    let call: RouteCall | undefined;
    let begun: number | undefined; // when the plugin got the request; monotonic ms
    try {
      const peer = resolvePeer(context.req.socket.remoteAddress, context.req.headers, access.proxies);
      const principal = authorizeRoute(context.get("authorization"), peer, route, access);
      const rawBody = await readBody(context.req, route.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES);
      if (principal && !access.authority.isLive(principal)) throw new GatewayError("UNAUTHORIZED", "Unauthorized"); // the credential ended while the body arrived
      const body = route.body
        ? await parseBody(route.body, rawBody, () => shareOf(context.req.socket).turn())
        : undefined;
      const request = (call = new RouteCall({ context, peer, principal, rawBody, body, aliases: access.aliases }));
      inFlight.add(call);
      begun = performance.now();
      const reply = await owner.run(() => route.handler(request.request));
      await sendReply(context, reply, (error) => {
        if (!isGatewayError(error)) owner.charge(error, `route ${route.method} ${route.path}`, "caller");
        logBroken(context, error, log);
      });
    } catch (error) {
      if (route.isFallback === true && isGatewayError(error) && error.code === "NOT_FOUND") return await next();
      if (call && !isGatewayError(error)) owner.charge(error, `route ${route.method} ${route.path}`, "caller");
      await refuse(context, error, log);
    } finally {
      if (begun !== undefined) owner.tally.answered(performance.now() - begun);
      whenSent(context, () => {
        owner.leave();
        if (call) inFlight.delete(call);
      });
    }
    return undefined;
  }

  /** The fallback routes, one after the other, for a path that no other route serves with any method. */
  function serveFallback(context: Context, next: Next): Promise<unknown> {
    if (fallbacks.length === 0 || matchedBy(context)?.length) return next();
    const asked = context.method === "HEAD" ? "GET" : context.method;
    const path = canonicalPath(context.url) ?? "";
    Object.assign(context, { params: {} }); // otherwise set by the router
    return fallbacks
      .filter(({ route }) => route.method === asked && path.startsWith(prefixOf(route)))
      .reduceRight<Next>((following, entry) => () => serveRoute(context, following, entry), next)();
  }

  /** Decodes the slashes of a path whose rest is one value of a route, and replaces the request's URL. */
  function respelled(context: Context): string | undefined {
    const open = mounted
      .list()
      .flatMap(({ route }) => (route.isFallback === true ? [] : (/^([^*:]*\/)\*/.exec(route.path)?.[1] ?? [])));
    const plain = withPlainSlashes(context.url, open);
    if (plain !== undefined) context.url = plain;
    return plain === undefined ? undefined : canonicalPath(plain);
  }

  const app = new Koa();
  const early = createEarlyReply(options.hooks, access);
  app.use(async (context, next) => {
    try {
      const path = canonicalPath(context.url) ?? respelled(context);
      if (path === undefined)
        throw new GatewayError(
          "INVALID_REQUEST",
          "the path is ambiguous; send it without encoded or doubled slashes, dot segments and control characters",
        );
      const reply = await early()?.(context.req, path);
      if (reply) return await sendReply(context, reply, (error) => logBroken(context, error, log));
      await next();
    } catch (error) {
      await refuse(context, error, log);
    }
  });
  app.use((context, next) => currentRoutes()(context, next));
  app.use(serveFallback);
  app.use(nothingServed);
  app.on("error", (error: unknown) => log.debug({ err: error }, "HTTP response failed"));
  return app.callback();
}

/** The path before the part that a fallback route leaves open. */
function prefixOf({ path }: RouteSpec): string {
  return path.replace(/\*.*$/, "");
}

/** Calls `done` after the whole response: a stream continues after its handler has returned. */
function whenSent({ res }: Context, done: () => void): void {
  if (res.writableFinished || res.closed) done();
  else res.once("close", done);
}

/** The routes whose path matches, whatever their method; set by the router. */
function matchedBy(context: Context): readonly { readonly methods: readonly string[] }[] | undefined {
  return (context as unknown as { matched?: readonly { methods: readonly string[] }[] }).matched;
}

/** No route matches: the path is unknown, or only the method is. Spec: http/auth.md §4. */
function nothingServed(context: Context): void {
  const allowed = [...new Set(matchedBy(context)?.flatMap(({ methods }) => methods))].sort();
  if (allowed.length === 0) {
    if (answerFrontPage(context)) return;
    throw new GatewayError("NOT_FOUND", `nothing is served at ${context.method} ${context.path}`);
  }
  context.status = 405;
  context.set("Allow", allowed.join(", "));
  if (!context.req.complete) context.set("Connection", "close");
  context.body = "Method Not Allowed";
}

async function refuse(context: Context, error: unknown, log: Logger): Promise<void> {
  const known = isGatewayError(error) ? error : internal(context, error, log);
  const { status, headers, body } = toHttpRefusal(known);
  for (const name of context.res.getHeaderNames()) if (!isSecurityHeader(name)) context.remove(name); // headers of a reply that could not be sent
  const isTooLarge = known.code === "PAYLOAD_TOO_LARGE";
  if (isTooLarge || !context.req.complete) context.set("Connection", "close"); // the rest of the body is not read
  await sendReply(context, { status, headers, body }, () => undefined);
}

/** The status is already sent, so the response can only be cut short and logged. */
function logBroken({ method, path }: Context, error: unknown, log: Logger): void {
  log.error({ err: error, method, path }, "an HTTP response was cut short");
}

function internal(context: Context, error: unknown, log: Logger): GatewayError {
  const correlationId = randomBytes(6).toString("hex");
  log.error(
    { err: error, method: context.method, path: context.path, correlationId },
    "an HTTP request failed unexpectedly",
  );
  return new GatewayError("INTERNAL", `internal error (${correlationId})`);
}
