/**
 * A model server for tests: real HTTP on 127.0.0.1, the public chat-completions API, answers from a script.
 *
 *     await using server = await startFakeModelServer({ replies: [{ text: "hi" }, { status: 429, retryAfter: 1 }] });
 *     // point models.providers.<name>.baseUrl at server.url
 *     assert.equal(server.requests[0]?.body.model, "fake-model");
 */
import { once, setMaxListeners } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text as readText } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";

/** What to answer. An empty one echoes the last user message. */
export interface FakeModelReply {
  /** Default: the text of the last user message, or nothing beside tool calls. */
  readonly text?: string;
  /** The text as it is streamed. Default: word by word. */
  readonly pieces?: readonly string[];
  /** Streamed before the text, as `reasoning_content`. */
  readonly thinking?: string;
  /** Milliseconds before each piece. Default 0. */
  readonly delayMs?: number;
  /** `arguments`: an object, or a string to be sent as it is. `id` default: `call_<n>`, counted over the server's life. */
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: unknown; readonly id?: string }[];
  /** Default: words counted; `false`: never sent, as some servers do. A stream carries it only when asked. */
  readonly usage?: Readonly<Record<string, unknown>> | false;
  /** Default: `stop`, or `tool_calls`; `null`: never sent. */
  readonly finishReason?: string | null;
  /** An error instead of an answer, e.g. 429 or 500. */
  readonly status?: number;
  /** Seconds, as the header `retry-after` of an error. */
  readonly retryAfter?: number;
  /** Text of an error. */
  readonly message?: string;
  /** Cuts the connection after this many pieces; 0: right after the headers. */
  readonly breakAfter?: number;
  /** Goes silent after this many pieces, with the connection open. */
  readonly hangAfter?: number;
  /** Sends text that is not JSON after the pieces. */
  readonly malformed?: true;
}

/** A request as it came. */
export interface FakeModelRequest {
  readonly headers: IncomingHttpHeaders;
  /** Parsed. */
  readonly body: FakeModelBody;
  /** The client closed the connection before the answer was over. */
  readonly aborted: boolean;
  /** Resolves when the answer is over or the connection is closed. */
  readonly closed: Promise<void>;
}

/** The fields a script looks at; all others are there, too. */
export interface FakeModelBody {
  readonly model?: string;
  readonly messages?: readonly {
    readonly role: string;
    readonly content?: unknown;
    readonly [field: string]: unknown;
  }[];
  readonly tools?: readonly unknown[];
  readonly stream?: boolean;
  readonly stream_options?: { readonly include_usage?: boolean };
  readonly [field: string]: unknown;
}

/** What the server answers: a list used up one by one, or a function of the request. */
export type FakeModelScript = (request: FakeModelRequest, index: number) => FakeModelReply | Promise<FakeModelReply>;

/** How the server behaves. */
export interface FakeModelServerOptions {
  /** Answers in order, then echoes; or a function of the request and its number, from 0. */
  readonly replies?: readonly FakeModelReply[] | FakeModelScript;
  /** Listed by `GET /v1/models`; others get 404. Default: `["fake-model"]` is listed and any is answered. */
  readonly models?: readonly string[];
  /** Refuses other keys with 401. Default: any, or none. */
  readonly apiKey?: string;
}

/** A running fake model server. */
export interface FakeModelServer extends AsyncDisposable {
  /** Base URL, ending in `/v1`. */
  readonly url: string;
  /** Every question, oldest first; those with a wrong key were never read. */
  readonly requests: readonly FakeModelRequest[];
  /** Adds answers to the queue; they go before the function of `replies`. */
  reply(...replies: readonly FakeModelReply[]): void;
  /** Stops listening and drops open connections. Safe to call twice. */
  close(): Promise<void>;
}

/** Starts a server on a free port. */
export async function startFakeModelServer(options: FakeModelServerOptions = {}): Promise<FakeModelServer> {
  const requests: FakeModelRequest[] = [];
  const queue: FakeModelReply[] = Array.isArray(options.replies) ? [...options.replies] : [];
  const script: FakeModelScript = typeof options.replies === "function" ? options.replies : () => ({});
  const stopping = new AbortController();
  setMaxListeners(0, stopping.signal); // every paced answer waits on it
  let toolCalls = 0;

  async function complete(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const request = await record(req, res, stopping.signal);
    requests.push(request);
    const { model = "", stream } = request.body;
    if (options.models && !options.models.includes(model)) return sendError(res, 404, `No such model: ${model}`);
    const scripted = queue.shift() ?? (await script(request, requests.length - 1));
    const { status, message = "Scripted error", retryAfter } = scripted;
    if (status !== undefined) return sendError(res, status, message, retryAfter);
    const reply = decide(scripted, request.body, () => ++toolCalls);
    return stream ? sendStream(res, request.body, reply, stopping.signal) : sendWhole(res, reply, stopping.signal);
  }

  async function route(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const path = req.url?.split("?")[0] ?? "/";
    const key = req.headers.authorization?.replace(/^Bearer /u, "");
    const known = options.apiKey === undefined || key === options.apiKey;
    if (!known) return sendError(res, 401, `Incorrect API key provided: ${key ?? "none"}`);
    if (req.method === "GET" && path === "/v1/models") return sendModels(res, options.models ?? ["fake-model"]);
    if (req.method === "POST" && path === "/v1/chat/completions") return complete(req, res);
    return sendError(res, 404, `Unknown path ${path}`);
  }

  const server = createServer((req, res) => {
    route(req, res).catch((error: unknown) => {
      if (res.headersSent) res.destroy();
      else sendError(res, 500, `fake model server: ${String(error)}`);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // a TCP server that listens has one
  let closing: Promise<void> | undefined;
  const close = () =>
    (closing ??= new Promise((resolve) => {
      stopping.abort();
      server.close(() => resolve());
      server.closeAllConnections();
    }));
  return {
    url: `http://127.0.0.1:${port}/v1`,
    requests,
    reply: (...replies) => void queue.push(...replies),
    close,
    [Symbol.asyncDispose]: close,
  };
}

async function record(req: IncomingMessage, res: ServerResponse, stop: AbortSignal): Promise<FakeModelRequest> {
  let aborted = false;
  const closed = new Promise<void>((resolve) => {
    res.once("close", () => {
      aborted = !res.writableFinished && !cut.has(res) && !stop.aborted;
      resolve();
    });
  });
  const body = JSON.parse((await readText(req)) || "{}") as FakeModelBody; // a script sees what came, whatever it is
  return {
    headers: req.headers,
    body,
    closed,
    get aborted() {
      return aborted;
    },
  };
}

/** Responses this server cut itself. */
const cut = new WeakSet<ServerResponse>();

/** A reply with nothing left to decide. */
interface CompleteReply extends FakeModelReply {
  readonly pieces: readonly string[];
  readonly calls: readonly { id: string; type: "function"; function: { name: string; arguments: string } }[];
  readonly finish: string | null;
  readonly tokens: Readonly<Record<string, unknown>> | undefined;
}

function decide(reply: FakeModelReply, body: FakeModelBody, count: () => number): CompleteReply {
  const calls = (reply.toolCalls ?? []).map(({ name, arguments: args, id }) => ({
    id: id ?? `call_${count()}`,
    type: "function" as const,
    function: { name, arguments: typeof args === "string" ? args : JSON.stringify(args) },
  }));
  const text = reply.text ?? (calls.length > 0 ? "" : lastUserText(body));
  const pieces = reply.pieces ?? text.match(/\s*\S+\s*/gu) ?? [];
  const finish = reply.finishReason === undefined ? (calls.length > 0 ? "tool_calls" : "stop") : reply.finishReason;
  return {
    ...reply,
    pieces,
    calls,
    finish,
    tokens: reply.usage === false ? undefined : (reply.usage ?? words(body, pieces)),
  };
}

function lastUserText({ messages = [] }: FakeModelBody): string {
  const content = messages.findLast(({ role }) => role === "user")?.content;
  if (typeof content === "string") return content;
  const parts = Array.isArray(content) ? (content as { text?: string }[]) : []; // parts of other kinds have no text
  return parts.map(({ text }) => text ?? "").join("");
}

function words({ messages = [] }: FakeModelBody, pieces: readonly string[]): Record<string, number> {
  const asked = messages.map(({ content }) => (typeof content === "string" ? content : JSON.stringify(content ?? "")));
  const prompt = asked.join(" ").split(/\s+/u).filter(Boolean).length;
  return { prompt_tokens: prompt, completion_tokens: pieces.length, total_tokens: prompt + pieces.length };
}

const head = { id: "chatcmpl-fake", created: 0, model: "fake-model" };

async function sendStream(
  res: ServerResponse,
  body: FakeModelBody,
  reply: CompleteReply,
  stop: AbortSignal,
): Promise<void> {
  res.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  const line = (data: string) => new Promise<void>((resolve) => void res.write(`data: ${data}\n\n`, () => resolve()));
  const chunk = (fields: object) => line(JSON.stringify({ ...head, object: "chat.completion.chunk", ...fields }));
  const delta = (fields: object, finish: string | null = null) =>
    chunk({ choices: [{ index: 0, delta: fields, finish_reason: finish }] });

  await delta({ role: "assistant", content: "" });
  if (reply.thinking) await delta({ reasoning_content: reply.thinking });
  for (const [sent, content] of [...reply.pieces, undefined].entries()) {
    if (reply.hangAfter === sent) return;
    if (reply.breakAfter === sent) return destroy(res);
    if (content === undefined || res.destroyed) break;
    if (reply.delayMs) await sleep(reply.delayMs, undefined, { signal: stop });
    await delta({ content });
  }
  if (reply.malformed) await line('{"choices": [{"delta": {"content": "cut');
  for (const fields of reply.calls.flatMap(fragments)) await delta({ tool_calls: [fields] });
  if (reply.finish !== null) await delta({}, reply.finish);
  if (body.stream_options?.include_usage && reply.tokens) await chunk({ choices: [], usage: reply.tokens });
  await line("[DONE]");
  res.end();
}

/** A call in four parts: id and name, then its arguments in three. */
function fragments(
  { function: { name, arguments: args }, ...call }: CompleteReply["calls"][number],
  index: number,
): object[] {
  const third = Math.ceil(args.length / 3);
  const parts = [args.slice(0, third), args.slice(third, 2 * third), args.slice(2 * third)];
  return [
    { index, ...call, function: { name, arguments: "" } },
    ...parts.map((part) => ({ index, function: { arguments: part } })),
  ];
}

async function sendWhole(res: ServerResponse, reply: CompleteReply, stop: AbortSignal): Promise<void> {
  if (reply.delayMs) await sleep(reply.delayMs * reply.pieces.length, undefined, { signal: stop });
  if (reply.hangAfter !== undefined) return;
  if (reply.breakAfter !== undefined) return destroy(res);
  const content = reply.pieces.join("") || null;
  const message = { role: "assistant", content, ...(reply.calls.length > 0 ? { tool_calls: reply.calls } : {}) };
  const choices = [{ index: 0, message, finish_reason: reply.finish }];
  const usage = reply.tokens ? { usage: reply.tokens } : {};
  const json = JSON.stringify({ ...head, object: "chat.completion", choices, ...usage });
  res.writeHead(200, { "content-type": "application/json" });
  res.end(reply.malformed ? json.slice(0, -2) : json);
}

function destroy(res: ServerResponse): void {
  cut.add(res);
  res.flushHeaders();
  res.destroy();
}

function sendModels(res: ServerResponse, ids: readonly string[]): void {
  sendJson(res, { object: "list", data: ids.map((id) => ({ id, object: "model", owned_by: "fake" })) });
}

function sendJson(res: ServerResponse, body: object, status = 200, headers: Record<string, string> = {}): void {
  res.writeHead(status, { "content-type": "application/json", ...headers });
  res.end(JSON.stringify(body));
}

function sendError(res: ServerResponse, status: number, message: string, retryAfter?: number): void {
  const headers = retryAfter === undefined ? {} : { "retry-after": String(retryAfter) };
  sendJson(res, { error: { message, type: "fake_error", code: status } }, status, headers);
}
