/**
 * A model server for tests: real HTTP on 127.0.0.1, scripted answers, two APIs: public chat completions and the
 * Messages API of Anthropic.
 *
 *     await using server = await startFakeModelServer({ replies: [{ text: "hi" }, { status: 429, retryAfter: 1 }] });
 *     // point models.providers.<name>.baseUrl at server.url
 *     assert.equal(server.requests[0]?.body.model, "fake-model");
 */
import { once, setMaxListeners } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { answerChat, refuseChat } from "./fake-model/chat-completions.ts";
import { pathOf, readQuestion, sendJson } from "./fake-model/http.ts";
import { answerMessages, refuseMessages } from "./fake-model/messages-api.ts";
import { whyRefused } from "./fake-model/messages-rules.ts";
import { complete, type FakeModelReply, type FakeModelRequest, type FakeModelScript } from "./fake-model/script.ts";

export type { FakeModelBody, FakeModelReply, FakeModelRequest, FakeModelScript } from "./fake-model/script.ts";

/** Options of the server. */
export interface FakeModelServerOptions {
  /** Answers in order, then echoes; or a function of the request and its index, from 0. */
  readonly replies?: readonly FakeModelReply[] | FakeModelScript;
  /** Models listed by `GET /v1/models`; others get 404. Default: lists `["fake-model"]` and accepts any model. */
  readonly models?: readonly string[];
  /** Rejects other keys with 401, in `authorization` or `x-api-key`. Default: any key, or none. */
  readonly apiKey?: string;
}

/** A running fake model server. */
export interface FakeModelServer extends AsyncDisposable {
  /** Base URL, ending in `/v1`. */
  readonly url: string;
  /** Every request, oldest first; requests with a wrong key are not recorded. */
  readonly requests: readonly FakeModelRequest[];
  /** Adds answers to the queue; they precede the function in `replies`. */
  reply(...replies: readonly FakeModelReply[]): void;
  /** Stops listening and drops open connections. Safe to call twice. */
  close(): Promise<void>;
}

/** One of the two APIs. */
interface Language {
  readonly answer: typeof answerChat;
  readonly refuse: typeof refuseChat;
  /** Why a request is rejected without asking the script. */
  readonly check: typeof whyRefused;
}

const CHAT: Language = { answer: answerChat, refuse: refuseChat, check: () => undefined };
const MESSAGES: Language = { answer: answerMessages, refuse: refuseMessages, check: whyRefused };

/** Starts a server on a free port. */
export async function startFakeModelServer(options: FakeModelServerOptions = {}): Promise<FakeModelServer> {
  const requests: FakeModelRequest[] = [];
  const queue: FakeModelReply[] = Array.isArray(options.replies) ? [...options.replies] : [];
  const script: FakeModelScript = typeof options.replies === "function" ? options.replies : () => ({});
  const stopping = new AbortController();
  setMaxListeners(0, stopping.signal); // every delayed answer waits on it
  let toolCalls = 0;

  async function converse(req: IncomingMessage, res: ServerResponse, { answer, refuse, check }: Language) {
    const request = await readQuestion(req, res, stopping.signal);
    requests.push(request);
    const { model = "" } = request.body;
    const isKnown = options.models?.includes(model) ?? true;
    if (!isKnown) return refuse(res, { status: 404, message: `No such model: ${model}` });
    const wrong = check(request.body);
    if (wrong !== undefined) return refuse(res, { status: 400, message: wrong });
    const scripted = queue.shift() ?? (await script(request, requests.length - 1));
    const { status } = scripted;
    if (status !== undefined) return refuse(res, { ...scripted, status });
    return answer(
      res,
      request.body,
      complete(scripted, request.body, () => ++toolCalls),
      stopping.signal,
    );
  }

  async function route(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const path = pathOf(req);
    const language = path === "/v1/messages" ? MESSAGES : CHAT;
    const key = keyOf(req);
    if (options.apiKey !== undefined && key !== options.apiKey) {
      return language.refuse(res, { status: 401, message: `Incorrect API key provided: ${key ?? "none"}` });
    }
    if (req.method === "GET" && path === "/v1/models") return sendModels(res, options.models ?? ["fake-model"]);
    const isQuestion = req.method === "POST" && (path === "/v1/chat/completions" || path === "/v1/messages");
    if (isQuestion) return converse(req, res, language);
    return language.refuse(res, { status: 404, message: `Unknown path ${path}` });
  }

  const server = createServer((req, res) => {
    route(req, res).catch((error: unknown) => {
      if (res.headersSent) res.destroy();
      else CHAT.refuse(res, { status: 500, message: `fake model server: ${String(error)}` });
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // a listening TCP server has one
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

function keyOf({ headers }: IncomingMessage): string | undefined {
  const { authorization, "x-api-key": key } = headers;
  return authorization?.replace(/^Bearer /u, "") ?? (Array.isArray(key) ? key[0] : key);
}

function sendModels(res: ServerResponse, ids: readonly string[]): void {
  sendJson(res, { object: "list", data: ids.map((id) => ({ id, object: "model", owned_by: "fake" })) });
}
