/** A local Slack: the used methods of the Web API, uploads, and Socket Mode. */
import { EventEmitter, once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import { type WebSocket, WebSocketServer } from "ws";

/** A call of the Web API. */
export interface SlackCall {
  readonly method: string;
  readonly args: Readonly<Record<string, string>>;
  readonly token: string;
}

/** An answer in place of the usual one. */
interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object | string;
  /** Never answers. */
  readonly hangs?: boolean;
}

export const BOT = "U000000BOT";
export const TEAM = "T00000001";
const OK: Readonly<Record<string, (args: SlackCall["args"], address: string) => object>> = {
  "auth.test": () => ({ user_id: BOT, user: "svc", team_id: TEAM, team: "Acme", bot_id: "B00000001" }),
  "apps.connections.open": (_, address) => ({ url: `${address.replace("http", "ws")}/link?ticket=${Math.random()}` }),
  "chat.postMessage": ({ channel }) => ({ channel, ts: "1700000000.000900" }),
  "chat.update": ({ channel, ts }) => ({ channel, ts }),
  "reactions.add": () => ({}),
  "reactions.remove": () => ({}),
  "conversations.open": ({ users }) => ({ channel: { id: `D${users?.slice(1)}` } }),
  "conversations.history": () => ({ messages: [] }),
  "conversations.replies": () => ({ messages: [] }),
  "users.info": ({ user }) => ({ user: { id: user, profile: { display_name: `Name of ${user}` } } }),
  "files.info": ({ file }, address) => ({
    file: { id: file, url_private_download: `${address}/files/${file}/download` },
  }),
  "files.getUploadURLExternal": (_, address) => ({ upload_url: `${address}/upload/F1`, file_id: "F1" }),
  "files.completeUploadExternal": () => ({ files: [{ id: "F1" }] }),
};

export type SlackServer = Awaited<ReturnType<typeof startSlack>>;

export async function startSlack(t: Pick<TestContext, "after">) {
  const calls: SlackCall[] = [];
  const uploads: string[] = [];
  const planned = new Map<string, Answer[]>();
  const news = new EventEmitter();
  /** Envelopes without an acknowledgement, by id. */
  const open = new Map<string, { readonly text: string; readonly acked: (answer: unknown) => void }>();
  let ids = 0;
  let socket: WebSocket | undefined;
  let isDeaf = false;

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer); // a request has no encoding
    const text = Buffer.concat(chunks).toString();
    const path = new URL(request.url ?? "/", "http://localhost").pathname;
    if (path.startsWith("/upload/")) {
      uploads.push(text);
      response.writeHead(200, { connection: "close" }).end("OK");
      return;
    }
    const method = path.slice("/api/".length);
    const args = Object.fromEntries(new URLSearchParams(text));
    const token = (request.headers.authorization ?? "").replace("Bearer ", "");
    calls.push({ method, args, token });
    news.emit("call");
    const {
      status = 200,
      headers = {},
      body = { ok: true, ...OK[method]?.(args, address) },
      hangs = false,
    } = planned.get(method)?.shift() ?? {};
    if (hangs) return;
    response.writeHead(status, { "content-type": "application/json", connection: "close", ...headers });
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  }

  const server = createServer((request, response) => void handle(request, response)).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // a TCP server has one
  const sockets = new WebSocketServer({ server, autoPong: false });
  sockets.on("connection", (link) => {
    socket = link;
    link.on("ping", (data) => isDeaf || link.pong(data));
    link.on("message", (data) => {
      const { envelope_id: id, payload } = JSON.parse((data as Buffer).toString()) as {
        envelope_id: string;
        payload: unknown;
      }; // the default of ws is a Buffer; sent by the library
      open.get(id)?.acked(payload);
      open.delete(id);
      news.emit("ack");
    });
    link.send(JSON.stringify({ type: "hello", num_connections: 1 }));
    for (const { text } of open.values()) link.send(text);
    news.emit("link");
  });
  t.after(async () => {
    for (const link of sockets.clients) link.terminate();
    sockets.close();
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });

  /** Waits until the condition holds; checks it whenever something happens here. */
  const until = async (holds: () => boolean): Promise<void> => {
    while (!holds()) await Promise.race([once(news, "call"), once(news, "ack"), once(news, "link")]);
  };

  return {
    address,
    apiUrl: `${address}/api/`,
    uploads,
    until,
    callsOf: (method: string) => calls.filter((call) => call.method === method),
    /** The next call of a method gets this answer. */
    plan: (method: string, answer: Answer) => void planned.set(method, [...(planned.get(method) ?? []), answer]),
    unacknowledged: () => open.size,
    /** Sends a text as it is. */
    sendRaw: (text: string) => socket?.send(text),
    /** Sends an envelope, again over each new connection until it is acknowledged. @returns the acknowledgement */
    deliver(type: string, payload: unknown): Promise<unknown> {
      const id = `envelope-${++ids}`;
      const text = JSON.stringify({ type, envelope_id: id, payload, accepts_response_payload: type !== "events_api" });
      return new Promise((acked) => {
        open.set(id, { text, acked });
        socket?.send(text);
      });
    },
    cut: () => socket?.terminate(),
    /** Answers no more pings, and does not close connections. */
    deafen() {
      isDeaf = true;
      socket?.pause();
    },
  };
}
