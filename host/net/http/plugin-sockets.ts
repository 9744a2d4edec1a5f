/** WebSockets at routes of plugins: the upgrade, the bounds, and the end with the plugin or the gateway. */
import { setMaxListeners } from "node:events";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import {
  type Clock,
  GatewayError,
  isGatewayError,
  type Logger,
  type PluginSocket,
  type PluginSocketEvents,
  type RouteRequest,
} from "@svc/sdk";
import { type WebSocket, WebSocketServer } from "ws";
import type { Access } from "../../auth/access.ts";
import { canonicalHeaders } from "../../auth/aliases.ts";
import { type Peer, resolvePeer } from "../../auth/client-address.ts";
import { isLocal, isLoopback } from "../../auth/locality.ts";
import { within } from "../../clock.ts";
import type { LiveRoute } from "../../kernel/kinds/routes.ts";
import type { Table } from "../../kernel/table.ts";
import { AddressCount } from "../address-count.ts";
import { DEFAULT_MAX_BODY_BYTES } from "./body.ts";
import { type HttpRefusal, toHttpRefusal } from "./reply.ts";
import { type SocketRoute, socketRoute } from "./upgrades.ts";

/** Choice: bytes that a client may leave unread. */
const MAX_UNREAD_BYTES = 1_048_576;
/** Choice: milliseconds in which a plugin accepts or refuses an upgrade. */
const UPGRADE_MS = 10_000;
/** Choice: milliseconds between two pings; a socket that has not answered the last one is cut. */
const PING_MS = 30_000;
const CLOSE = { restart: 1012, unsupported: 1003, policy: 1008, failed: 1011 } as const;

export interface PluginSocketsOptions {
  readonly routes: Table<LiveRoute>;
  readonly access: Pick<Access, "proxies" | "aliases" | "maxConnectionsPerAddress">;
  readonly clock: Clock;
  readonly log: Logger;
}

/** An upgrade request that the listener hands over. */
export interface Upgrade {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
  /** Answers it with an HTTP response, and closes the socket. */
  refuse(refusal: HttpRefusal): void;
}

export interface PluginSockets {
  /** @returns whether a plugin serves this path; the upgrade is then handled */
  take(upgrade: Upgrade): boolean;
}

export function createPluginSockets({ routes, access, clock, log }: PluginSocketsOptions): PluginSockets {
  const counts = new AddressCount();
  const servers = new Map<number, WebSocketServer>();
  const find = (target: string) => socketRoute(target, routes.list());

  /** A server of the library has one maximum size of messages. */
  function serverFor(maxPayload: number): WebSocketServer {
    const known = servers.get(maxPayload);
    if (known) return known;
    const options = {
      noServer: true,
      maxPayload,
      maxFragments: 1_024,
      perMessageDeflate: false,
      clientTracking: false,
    };
    const server = new WebSocketServer(options);
    servers.set(maxPayload, server);
    return server;
  }

  /** Counts the socket for its address until it closes; loopback is not counted. @throws GatewayError `TOO_MANY_ATTEMPTS` */
  function admit({ clientAddress, remoteAddress }: Peer, socket: Duplex): void {
    const address = clientAddress ?? remoteAddress;
    if (isLoopback(address)) return;
    const count = counts.add(address);
    socket.once("close", () => counts.remove(address));
    const { maxConnectionsPerAddress: most } = access;
    if (most > 0 && count > most) throw new GatewayError("TOO_MANY_ATTEMPTS", "too many connections from this address");
  }

  /** Waits until the plugin is awake. @throws GatewayError `UNAVAILABLE`, `NOT_FOUND` */
  async function awake(target: string, first: SocketRoute): Promise<SocketRoute> {
    const { hold } = first.entry.owner;
    if (hold && !hold.passes()) await hold.wait();
    const found = find(target);
    if (!found) throw new GatewayError("NOT_FOUND", "no WebSocket is served here any more");
    const { owner } = found.entry;
    if (!owner.ready)
      throw new GatewayError("UNAVAILABLE", `plugin ${owner.id} is still starting`, { retryAfterMs: 500 });
    return found;
  }

  async function serve({ request, socket, head, refuse }: Upgrade, first: SocketRoute): Promise<void> {
    const gone = new AbortController();
    socket.once("close", () => gone.abort());
    try {
      const peer = resolvePeer(request.socket.remoteAddress, request.headers, access.proxies);
      admit(peer, socket);
      const { entry, path, params } = await awake(request.url ?? "", first);
      const { route, owner } = entry;
      const plugin = createPluginSocket();
      owner.enter();
      try {
        const call = requestOf(request, { path, params, peer, aliases: access.aliases, signal: gone.signal });
        const accepted = owner.run(async () => route.upgrade?.(call, plugin.socket));
        const events = await within(UPGRADE_MS, clock, accepted).catch((error: unknown) => {
          void accepted.then((late) => owner.run(() => late?.closed?.())).catch(() => undefined); // too late
          throw error;
        });
        if (!events) throw new GatewayError("NOT_FOUND", "no WebSocket is served here");
        const told = () => owner.run(() => events.closed?.());
        if (gone.signal.aborted) return told();
        socket.once("close", told);
        serverFor(route.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES).handleUpgrade(request, socket, head, (ws) => {
          attend(ws, socket, owner.signal);
          plugin.attach(ws);
          listen(ws, entry, events);
        });
      } finally {
        owner.leave();
      }
    } catch (error) {
      refuse(toHttpRefusal(known(error, first)));
    }
  }

  function known(error: unknown, { entry: { owner, route } }: SocketRoute): GatewayError {
    if (isGatewayError(error)) return error;
    owner.charge(error, `WebSocket ${route.path}`, "caller");
    return new GatewayError("INTERNAL", "the WebSocket could not be opened; see the log of the gateway");
  }

  /** Passes on one text after the other. */
  function listen(ws: WebSocket, { route, owner }: LiveRoute, events: PluginSocketEvents): void {
    const handle = async (text: string) => {
      if (ws.readyState !== ws.OPEN) return;
      owner.enter();
      try {
        await owner.run(() => events.message(text));
      } catch (error) {
        if (!isGatewayError(error)) owner.charge(error, `WebSocket ${route.path}`, "caller");
        ws.close(CLOSE.failed, "the message could not be handled");
      } finally {
        owner.leave();
      }
    };
    let turn = Promise.resolve();
    ws.on("message", (data: Buffer, isBinary) => {
      if (isBinary) return ws.close(CLOSE.unsupported, "only texts are accepted");
      ws.pause();
      turn = turn.then(() => handle(data.toString("utf8"))).then(() => ws.resume());
    });
  }

  /** Pings the client, and closes the socket with its plugin. */
  function attend(ws: WebSocket, socket: Duplex, stopped: AbortSignal): void {
    let isAlive = true;
    const stop = () => ws.close(CLOSE.restart, "the plugin stops");
    const cancel = clock.setInterval(() => {
      if (!isAlive) return ws.terminate();
      isAlive = false;
      ws.ping();
    }, PING_MS);
    ws.on("pong", () => (isAlive = true));
    ws.on("error", (error) => log.debug({ err: error }, "a WebSocket of a plugin failed"));
    setMaxListeners(0, stopped); // one for each socket
    stopped.addEventListener("abort", stop, { once: true });
    if (stopped.aborted) stop();
    socket.once("close", () => {
      cancel();
      stopped.removeEventListener("abort", stop);
    });
  }

  return {
    take(upgrade) {
      const found = find(upgrade.request.url ?? "");
      if (!found) return false;
      void serve(upgrade, found);
      return true;
    },
  };
}

/** The socket as the plugin sees it. What it sends before the upgrade is done goes out right afterwards. */
function createPluginSocket(): { readonly socket: PluginSocket; attach(ws: WebSocket): void } {
  const early: ((ws: WebSocket) => void)[] = [];
  let attached: WebSocket | undefined;
  const whenOpen = (work: (ws: WebSocket) => void) => {
    if (!attached) early.push(work);
    else if (attached.readyState === attached.OPEN) work(attached);
  };
  return {
    socket: {
      send: (text) =>
        whenOpen((ws) => {
          ws.send(text);
          if (ws.bufferedAmount > MAX_UNREAD_BYTES) ws.close(CLOSE.policy, "the client reads too slowly");
        }),
      close: (code = 1_000, reason = "") => whenOpen((ws) => ws.close(code, reason)),
    },
    attach(ws) {
      attached = ws;
      for (const work of early.splice(0)) whenOpen(() => work(ws));
    },
  };
}

function requestOf(
  request: IncomingMessage,
  parts: Pick<SocketRoute, "path" | "params"> & {
    readonly peer: Peer;
    readonly aliases: readonly string[];
    readonly signal: AbortSignal;
  },
): RouteRequest<undefined> {
  const { path, params, peer, aliases, signal } = parts;
  return {
    method: "GET",
    path,
    params,
    query: new URLSearchParams(/\?([^#]*)/.exec(request.url ?? "")?.[1] ?? ""),
    headers: canonicalHeaders(request.headers, aliases),
    body: undefined,
    rawBody: new Uint8Array(),
    principal: undefined,
    remoteAddress: peer.clientAddress ?? peer.remoteAddress,
    local: isLocal(peer),
    signal,
  };
}
