/** The test server over HTTP, in the process of the test. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { createTestServer } from "./server-tools.ts";

/** A server of any kind on a free port. */
export async function listen(t: TestContext, handle: RequestListener) {
  const server = createServer(handle);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo; // a TCP server that listens has one
  return { url: `http://127.0.0.1:${port}`, server };
}

export interface HttpServer {
  /** Address for streamable HTTP. */
  readonly url: string;
  /** Address for SSE. */
  readonly sse: string;
  /** `<method> <path>` and the headers of each request. */
  readonly requests: readonly { readonly line: string; readonly headers: IncomingMessage["headers"] }[];
  /** Forgets its sessions, as after a restart. */
  forget(): void;
  /** Sessions that clients have ended. */
  readonly goodbyes: number;
}

/** `/mcp` and `/sse`; `/moved` redirects to `/mcp`. */
export async function startHttpServer(t: TestContext): Promise<HttpServer> {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const streams = new Map<string, SSEServerTransport>();
  const requests: { line: string; headers: IncomingMessage["headers"] }[] = [];
  let goodbyes = 0;

  async function open(): Promise<StreamableHTTPServerTransport> {
    const transport: StreamableHTTPServerTransport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (id) => void sessions.set(id, transport),
      onsessionclosed: () => void (goodbyes += 1),
    });
    await createTestServer().connect(transport as never); // its properties may be undefined, which the interface does not declare
    return transport;
  }

  async function answer(...[req, res]: Parameters<RequestListener>): Promise<void> {
    const url = new URL(req.url ?? "", "http://x");
    requests.push({ line: `${req.method} ${url.pathname}`, headers: req.headers });
    if (url.pathname === "/moved") return void res.writeHead(307, { location: "/mcp" }).end();
    if (url.pathname === "/sse") {
      const transport = new SSEServerTransport("/messages", res);
      streams.set(transport.sessionId, transport);
      return createTestServer().connect(transport);
    }
    if (url.pathname === "/messages") {
      return streams.get(url.searchParams.get("sessionId") ?? "")?.handlePostMessage(req, res);
    }
    const id = req.headers["mcp-session-id"];
    const session = typeof id === "string" ? sessions.get(id) : await open();
    if (!session) return void res.writeHead(404).end("no such session");
    return session.handleRequest(req, res);
  }

  const { url } = await listen(t, (req, res) => {
    answer(req, res).catch((error: unknown) => res.destroy(error as Error)); // a broken test server must be visible
  });
  return {
    url: `${url}/mcp`,
    sse: `${url}/sse`,
    requests,
    forget: () => sessions.clear(),
    get goodbyes() {
      return goodbyes;
    },
  };
}
