/** A small Discord: the requests and the gateway connection that the plugin uses, with resumption. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { type WebSocket, WebSocketServer } from "ws";

export const TOKEN = "token-of-the-test";
export const BOT = { id: "150000000000000001", username: "svc-bot", global_name: null, bot: true };
export const APPLICATION = "150000000000000002";
const SESSION = "session-1";

export interface Recorded {
  readonly method: string;
  /** Without the version. */
  readonly path: string;
  readonly authorization: string | undefined;
  readonly body: Record<string, unknown>;
  readonly files: readonly { readonly name: string; readonly type: string; readonly bytes: Uint8Array }[];
}

interface Reply {
  readonly status?: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export type DiscordServer = Awaited<ReturnType<typeof startDiscord>>;

/** @param options `closesWith`: code that answers every login */
export async function startDiscord(
  t: { after(work: () => Promise<void>): void },
  options: { readonly closesWith?: number; readonly hello?: boolean } = {},
) {
  const requests: Recorded[] = [];
  const awaited: { readonly pattern: RegExp; readonly resolve: (request: Recorded) => void }[] = [];
  const replies = new Map<string, Reply[]>();
  const events: { readonly op: 0; readonly t: string; readonly d: unknown; readonly s: number }[] = [];
  const logins: { readonly op: number; readonly d: Record<string, unknown> }[] = [];
  const sockets = new Set<WebSocket>();
  let isMute = false;
  let isForgotten = false;
  let refusal: number | undefined;
  let nextId = 170_000_000_000_000_000n;
  const newId = () => String(++nextId);

  const usual: [request: RegExp, reply: (request: Recorded, path: string[]) => unknown][] = [
    [/^GET \/gateway\/bot$/, () => ({ url: `ws://127.0.0.1:${port()}`, shards: 1, session_start_limit: LIMIT })],
    [/^GET \/oauth2\/applications\/@me$/, () => ({ id: APPLICATION, name: "app", bot: BOT, flags: 1 << 19 })],
    [/^POST \/users\/@me\/channels$/, ({ body }) => ({ id: `19${String(body["recipient_id"]).slice(2)}`, type: 1 })],
    [
      /^POST \/channels\/\d+\/messages$/,
      ({ body }, [, channelId]) => ({ ...body, id: newId(), channel_id: channelId, author: BOT, poll: pollOf(body) }),
    ],
    [/^PATCH \/channels\/\d+\/messages\/\d+$/, ({ body }) => body],
    [/^GET \/applications\/\d+\/commands$/, () => []],
    [/^PUT \/applications\/\d+\/commands$/, ({ body }) => body],
    [/^(?:PUT|DELETE|POST) /, () => undefined],
  ];

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const recorded = await read(request);
    const line = `${recorded.method} ${recorded.path}`;
    requests.push(recorded);
    const at = awaited.findIndex(({ pattern }) => pattern.test(line));
    if (at >= 0) awaited.splice(at, 1)[0]?.resolve(recorded);
    const isKnown = recorded.authorization === `Bot ${TOKEN}` || recorded.path.startsWith("/interactions/");
    const [, handler] = usual.find(([pattern]) => pattern.test(line)) ?? [];
    const { status, body, headers } = !isKnown
      ? { status: 401, body: { code: 0, message: "401: Unauthorized" }, headers: {} }
      : (replies.get(line)?.shift() ??
        (handler
          ? { status: undefined, body: handler(recorded, recorded.path.split("/").slice(1)), headers: {} }
          : { status: 404, body: { code: 10_003, message: "Unknown Channel" }, headers: {} }));
    const type = body === undefined ? {} : { "content-type": "application/json" };
    const all = { ...type, connection: "close", ...headers };
    response
      .writeHead(status ?? (body === undefined ? 204 : 200), all)
      .end(body === undefined ? undefined : JSON.stringify(body));
  }

  const http = createServer((request, response) => void serve(request, response));
  const port = () => (http.address() as AddressInfo).port; // it listens on TCP
  const gateway = new WebSocketServer({ server: http });
  gateway.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", (code) => {
      sockets.delete(socket);
      if (code === 1000) isForgotten = true;
    });
    const say = (payload: object) => socket.send(JSON.stringify(payload));
    if (options.hello !== false) say({ op: 10, d: { heartbeat_interval: 40_000 } });
    socket.on("message", (raw: Buffer) => {
      const { op, d } = JSON.parse(raw.toString()) as (typeof logins)[number]; // the library sends valid payloads
      if (op === 1) say({ op: 11 });
      if (op !== 2 && op !== 6) return;
      logins.push({ op, d });
      if (d["token"] !== TOKEN) return socket.close(4004);
      if (options.closesWith !== undefined) return socket.close(options.closesWith);
      if (op === 2) isForgotten = false;
      if (op === 6 && isForgotten) return refusal === undefined ? say({ op: 9, d: false }) : socket.close(refusal);
      if (op === 6) {
        for (const event of events) if (event.s > Number(d["seq"])) say(event);
        return say({ op: 0, t: "RESUMED", d: {}, s: events.length });
      }
      const ready = {
        user: BOT,
        application: { id: APPLICATION },
        session_id: SESSION,
        resume_gateway_url: `ws://127.0.0.1:${port()}`,
      };
      dispatch("READY", ready);
    });
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  t.after(async () => {
    for (const socket of sockets) socket.terminate();
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  });

  /** Sends an event; a connection that resumes gets it later. @returns its data */
  function dispatch<D>(type: string, d: D): D {
    const event = { op: 0, t: type, d, s: events.length + 1 } as const;
    events.push(event);
    for (const socket of sockets) if (!isMute) socket.send(JSON.stringify(event));
    return d;
  }

  return {
    requests,
    logins,
    config: (more: object = {}) => ({
      channels: { discord: { token: TOKEN, apiUrl: `http://127.0.0.1:${port()}/api`, heartbeatMs: 200, ...more } },
    }),
    newId,
    dispatch,
    /** Sends the last event again. */
    repeat() {
      for (const socket of sockets) socket.send(JSON.stringify(events.at(-1)));
    },
    /** Sends text as it is. */
    raw(text: string) {
      for (const socket of sockets) socket.send(text);
    },
    /** @param code default: without a farewell */
    cut(code?: number) {
      for (const socket of sockets)
        if (code === undefined) socket.terminate();
        else socket.close(code);
    },
    /** Keeps the connections, but neither reads nor sends. */
    mute(value: boolean) {
      isMute = value;
      for (const socket of sockets)
        if (value) socket.pause();
        else socket.resume();
    },
    /** Refuses to resume. @param code closes the connection; default: asks for a new login */
    forget(code?: number) {
      isForgotten = true;
      refusal = code;
    },
    /** Answers the next such request, e.g. `GET /users/@me`. */
    replies(line: string, reply: Reply) {
      replies.set(line, [...(replies.get(line) ?? []), reply]);
    },
    /** The first request that matches, now or later. */
    async requested(pattern: RegExp): Promise<Recorded> {
      const found = requests.find(({ method, path }) => pattern.test(`${method} ${path}`));
      return found ?? soon(new Promise((resolve) => awaited.push({ pattern, resolve })));
    },
  };
}

/** @throws Error if it does not happen within five seconds */
export async function soon<T>(promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("it did not happen within five seconds")), 5_000);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

const LIMIT = { total: 1_000, remaining: 999, reset_after: 86_400_000, max_concurrency: 1 };

function pollOf({ poll }: Record<string, unknown>): unknown {
  const { answers } = Object(poll) as { readonly answers?: readonly object[] };
  return answers && { answers: answers.map((answer, at) => ({ ...answer, answer_id: at + 1 })) };
}

async function read(request: IncomingMessage): Promise<Recorded> {
  const { method = "", url = "", headers } = request;
  const bytes = await buffer(request);
  const isForm = headers["content-type"]?.startsWith("multipart/") === true;
  const form = isForm
    ? await new Response(bytes, { headers: { "content-type": headers["content-type"] ?? "" } }).formData()
    : undefined;
  const json = form ? (form.get("payload_json") as string) : bytes.toString(); // a text field
  const uploads = [...(form?.values() ?? [])].filter((value) => typeof value !== "string");
  return {
    method,
    path: url.replace(/^\/api\/v10/, "").replace(/\?.*$/, ""),
    authorization: headers.authorization,
    body: json === "" ? {} : (JSON.parse(json) as Record<string, unknown>), // the library sends objects and arrays
    files: await Promise.all(
      uploads.map(async (file) => ({
        name: file.name,
        type: file.type,
        bytes: new Uint8Array(await file.arrayBuffer()),
      })),
    ),
  };
}
