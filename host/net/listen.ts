/** One port for HTTP and WebSocket, on one or several addresses. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Server as TlsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { SecureContextOptions, TLSSocket } from "node:tls";
import { MAX_PAYLOAD_BYTES } from "@svc/sdk/protocol";
import { type WebSocket, WebSocketServer } from "ws";
import { StartupRefusal } from "../auth/mode.ts";
import { AddressCount } from "./address-count.ts";
import { responsesWith } from "./http/security-headers.ts";
import { shareOf } from "./scheduler.ts";

/** Choice: pieces of one message. A client that sends pieces of 4 KiB can send the largest message; pieces of a byte cost 1 µs each. */
const PIECES = { maxFragments: 8_192 }; // the types of ws do not know it

/** Choice: sockets that wait to be accepted. With node's 511, a burst of one client makes others wait until they try again, for seconds. */
const BACKLOG = 2_048;

export interface ListenOptions {
  /** The first must be free; further ones are taken when the machine has them. */
  readonly addresses: readonly string[];
  /** 0 picks a free one. */
  readonly port: number;
  /** Of every HTTP response. Called for each. */
  headers(): Readonly<Record<string, string>>;
  /** The port speaks TLS with this certificate. Default: it speaks in clear. */
  readonly tls?: SecureContextOptions;
  onRequest(request: IncomingMessage, response: ServerResponse): void;
  onSocket(ws: WebSocket, socket: Duplex, request: IncomingMessage): void;
  /** Connections at once; one more is cut off. Default: no limit. */
  readonly maxConnections?: number | undefined;
  /** One more than that came. */
  onTooMany?(): void;
  /** Connections of one address, or of one IPv6 /64 network, at once; one more is cut off. 0: no limit, which is the default. Called for each. */
  mostOf?(remoteAddress: string): number;
}

export interface Listener {
  readonly port: number;
  /** Addresses that are really listened on. */
  readonly addresses: readonly string[];
  /** New sockets get this certificate; open ones go on. Only for a port that speaks TLS. */
  useCertificate(tls: SecureContextOptions): void;
  /** No new sockets; open ones go on. */
  refuse(): void;
  /** Cuts what is left. Resolves when every socket is gone. */
  close(): Promise<void>;
}

/** @throws StartupRefusal the port is taken, or the address is not of this machine */
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
      socket.cork(); // the answer to the upgrade and the challenge leave in one packet
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

/** Counts the connections of all addresses that are listened on together, and those of each address that they come from. */
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

/** An upgrade that is not one to a WebSocket. @param why of the library, in its words */
function refuseUpgrade(response: ServerResponse, socket: Socket, why: string): void {
  response.assignSocket(socket);
  response.once("finish", () => socket.destroySoon());
  const isMethod = why === "Invalid HTTP method";
  response.writeHead(isMethod ? 405 : 400, {
    "Content-Type": "text/plain; charset=utf-8",
    "Content-Length": Buffer.byteLength(why),
    "Sec-WebSocket-Version": "13, 8",
    ...(isMethod ? { Allow: "GET" } : {}),
    Connection: "close",
  });
  response.end(why);
}

const CLEAR_TEXT = "This port speaks TLS. Use https:// or wss:// instead of http:// or ws://.\n";

/** HTTP in clear on a port that speaks TLS. Below the TLS socket lies the one it came by, which Node names only like this. */
function refuseClearText(error: NodeJS.ErrnoException, socket: TLSSocket & { readonly _parent?: Socket }): void {
  if (error.code !== "ERR_SSL_HTTP_REQUEST") return;
  const lines = [
    "Content-Type: text/plain; charset=utf-8",
    `Content-Length: ${CLEAR_TEXT.length}`,
    "Connection: close",
  ];
  socket._parent?.end(["HTTP/1.1 400 Bad Request", ...lines, "", CLEAR_TEXT].join("\r\n"));
}

/** At module level: a closure of the upgrade handler would keep the request of every connection alive. */
function cutOff(this: Duplex): void {
  this.destroy();
}

/** Behind the tick in which the challenge is written. */
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
      `port ${port} on ${address} is taken, perhaps by another gateway\nNext: svc gateway stop, or choose another port: svc gateway run --port <port>`,
    );
  }
  const next =
    error.code === "EADDRNOTAVAIL"
      ? "this machine has no such address; set gateway.customBindHost to one it has"
      : "choose another port with --port, or another address with gateway.bind";
  return new StartupRefusal(`cannot listen on ${address} port ${port}: ${error.message}\nNext: ${next}`);
}
