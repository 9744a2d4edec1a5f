/** A homeserver on 127.0.0.1 with one bot. It records requests, and delivers the events of a test once for each position. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { until } from "../../until.ts";

export const TOKEN = "syt_secret_of_the_test";
export const PASSWORD = "password-of-the-test";
export const BOT = "@bot:test";
export const ADA = "@ada:test";
export const BOB = "@bob:test";
export const DIRECT = "!direct:test";
export const TOWN = "!town:test";

type Json = Readonly<Record<string, unknown>>;
export interface Request {
  /** Method and path below `/_matrix/`, decoded. */
  readonly call: string;
  readonly query: Readonly<Record<string, string>>;
  readonly body: Json;
  readonly raw: Buffer;
}
export interface TestEvent {
  readonly type: string;
  readonly event_id: string;
  readonly sender: string;
  readonly content: Json;
  readonly state_key?: string;
}
/** What happens to the next request that matches. `after`: the server does the work all the same. */
interface Fault {
  readonly matches: RegExp;
  readonly status?: number;
  readonly body?: object | string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly after?: boolean;
  readonly cut?: boolean;
  readonly silent?: boolean;
}
interface Room {
  name?: string;
  encrypted?: boolean;
  readonly members: Map<string, string>;
  /** Membership of people who have not joined. */
  readonly others: Map<string, string>;
}

export async function startServer(t: { after(cleanUp: () => void): void }) {
  const requests: Request[] = [];
  const faults: Fault[] = [];
  const events = new Map<string, { event: TestEvent; roomId: string }>();
  const sent: { readonly roomId: string; readonly event: TestEvent; readonly transaction: string }[] = [];
  const transactions = new Map<string, string>();
  /** Parts of batches; the number of a part is its position. */
  const log: {
    readonly kind: "join" | "invite" | "leave" | "account";
    readonly roomId: string;
    readonly value: Json;
  }[] = [];
  const rooms = new Map<string, Room>([
    [
      DIRECT,
      {
        members: new Map([
          [BOT, "Helper"],
          [ADA, "Ada"],
        ]),
        others: new Map(),
      },
    ],
    [
      TOWN,
      {
        name: "Town",
        members: new Map([
          [BOT, "Helper"],
          [ADA, "Ada"],
          [BOB, ""],
        ]),
        others: new Map(),
      },
    ],
  ]);
  const aliases = new Map([["#town:test", TOWN]]);
  let direct: Json = { [ADA]: [DIRECT] };
  const waiting = new Set<() => void>();
  let [count, token, isSilent, base] = [0, TOKEN, false, ""];
  const wake = () => [...waiting].forEach((go) => go());
  const nextId = () => `$e${++count}:test`;

  function append(roomId: string, event: TestEvent) {
    events.set(event.event_id, { event, roomId });
    log.push({ kind: "join", roomId, value: { timeline: { events: [event] } } });
    wake();
    return event.event_id;
  }

  async function synced({ since, timeout = "0" }: Request["query"], gone: AbortSignal): Promise<Json> {
    const from = since === undefined ? log.length : Number(since.slice(1));
    if (since !== undefined && log.length <= from)
      await new Promise<void>((resolve) => {
        const done = () => {
          clearTimeout(timer);
          waiting.delete(done);
          resolve();
        };
        const timer = setTimeout(done, Number(timeout));
        waiting.add(done);
        gone.addEventListener("abort", done, { once: true });
      });
    const parts = since === undefined ? log.filter(({ kind }) => kind === "invite") : log.slice(from);
    const of = (wanted: string) => {
      const found: Record<string, { timeline?: { events: unknown[] } } & Json> = {};
      for (const { kind, roomId, value } of parts) {
        if (kind !== wanted) continue;
        const before = found[roomId]?.timeline?.events;
        const timeline = value["timeline"] as { events: unknown[] } | undefined;
        found[roomId] =
          before && timeline
            ? { ...value, timeline: { ...timeline, events: [...before, ...timeline.events] } }
            : (value as never);
      }
      return found;
    };
    return {
      next_batch: `s${log.length}`,
      account_data: { events: parts.filter(({ kind }) => kind === "account").map(({ value }) => value) },
      rooms: { join: of("join"), invite: of("invite"), leave: of("leave") },
    };
  }

  /** Answer, or undefined: unknown. */
  async function handle({ call, query, body, raw }: Request, gone: AbortSignal): Promise<Json | undefined> {
    const matched = (pattern: RegExp) => pattern.exec(call)?.slice(1) as [string, string, string] | undefined;
    if (call === "GET client/v3/account/whoami") return { user_id: BOT };
    if (call === "GET client/versions") return { versions: ["v1.11"] };
    if (call === "POST client/v3/logout") return ((token = "revoked"), {});
    if (call === "GET client/v3/sync") return synced(query, gone);
    if (call === "POST media/v3/upload") return { content_uri: `mxc://test/file${raw.length}` };
    if (call === `GET client/v3/user/${BOT}/account_data/m.direct`) return direct;
    if (call === `PUT client/v3/user/${BOT}/account_data/m.direct`) {
      direct = body;
      log.push({ kind: "account", roomId: "", value: { type: "m.direct", content: body } });
      return {};
    }
    if (call === "POST client/v3/createRoom") {
      const roomId = `!made${rooms.size}:test`;
      const invited = body["invite"] as string[];
      rooms.set(roomId, { members: new Map([[BOT, "Helper"]]), others: new Map(invited.map((id) => [id, "invite"])) });
      return { room_id: roomId };
    }
    const [alias] = matched(/^GET client\/v3\/directory\/room\/(.+)$/) ?? [];
    if (alias !== undefined) return aliases.has(alias) ? { room_id: aliases.get(alias) } : undefined;
    const [joined] = matched(/^POST client\/v3\/join\/(.+)$/) ?? [];
    if (joined !== undefined) return { room_id: joined };
    const [roomId = "", rest = ""] = matched(/^\w+ client\/v[13]\/rooms\/([^/]+)\/(.+)$/) ?? [];
    const room = rooms.get(roomId);
    if (!room) return undefined;
    const [what = "", one = "", two = ""] = rest.split("/");
    if (what === "joined_members")
      return {
        joined: Object.fromEntries(
          [...room.members].map(([id, name]) => [id, name === "" ? {} : { display_name: name }]),
        ),
      };
    if (rest === "state/m.room.name") return room.name === undefined ? undefined : { name: room.name };
    if (rest === "state/m.room.encryption") return room.encrypted ? { algorithm: "m.megolm.v1.aes-sha2" } : undefined;
    if (what === "state") {
      const membership = room.members.has(two) ? "join" : room.others.get(two);
      return membership === undefined ? undefined : { membership };
    }
    if (what === "event") return events.get(one)?.event as Json | undefined;
    if (what === "typing" || what === "receipt") return {};
    if (what === "messages") return { chunk: [] };
    if (what === "relations") {
      const chunk = sent.filter(
        ({ event }) => Object(event.content["m.relates_to"]).event_id === one && event.type === "m.reaction",
      );
      return { chunk: chunk.map(({ event }) => event) };
    }
    if (what !== "send" && what !== "redact") return undefined;
    const key = `${roomId} ${one} ${two}`;
    const known = transactions.get(key);
    if (known !== undefined) return { event_id: known };
    const event = { type: what === "send" ? one : "m.room.redaction", event_id: nextId(), sender: BOT, content: body };
    transactions.set(key, event.event_id);
    sent.push({ roomId, event, transaction: two });
    append(roomId, event);
    return { event_id: event.event_id };
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const gone = new AbortController();
    response.on("close", () => gone.abort());
    const url = new URL(request.url ?? "", "http://server");
    const raw = Buffer.concat(await request.toArray());
    const isJson = request.headers["content-type"] === "application/json";
    const own: Request = {
      call: `${request.method} ${decodeURIComponent(url.pathname.replace(/^\/_matrix\//, ""))}`,
      query: Object.fromEntries(url.searchParams),
      body: isJson && raw.length > 0 ? (JSON.parse(raw.toString()) as Json) : {},
      raw,
    };
    requests.push(own);
    const reply = (body: object | string, status = 200, headers = {}) =>
      response
        .writeHead(status, { "content-type": "application/json", ...headers })
        .end(typeof body === "string" ? body : JSON.stringify(body));
    const index = faults.findIndex(({ matches }) => matches.test(own.call));
    const [fault] = index === -1 ? [] : faults.splice(index, 1);
    if (fault?.after) await handle(own, gone.signal);
    if (isSilent || fault?.silent) return;
    if (fault?.cut) return void response.destroy();
    if (fault) return void reply(fault.body ?? {}, fault.status ?? 500, fault.headers);
    if (own.call === "POST client/v3/login") {
      const isRight = own.body["password"] === PASSWORD;
      if (isRight) return void reply({ access_token: TOKEN, user_id: BOT, device_id: "D1" });
      return void reply({ errcode: "M_FORBIDDEN", error: "Invalid username or password" }, 403);
    }
    if (own.call !== "GET client/versions" && request.headers.authorization !== `Bearer ${token}`)
      return void reply(
        { errcode: "M_UNKNOWN_TOKEN", error: `Unrecognised access token ${request.headers.authorization}` },
        401,
      );
    const result = await handle(own, gone.signal);
    if (isSilent) return;
    if (result) reply(result);
    else reply({ errcode: "M_NOT_FOUND", error: "Not found" }, 404);
  }

  const server = createServer((request, response) => void answer(request, response).catch(() => response.destroy()));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  t.after(() => {
    server.closeAllConnections();
    server.close();
    wake();
  });
  const of = (pattern: RegExp) => requests.filter(({ call }) => pattern.test(call));

  return {
    url: base,
    rooms,
    faults,
    sent,
    of,
    direct: () => direct,
    /** The request with this number, when it has arrived. */
    async request(pattern: RegExp, number = 1): Promise<Request> {
      await until(() => of(pattern).length >= number, `${pattern} number ${number}`);
      return of(pattern)[number - 1] as Request; // waited for
    },
    /** Contents of the events that the bot has sent. */
    contents: (type = "m.room.message") =>
      sent.filter(({ event }) => event.type === type).map(({ event }) => event.content),
    /** Adds an event. @returns its id */
    push: (roomId: string, event: Partial<TestEvent>) =>
      append(roomId, { type: "m.room.message", event_id: nextId(), sender: ADA, content: {}, ...event }),
    says: (body: string, more: object = {}, roomId = DIRECT, sender = ADA) =>
      append(roomId, {
        type: "m.room.message",
        event_id: nextId(),
        sender,
        content: { msgtype: "m.text", body, ...more },
      }),
    /** An event that can be found, but is in no batch. */
    knows(roomId: string, event: Partial<TestEvent>): string {
      const whole = { type: "m.room.message", event_id: nextId(), sender: ADA, content: {}, ...event };
      events.set(whole.event_id, { event: whole, roomId });
      return whole.event_id;
    },
    /** Delivers the last event again. */
    repeats() {
      log.push(...log.filter(({ kind }) => kind === "join").slice(-1));
      wake();
    },
    /** Adds a part of a batch as it is. */
    delivers(kind: "join" | "invite" | "leave" | "account", roomId: string, value: object) {
      log.push({ kind, roomId, value: value as Json });
      wake();
    },
    revoke: () => void (token = "revoked"),
    fallSilent: () => void (isSilent = true),
    cut: () => server.closeAllConnections(),
  };
}
export type Server = Awaited<ReturnType<typeof startServer>>;
