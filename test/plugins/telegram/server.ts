/** A Bot API server on 127.0.0.1 that records calls, and delivers the updates that a test pushes. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { until } from "../../until.ts";

export const TOKEN = "4242:token-of-the-test";
export const BOT = { id: 4242, is_bot: true, first_name: "Svc", username: "Svc_Test_Bot" };

export interface ApiCall {
  readonly method: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** Uploaded files by field. */
  readonly files: Readonly<Record<string, { readonly name: string; readonly bytes: Buffer }>>;
}
interface Failure {
  readonly error_code: number;
  readonly description: string;
  readonly parameters?: object;
}
type Outcome = Failure | "cut" | "silent" | "slow" | "html";

export async function startBotServer(t: { after(cleanUp: () => void): void }) {
  const calls: ApiCall[] = [];
  const outcomes = new Map<string, Outcome[]>();
  const updates: { readonly update_id: number }[] = [];
  const waiting = new Set<() => void>();
  let [lastUpdate, lastMessage, token] = [1_000, 0, TOKEN];
  let webhook = "https://left.over.example/";
  let [connections, isSilent] = [0, false];
  let failure = {};
  const wake = () => [...waiting].forEach((go) => go());

  const results: Record<string, (body: ApiCall["body"]) => unknown> = {
    getMe: () => ({ ...BOT, can_join_groups: true, can_read_all_group_messages: false }),
    getWebhookInfo: () => ({ url: webhook, pending_update_count: updates.length, ...failure }),
    setWebhook: ({ url }) => ((webhook = String(url)), true),
    deleteWebhook: () => ((webhook = ""), true),
    getFile: ({ file_id: id }) => ({ file_id: id, file_unique_id: id, file_path: `photos/${String(id)}.jpg` }),
  };
  const sent = ({ chat_id: id, message_thread_id: thread }: ApiCall["body"], isPoll: boolean) => ({
    message_id: ++lastMessage,
    date: 1_700_000_000,
    chat: { id: Number(id), type: Number(id) < 0 ? "supergroup" : "private" },
    ...(thread === undefined ? {} : { is_topic_message: true, message_thread_id: thread }),
    ...(isPoll ? { poll: { id: `poll-${lastMessage}` } } : {}),
  });

  async function polled({ offset = 0, timeout = 0 }: { offset?: number; timeout?: number }, gone: AbortSignal) {
    if (webhook !== "") return { ok: false, error_code: 409, description: "Conflict: a webhook is active" };
    while (updates[0] && updates[0].update_id < offset) updates.shift();
    if (updates.length === 0 && timeout > 0)
      await new Promise<void>((resolve) => {
        const done = () => {
          clearTimeout(timer);
          waiting.delete(done);
          gone.removeEventListener("abort", done);
          resolve();
        };
        const timer = setTimeout(done, timeout * 1_000);
        waiting.add(done);
        gone.addEventListener("abort", done);
      });
    return { ok: true, result: updates.slice(0, 100) };
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const gone = new AbortController();
    response.on("close", () => gone.abort());
    const [, given, method = ""] = /^\/bot([^/]+)\/(\w+)$/.exec(request.url ?? "") ?? [];
    const call = { method, ...bodyOf(request, Buffer.concat(await request.toArray())) };
    calls.push(call);
    const reply = (body: object, status = 200) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    if (given !== token) return void reply({ ok: false, error_code: 401, description: "Unauthorized" }, 401);
    const outcome = outcomes.get(method)?.shift();
    if (outcome === "cut") return void response.destroy();
    if (outcome === "silent" || isSilent) return;
    if (outcome === "slow") await new Promise((resolve) => setTimeout(resolve, 200));
    else if (outcome === "html") return void response.writeHead(502).end("<html>Bad Gateway</html>");
    else if (outcome) return void reply({ ok: false, ...outcome }, outcome.error_code);
    if (method === "getUpdates") {
      const result = await polled(call.body, gone.signal);
      return isSilent ? undefined : void reply(result);
    }
    const result = results[method];
    const isSend = method !== "sendChatAction" && /^(?:send|editMessage)/.test(method);
    reply({ ok: true, result: result?.(call.body) ?? (isSend ? sent(call.body, method === "sendPoll") : true) });
  }

  const server = createServer((request, response) => void answer(request, response).catch(() => response.destroy()));
  server.on("connection", () => (connections += 1));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const of = (method: string) => calls.filter((call) => call.method === method);

  return {
    apiRoot: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Calls of a method, oldest first. */
    of,
    /** The call with this number, when it has arrived. */
    async call(method: string, number = 1): Promise<ApiCall> {
      await until(() => of(method).length >= number, `${method} number ${number}`, 3_000);
      return of(method)[number - 1] as ApiCall; // waited for
    },
    /** The next calls of the method have these outcomes. */
    next: (method: string, ...next: Outcome[]) => void outcomes.set(method, [...(outcomes.get(method) ?? []), ...next]),
    /** Adds updates, which arrive together. @returns the id of the last one */
    push(...added: readonly object[]): number {
      for (const update of added) updates.push({ update_id: ++lastUpdate, ...update });
      wake();
      return lastUpdate;
    },
    /** Delivers an update again that was already confirmed. */
    repeat(update: object, id = lastUpdate) {
      updates.push({ update_id: id, ...update });
      wake();
    },
    /** Number of updates that are not confirmed. */
    unconfirmed: () => updates.length,
    webhook: () => webhook,
    /** Deliveries to the webhook have failed, the last one at this time in seconds. */
    failed: (at: number, why: string) => void (failure = { last_error_date: at, last_error_message: why }),
    /** Accepts connections and calls, and never answers again. */
    fallSilent: () => void (isSilent = true),
    revoke: () => void (token = "revoked"),
    cut: () => server.closeAllConnections(),
    /** Number of connections since the start. */
    connectionsMade: () => connections,
    /** Number of open connections. */
    connections: () =>
      new Promise<number>((resolve) => {
        server.getConnections((_, count) => resolve(count));
      }),
  };
}

function bodyOf(request: IncomingMessage, raw: Buffer): Pick<ApiCall, "body" | "files"> {
  const [, boundary] = /boundary=(.+)$/.exec(request.headers["content-type"] ?? "") ?? [];
  if (boundary === undefined)
    return { body: raw.length === 0 ? {} : (JSON.parse(raw.toString()) as ApiCall["body"]), files: {} }; // of the library
  const parts = raw.toString("latin1").split(`--${boundary}`).slice(1, -1);
  const fields: Record<string, string> = {};
  const uploads: Record<string, ApiCall["files"][string]> = {};
  for (const part of parts) {
    const [head = "", ...rest] = part.slice(2, -2).split("\r\n\r\n");
    const value = Buffer.from(rest.join("\r\n\r\n"), "latin1");
    const [, name = ""] = /name="([^"]+)"/.exec(head) ?? [];
    const [, file] = /filename=([^\r\n]*)/.exec(head) ?? [];
    if (file === undefined) fields[name] = value.toString();
    else uploads[name] = { name: Buffer.from(file, "latin1").toString(), bytes: value };
  }
  const files: Record<string, ApiCall["files"][string]> = { ...uploads };
  for (const [field, value] of Object.entries(fields)) {
    const upload = uploads[value.replace("attach://", "")];
    if (upload) files[field] = upload;
  }
  return { body: fields, files };
}
