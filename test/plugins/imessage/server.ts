/** A small BlueBubbles server: messages, chats, files, tapbacks, edits, webhooks, and faults. */
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

interface TestContext {
  after(cleanUp: () => Promise<void>): void;
}

export const PASSWORD = "the pass&word";
export const ANN = "+15550001111";
export const DIRECT = `iMessage;-;${ANN}`;
export const GROUP = "iMessage;+;chat777";

type Fields = Record<string, unknown>;
export interface Row extends Fields {
  readonly guid: string;
  readonly originalROWID: number;
  readonly dateCreated: number;
}

/** Refuses the next request whose `<METHOD> <path>` matches. */
interface Fault {
  readonly matches: RegExp;
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly body?: object | string;
}

export async function startServer(t: TestContext) {
  const rows: Row[] = [];
  const hooks: { id: number; url: string; events: unknown }[] = [];
  const requests: { readonly line: string; readonly body: Fields; readonly files: Record<string, File> }[] = [];
  const faults: Fault[] = [];
  const chats = new Set([DIRECT, GROUP]);
  const state = { password: PASSWORD, isSilent: false, hasPrivateApi: false, gateway: "" };
  /** Next message, hook and row. */
  let count = 0;

  /** Adds a message to the database. */
  function add(fields: Fields = {}): Row {
    count += 1;
    const row = {
      guid: `GUID-${count}`,
      originalROWID: count,
      text: "",
      handle: { address: ANN },
      chats: [{ guid: DIRECT, style: 45, displayName: "" }],
      attachments: [],
      isFromMe: false,
      itemType: 0,
      associatedMessageGuid: null,
      associatedMessageType: null,
      dateCreated: Date.now(),
      dateEdited: null,
      dateRetracted: null,
      threadOriginatorGuid: null,
      ...fields,
    };
    rows.push(row);
    return row;
  }

  /** Reports a message once, as the server does. */
  function announce(row: Row, type = "new-message"): void {
    const body = JSON.stringify({ type, data: row });
    for (const { url } of hooks) {
      const { origin, pathname } = new URL(url);
      const headers = { "content-type": "application/json" };
      void fetch((state.gateway || origin) + pathname, { method: "POST", headers, body }).catch(() => undefined);
    }
  }

  function says(text: string, fields: Fields = {}): Row {
    const row = add({ text, ...fields });
    announce(row);
    return row;
  }

  type Reply = readonly [status: number, data: unknown, contentType?: string];
  const missing: Reply = [404, undefined];

  function query({ where, sort, limit = 100, offset = 0, after = 0 }: Fields): Row[] {
    const { args } = Object((where as unknown[] | undefined)?.[0]) as { args?: { startRowId: number } };
    const found = rows.filter((row) => row.originalROWID > (args?.startRowId ?? 0) && row.dateCreated >= Number(after));
    const ordered = found.toSorted((one, other) => one.dateCreated - other.dateCreated);
    return (sort === "DESC" ? ordered.toReversed() : ordered).slice(Number(offset), Number(offset) + Number(limit));
  }

  function sent(chatGuid: unknown, fields: Fields): Reply {
    if (!chats.has(String(chatGuid))) return [500, undefined];
    return [200, add({ isFromMe: true, handle: null, chats: [{ guid: chatGuid, style: 45 }], ...fields })];
  }

  function answer(line: string, body: Fields): Reply {
    const [, method = "", path = ""] = /^(\w+) \/api\/v1\/(.*)$/.exec(line) ?? [];
    const [what, id = "", action = ""] = path.split("/").map(decodeURIComponent);
    if (path === "server/info")
      return [200, { private_api: state.hasPrivateApi, helper_connected: true, detected_imessage: "mac@example.com" }];
    if (path === "message/query") return [200, query(body)];
    if (path === "message/text") return sent(body["chatGuid"], { text: body["message"] });
    if (path === "message/attachment") return sent(body["chatGuid"], { attachments: [] });
    if (path === "message/react") return sent(body["chatGuid"], { associatedMessageType: body["reaction"] });
    if (path === "chat/new") {
      const guid = `iMessage;-;${(body["addresses"] as string[])[0]}`;
      chats.add(guid);
      return [200, { guid, messages: [sent(guid, { text: body["message"] })[1]] }];
    }
    if (what === "message" && action === "edit") {
      const row = rows.find(({ guid }) => guid === id);
      return row
        ? [200, Object.assign(row, { text: body["editedMessage"], dateEdited: Date.now() })]
        : [400, undefined];
    }
    if (what === "message") {
      const row = rows.find(({ guid }) => guid === id);
      return row ? [200, row] : missing;
    }
    if (what === "chat" && action === "") return chats.has(id) ? [200, { guid: id }] : missing;
    if (what === "chat") return state.hasPrivateApi ? [200, undefined] : [500, undefined];
    if (what === "attachment") return id === "FILE" ? [200, Buffer.from("a photo"), "image/jpeg"] : missing;
    if (path === "webhook" && method === "GET") return [200, hooks];
    if (path === "webhook") return [200, hooks.push({ id: ++count, url: String(body["url"]), events: body["events"] })];
    if (what === "webhook")
      return [
        200,
        hooks.splice(
          hooks.findIndex((hook) => hook.id === Number(id)),
          1,
        ),
      ];
    return missing;
  }

  const http = createServer(async (request, response) => {
    if (state.isSilent) return;
    const { pathname, searchParams } = new URL(request.url ?? "", "http://mac");
    const line = `${request.method} ${pathname}`;
    const { fields, files } = await bodyOf(request);
    const isAllowed = searchParams.get("password") === state.password;
    if (isAllowed) requests.push({ line, body: fields, files });
    const at = faults.findIndex((fault) => fault.matches.test(line));
    const [fault] = at < 0 ? [] : faults.splice(at, 1);
    const [status, data, type = "application/json"]: Reply = fault
      ? [fault.status, undefined]
      : isAllowed
        ? answer(line, fields)
        : [401, undefined];
    const words: Readonly<Record<number, string>> = {
      400: "Selected message does not exist!",
      401: "Unauthorized",
      500: "iMessage Private API is not enabled!",
    };
    const error = { type: "error", message: words[status] ?? `Failed with status ${status}` };
    const envelope = { status, message: "told", data, ...(status < 300 ? {} : { error }) };
    const body = fault?.body ?? (Buffer.isBuffer(data) ? data : envelope);
    response.writeHead(status, { "content-type": type, connection: "close", ...fault?.headers });
    response.end(Buffer.isBuffer(body) || typeof body === "string" ? body : JSON.stringify(body));
  });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  t.after(async () => {
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  });
  const { port } = http.address() as AddressInfo;
  const of = (line: RegExp) => requests.filter((request) => line.test(request.line));
  return {
    url: `http://127.0.0.1:${port}`,
    state,
    rows,
    hooks,
    chats,
    faults,
    add,
    announce,
    says,
    of,
    /** Texts that the agent has sent or edited, oldest first. */
    heard: () =>
      of(/(?:message\/text|chat\/new|\/edit)$/).map(({ body }) => String(body["message"] ?? body["editedMessage"])),
    /** Cuts all connections; the next request connects again. */
    cut: () => http.closeAllConnections(),
  };
}

async function bodyOf(request: IncomingMessage): Promise<{ fields: Fields; files: Record<string, File> }> {
  const bytes = Buffer.concat(await request.toArray());
  const type = request.headers["content-type"] ?? "";
  if (!type.startsWith("multipart/"))
    return { fields: bytes.length > 0 ? (JSON.parse(bytes.toString()) as Fields) : {}, files: {} };
  const entries = [...(await new Response(bytes, { headers: { "content-type": type } }).formData())];
  const files = entries.filter((entry): entry is [string, File] => typeof entry[1] !== "string");
  return {
    fields: Object.fromEntries(entries.filter(([, value]) => typeof value === "string")),
    files: Object.fromEntries(files),
  };
}
