/** HTTP and WebSocket on one port, at one or several addresses. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Server as TlsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { SecureContextOptions, TLSSocket } from "node:tls";
import { MAX_PAYLOAD_BYTES } from "@svc/sdk/protocol";
import { type WebSocket, WebSocketServer } from "ws";
import { StartupRefusal } from "../auth/mode.ts";
import { AddressCount } from "./address-count.ts";
import type { Upgrade } from "./http/plugin-sockets.ts";
import type { HttpRefusal } from "./http/reply.ts";
import { responsesWith } from "./http/security-headers.ts";
import { shareOf } from "./scheduler.ts";

/**
 * Choice: maximum number of fragments per message. The largest message fits in fragments of 4 KiB. Without a limit, a
 * client could send fragments of one byte, each of which costs 1 µs.
 */
const PIECES = { maxFragments: 8_192 }; // missing in the types of ws

/**
 * Choice: maximum number of sockets that wait to be accepted. With Node's default of 511, a burst of connections from
 * one client fills the queue. Other clients then retry only after seconds.
 */
const BACKLOG = 2_048;

export interface ListenOptions {
  /** The start fails if the first address cannot be bound. A further address that cannot be bound is skipped. */
  readonly addresses: readonly string[];
  /** 0 picks a free port. */
  readonly port: number;
  /** Headers of every HTTP response. Called for each response. */
  headers(): Readonly<Record<string, string>>;
  /** The port uses TLS with this certificate. Default: no TLS. */
  readonly tls?: SecureContextOptions;
  onRequest(request: IncomingMessage, response: ServerResponse): void;
  onSocket(ws: WebSocket, socket: Duplex, request: IncomingMessage): void;
  /** Called for each upgrade. @returns why it is refused with 426; `undefined`: it is not */
  refuses?(target: string): string | undefined;
  /** Whether clients are to connect to another gateway: a proxy that gets 503 asks the next one. */
  isLeaving?(): boolean;
  /** Called for each other upgrade. @returns whether it is handled; otherwise a connection of the gateway opens. Default: none is */
  takes?(upgrade: Upgrade): boolean;
  /** Maximum number of open connections. A connection beyond the limit is closed at once. Default: no limit. */
  readonly maxConnections?: number | undefined;
  /** Called when a connection exceeds `maxConnections`. */
  onTooMany?(): void;
  /**
   * Called for each connection. @returns the maximum number of open connections of this address or IPv6 /64 network; 0
   * (default): no limit. A connection beyond the limit is closed at once.
   */
  mostOf?(remoteAddress: string): number;
}

export interface Listener {
  readonly port: number;
  /** Addresses that were bound. */
  readonly addresses: readonly string[];
  /** New sockets get this certificate; open ones keep theirs. Only for a TLS port. */
  useCertificate(tls: SecureContextOptions): void;
  /** Stops accepting sockets. Open sockets stay open. */
  refuse(): void;
  /**
   * Disconnects the remaining HTTP clients; the owner of the WebSockets closes those. Resolves when every socket is
   * closed.
   */
  close(): Promise<void>;
}

/** @throws StartupRefusal the first address cannot be bound, e.g. the port is in use or the machine does not have the address */
export async function listen(options: ListenOptions): Promise<Listener> {
  const { addresses, port, headers, tls, onRequest, onSocket } = options;
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_PAYLOAD_BYTES.afterConnect,
    ...PIECES,
    perMessageDeflate: false,
    clientTracking: false,
  });
  const Response = responsesWith(headers);
  sockets.on("headers", (lines: string[]) => {
    for (const [name, value] of Object.entries(headers())) lines.push(`${name}: ${value}`);
  });
  sockets.on("wsClientError", (error: Error, socket: Duplex, request: IncomingMessage) =>
    refuseUpgrade(new Response(request), socket as Socket, error.message),
  );
  const https = tls && (await import("node:https"));
  const servers: (Server | TlsServer)[] = [];
  const bound: string[] = [];
  let taken = port;
  const count = countConnections(options);
  for (const address of addresses) {
    const own = { ServerResponse: Response };
    const server = https?.createServer({ ...own, ...tls }, onRequest) ?? createServer(own, onRequest);
    server.on("connection", count);
    server.on(https ? "secureConnection" : "connection", watch);
    if (https) server.on("tlsClientError", refuseClearText);
    server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      socket.on("error", cutOff);
      if (options.isLeaving?.()) return refuseUpgrade(new Response(request), socket as Socket, LEAVING, 503);
      const why = options.refuses?.(request.url ?? "");
      if (why !== undefined) return refuseUpgrade(new Response(request), socket as Socket, why, 426);
      const refuse = ({ status, headers: own, body }: HttpRefusal) =>
        refuseUpgrade(new Response(request), socket as Socket, body.error.message, status, own);
      if (options.takes?.({ request, socket, head, refuse })) return;
      socket.cork(); // sends the upgrade response and the challenge in one packet
      sockets.handleUpgrade(request, socket, head, (ws) => onSocket(ws, socket, request));
      process.nextTick(uncork, socket);
    });
    try {
      taken = await bind(server, address, taken);
      servers.push(server);
      bound.push(address);
    } catch (error) {
      if (bound.length === 0) throw refusal(error as NodeJS.ErrnoException, address, port);
    }
  }
  let closed: Promise<unknown> | undefined;
  const refuse = () => {
    closed ??= Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  };
  return {
    port: taken,
    addresses: bound,
    useCertificate(next) {
      for (const server of servers) (server as TlsServer).setSecureContext(next);
    },
    refuse,
    async close() {
      refuse();
      sockets.close();
      for (const server of servers) server.closeAllConnections();
      await closed;
    },
  };
}

function watch(socket: Socket): void {
  shareOf(socket).watch(socket);
}

/** Counts the connections of all bound addresses together, and per remote address. */
function countConnections({ maxConnections = Number.POSITIVE_INFINITY, onTooMany, mostOf }: ListenOptions) {
  let open = 0;
  const counts = new AddressCount();
  return (socket: Socket) => {
    if (open >= maxConnections) {
      socket.destroy();
      return onTooMany?.();
    }
    const { remoteAddress = "" } = socket;
    const most = mostOf?.(remoteAddress) ?? 0;
    open++;
    socket.once("close", () => {
      open--;
      counts.remove(remoteAddress);
    });
    if (counts.add(remoteAddress) > most && most > 0) socket.destroy();
  };
}

/** Rejects a WebSocket upgrade. @param why message of the library, of `refuses`, or of a plugin */
function refuseUpgrade(
  response: ServerResponse,
  socket: Socket,
  why: string,
  status = 400,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.assignSocket(socket);
  response.once("finish", () => socket.destroySoon());
  const isMethod = why === "Invalid HTTP method";
  response.writeHead(isMethod ? 405 : status, {
    ...headers,
    "Content-Type": "text/plain; charset=utf-8",
    "Content-Length": Buffer.byteLength(why),
    "Sec-WebSocket-Version": "13, 8",
    ...(isMethod ? { Allow: "GET" } : {}),
    Connection: "close",
  });
  response.end(why);
}

const LEAVING = "This gateway is stopping. Connect to another one.";
const CLEAR_TEXT = "This port speaks TLS. Use https:// or wss:// instead of http:// or ws://.\n";

/** Answers HTTP without TLS on a TLS port. Node exposes the underlying socket only as `_parent`. */
function refuseClearText(error: NodeJS.ErrnoException, socket: TLSSocket & { readonly _parent?: Socket }): void {
  if (error.code !== "ERR_SSL_HTTP_REQUEST") return;
  const lines = [
    "Content-Type: text/plain; charset=utf-8",
    `Content-Length: ${CLEAR_TEXT.length}`,
    "Connection: close",
  ];
  socket._parent?.end(["HTTP/1.1 400 Bad Request", ...lines, "", CLEAR_TEXT].join("\r\n"));
}

/**
 * This function is at module level, because a closure in the upgrade handler would keep the request of every connection
 * in memory.
 */
function cutOff(this: Duplex): void {
  this.destroy();
}

/** The upgrade handler queues this call with `nextTick`, after the code that writes the challenge. */
function uncork(socket: Duplex): void {
  socket.uncork();
}

function bind(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port, exclusive: true, backlog: BACKLOG }, () => {
      server.off("error", reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

function refusal(error: NodeJS.ErrnoException, address: string, port: number): StartupRefusal {
  if (error.code === "EADDRINUSE") {
    return new StartupRefusal(
      `port ${port} on ${address} is already in use, perhaps by another gateway\nNext: run svc gateway stop, or choose another port: svc gateway run --port <port>`,
    );
  }
  const next =
    error.code === "EADDRNOTAVAIL"
      ? "set gateway.customBindHost to an address of this machine; it does not have the address above"
      : "choose another port with --port, or another address with gateway.bind";
  return new StartupRefusal(`cannot listen on ${address} port ${port}: ${error.message}\nNext: ${next}`);
}
