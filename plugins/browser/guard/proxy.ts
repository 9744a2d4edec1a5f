/**
 * The only way of the browser to any network: a proxy on a loopback port that resolves each name, refuses addresses that
 * are not public, and connects to the checked address. Redirects, subresources, WebSockets, downloads and changing DNS
 * answers all pass here, because Chromium sends everything to its proxy and resolves no name itself.
 */
import { type Connect, dial } from "@svc/kit/net";
import { type Clock, messageOf } from "@svc/sdk";
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { Recent } from "../recent.ts";
import type { Vet } from "./policy.ts";

export interface GuardDeps {
  readonly vet: Vet;
  readonly connect: Connect;
  readonly clock: Pick<Clock, "setTimeout">;
}

/** A refused request. */
export interface GuardRefusal {
  readonly host: string;
  readonly reason: string;
}

/** The running proxy. */
export interface Guard {
  readonly port: number;
  /** Only who presents these is served; random. */
  readonly username: string;
  readonly password: string;
  /** Checks a host as the proxy does. */
  readonly vet: Vet;
  readonly refused: Recent<GuardRefusal>;
  close(): Promise<void>;
}

const CONNECT_MS = 15_000;
/** A connection without traffic is closed. */
const IDLE_MS = 5 * 60_000;
const MAX_CONNECTIONS = 512;
const MAX_REFUSALS = 50;
/** Fields of a message to a proxy that the server behind it must not receive. */
const HOP_BY_HOP = [
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];

export async function startGuard({ vet, connect, clock }: GuardDeps): Promise<Guard> {
  const username = "svc";
  const password = randomBytes(24).toString("base64url");
  const expected = digest(`Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`);
  const isBrowser = ({ headers }: IncomingMessage) =>
    timingSafeEqual(digest(headers["proxy-authorization"] ?? ""), expected);
  const stopping = new AbortController();
  const refused = new Recent<GuardRefusal>(MAX_REFUSALS);
  const sockets = new Set<Duplex>();
  const keep = <S extends Socket>(socket: S): S => {
    sockets.add(socket);
    socket.setTimeout(IDLE_MS, () => socket.destroy());
    socket.on("error", () => socket.destroy()).once("close", () => sockets.delete(socket));
    return socket;
  };

  /** @returns a connection, or why there is none */
  async function reach(url: URL | undefined): Promise<Socket | string> {
    if (url === undefined) return "this is not the address of a web server";
    try {
      const { port, addresses } = await vet(url);
      return keep(await dial(addresses, port, { connect, clock, timeoutMs: CONNECT_MS, signal: stopping.signal }));
    } catch (error) {
      const reason = messageOf(error);
      refused.add({ host: url.hostname, reason });
      return reason;
    }
  }

  const server = createServer(async (incoming, response) => {
    if (!isBrowser(incoming)) return void response.writeHead(407, CHALLENGE).end();
    const url = targetOf(incoming.url ?? "");
    const socket = await reach(url);
    if (typeof socket === "string") return answer(response, 403, socket);
    if (response.destroyed) return void socket.destroy(); // the browser left meanwhile
    if (url) forward(incoming, response, url, socket);
  });
  server.on("connect", (incoming, client: Socket, head) => {
    keep(client);
    if (!isBrowser(incoming))
      return void client.end(`${line(407)}Proxy-Authenticate: Basic realm="svc"\r\nContent-Length: 0\r\n\r\n`);
    void reach(targetOf(`https://${incoming.url ?? ""}`)).then((socket) => {
      if (typeof socket === "string") return client.end(`${line(403)}Content-Length: 0\r\n\r\n`);
      if (client.destroyed) return socket.destroy();
      client.write(`${line(200)}\r\n`);
      socket.write(head);
      socket.pipe(client).pipe(socket);
      client.once("close", () => socket.destroy());
      return socket.once("close", () => client.destroy());
    });
  });
  server.on("connection", keep);
  server.on("clientError", (_, socket) => socket.destroy());
  server.maxConnections = MAX_CONNECTIONS;
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo; // of a TCP server
  server.unref();
  return {
    port,
    username,
    password,
    vet,
    refused,
    async close() {
      stopping.abort(new Error("the browser was stopped"));
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

function forward(incoming: IncomingMessage, response: ServerResponse, url: URL, socket: Socket): void {
  const onward = request({
    createConnection: () => socket,
    method: incoming.method ?? "GET",
    path: `${url.pathname}${url.search}`,
    headers: { ...withoutHops(incoming.headers), host: url.host, connection: "close" },
    setHost: false,
  });
  onward.once("response", (reply) => {
    response.writeHead(reply.statusCode ?? 502, withoutHops(reply.headers));
    reply.pipe(response);
    reply.once("error", () => response.destroy());
  });
  onward.once("error", () =>
    response.headersSent ? response.destroy() : answer(response, 502, "the server does not respond"),
  );
  response.once("close", () => socket.destroy());
  incoming.pipe(onward);
}

function withoutHops(headers: IncomingHttpHeaders): Record<string, string | string[]> {
  const named = (headers.connection ?? "").split(",").map((name) => name.trim().toLowerCase());
  const kept = Object.entries(headers).filter(([name]) => !HOP_BY_HOP.includes(name) && !named.includes(name));
  return Object.fromEntries(kept) as Record<string, string | string[]>; // no value of a received header is undefined
}

const CHALLENGE = { "proxy-authenticate": 'Basic realm="svc"', "content-length": "0" };

function line(status: 200 | 403 | 407): string {
  return `HTTP/1.1 ${status} ${status === 200 ? "Connected" : "Refused"}\r\n`;
}

function answer(response: ServerResponse, status: number, reason: string): void {
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" });
  response.end(`The gateway did not connect: ${reason}\n`);
}

function targetOf(text: string): URL | undefined {
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  return url.protocol === "http:" || url.protocol === "https:" ? url : undefined;
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
