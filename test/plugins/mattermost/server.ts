/** A small Mattermost server: what crabline's lacks (files, reactions, changes, history, members, faults). */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";
import { bodyOf } from "../channels/request-body.ts";

interface TestContext {
  after(cleanUp: () => Promise<void>): void;
}

export const id = (name: string) => name.padEnd(26, "0");
export const TOKEN = "the-token-of-the-bot";
export const BOT = id("bot");
export const ADA = id("ada");
export const TOWN = id("town");
export const DIRECT = id("direct");

export interface Post {
  readonly id: string;
  readonly user_id: string;
  readonly channel_id: string;
  readonly root_id: string;
  readonly create_at: number;
  message: string;
  update_at: number;
  edit_at: number;
  delete_at: number;
  type: string;
  original_id: string;
  props: Record<string, unknown>;
  file_ids: string[];
  metadata: Record<string, unknown>;
}

/** Refuses the next request whose `<METHOD> <path>` matches. */
interface Fault {
  readonly matches: RegExp;
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly body?: object | string;
  /** The request has its effect although it is refused. */
  readonly after?: boolean;
}

const CHANNELS: Readonly<Record<string, { type: string; display_name: string; team_id: string }>> = {
  [TOWN]: { type: "O", display_name: "Town Square", team_id: id("team") },
  [DIRECT]: { type: "D", display_name: "", team_id: "" },
  [id("group")]: { type: "G", display_name: "ada, bob", team_id: "" },
};
const USERS: Readonly<Record<string, { username: string; is_bot: boolean }>> = {
  [BOT]: { username: "helper", is_bot: true },
  [ADA]: { username: "ada", is_bot: false },
  [id("bob")]: { username: "bob", is_bot: false },
  [id("robot")]: { username: "robot", is_bot: true },
};

export async function startServer(t: TestContext) {
  const posts = new Map<string, Post>();
  const pending = new Map<string, string>();
  const files = new Map<string, { name: string; mime_type: string; size: number; text: string }>();
  const requests: { readonly line: string; readonly body: unknown; readonly authorization: string | undefined }[] = [];
  const faults: Fault[] = [];
  const sockets = new Map<WebSocket, { seq: number }>();
  const state = { token: TOKEN, isSilent: false, isDeaf: false, members: new Set([BOT, ADA, id("bob"), id("robot")]) };
  let now = Date.now();
  let count = 0;
  /** Strictly increasing, so that the order of posts is known. */
  const tick = () => (now = Math.max(now + 1, Date.now()));

  function emit(event: string, data: object): void {
    for (const [socket, stream] of sockets)
      if (!state.isDeaf) socket.send(JSON.stringify({ event, data, broadcast: {}, seq: stream.seq++ }));
  }

  function add(fields: Partial<Post>): Post {
    const at = tick();
    const post: Post = {
      id: id(`post${++count}x`),
      user_id: ADA,
      channel_id: TOWN,
      root_id: "",
      create_at: at,
      update_at: at,
      edit_at: 0,
      delete_at: 0,
      original_id: "",
      type: "",
      message: "",
      props: {},
      file_ids: [],
      metadata: {},
      ...fields,
    };
    posts.set(post.id, post);
    return post;
  }

  function announce(post: Post, more: object = {}): void {
    const { type, display_name, team_id } = CHANNELS[post.channel_id] ?? { type: "P", display_name: "", team_id: "" };
    const facts = { channel_type: type, channel_display_name: display_name, team_id };
    emit("posted", {
      ...facts,
      sender_name: `@${USERS[post.user_id]?.username}`,
      post: JSON.stringify(post),
      ...more,
    });
  }

  type Reply = readonly [status: number, body: unknown];
  const missing: Reply = [404, { id: "app.post.get.app_error", message: "Unable to get the thing.", status_code: 404 }];
  const forbidden: Reply = [403, { id: "api.context.permissions.app_error", message: "No permission." }];
  const userOf = (key: string) => ({ id: key, ...USERS[key] });
  const channelOf = (key: string) => ({
    id: key,
    ...CHANNELS[key],
    last_post_at: Math.max(
      0,
      ...[...posts.values()].filter((post) => post.channel_id === key).map((post) => post.create_at),
    ),
  });

  /** @param body JSON, or the form of an upload */
  function answer(method: string, path: string, query: URLSearchParams, body: Record<string, unknown>): Reply {
    const [, first = "", second = "", third = "", fourth = ""] = path.split("/");
    const route = `${method} ${first}`;
    if (route === "GET users" && second === "username") {
      const found = Object.keys(USERS).find((key) => USERS[key]?.username === third);
      return found === undefined ? missing : [200, userOf(found)];
    }
    if (route === "GET users" && third === "teams") return [200, [{ id: id("team"), display_name: "Crew" }]];
    if (route === "GET users" && third === "channels") return [200, Object.keys(CHANNELS).map(channelOf)];
    if (route === "GET users") return [200, userOf(second === "me" ? BOT : second)];
    if (route === "POST users") return [200, { status: "OK" }];
    if (route === "DELETE users") return posts.has(fourth) ? [200, { status: "OK" }] : missing;
    if (path === "/channels/direct") return [201, channelOf(DIRECT)];
    if (route === "GET channels" && third === "members") return state.members.has(fourth) ? [200, {}] : missing;
    if (route === "GET channels" && third === "posts") {
      const since = Number(query.get("since"));
      const changed = [...posts.values()].filter((post) => post.channel_id === second && post.update_at > since);
      return [200, { order: [], posts: Object.fromEntries(changed.map((post) => [post.id, post])) }];
    }
    if (route === "GET channels") return CHANNELS[second] ? [200, channelOf(second)] : forbidden;
    if (path === "/files") {
      const file = body["files"] as File;
      const key = id(`file${++count}x`);
      files.set(key, { name: file.name, mime_type: file.type, size: file.size, text: "" });
      void file.text().then((text) => Object.assign(files.get(key) ?? {}, { text }));
      return [201, { file_infos: [{ id: key }], client_ids: [] }];
    }
    if (path === "/reactions") return posts.has(String(body["post_id"])) ? [200, body] : missing;
    if (path === "/posts") {
      const key = String(body["pending_post_id"]);
      const known = posts.get(pending.get(key) ?? "");
      if (known) return [201, known];
      if (!CHANNELS[String(body["channel_id"])]) return forbidden;
      const post = add({ ...body, user_id: BOT });
      pending.set(key, post.id);
      announce(post);
      return [201, post];
    }
    const post = posts.get(second);
    if (route === "GET posts") return post ? [200, post] : missing;
    if (route === "PUT posts" && third === "patch") {
      if (!post) return forbidden;
      const at = tick();
      emit("post_edited", { post: JSON.stringify(Object.assign(post, body, { edit_at: at, update_at: at })) });
      return [200, post];
    }
    return missing;
  }

  const http = createServer(async (request, response) => {
    const { method = "", headers } = request;
    const url = new URL(request.url ?? "", "http://localhost");
    const path = url.pathname.replace("/api/v4", "");
    const body = await bodyOf(request);
    const line = `${method} ${path}`;
    requests.push({ line, body, authorization: headers.authorization });
    const at = faults.findIndex(({ matches }) => matches.test(line));
    const [fault] = at < 0 ? [] : faults.splice(at, 1);
    const isKnown = headers.authorization === `BEARER ${state.token}`;
    const refused = {
      id: "api.context.session_expired.app_error",
      message: `Invalid session ${headers.authorization}.`,
    };
    let [status, reply]: Reply = [401, refused];
    if (isKnown && (!fault || fault.after)) [status, reply] = answer(method, path, url.searchParams, body);
    if (fault) [status, reply] = [fault.status, fault.body ?? { message: `fault ${fault.status}` }];
    const text = typeof reply === "string" ? reply : JSON.stringify(reply);
    response.writeHead(status, { "content-type": "application/json", ...fault?.headers }).end(text);
  });

  const ws = new WebSocketServer({ server: http, path: "/api/v4/websocket" });
  ws.on("connection", (socket) => {
    socket.on("message", (bytes: Buffer) => {
      const { seq, action, data } = JSON.parse(bytes.toString()) as {
        seq: number;
        action: string;
        data?: { token: string };
      };
      if (state.isSilent) return;
      if (action === "authentication_challenge" && data?.token !== state.token) return socket.close();
      if (!state.isDeaf) socket.send(JSON.stringify({ status: "OK", seq_reply: seq }));
      if (action !== "authentication_challenge") return;
      sockets.set(socket, { seq: 1 });
      socket.send(JSON.stringify({ event: "hello", data: { connection_id: id("c") }, broadcast: {}, seq: 0 }));
    });
    socket.on("close", () => sockets.delete(socket));
  });

  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  t.after(async () => {
    for (const socket of ws.clients) socket.terminate();
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  });

  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    posts,
    files,
    requests,
    faults,
    state,
    emit,
    /** Number of open event streams. */
    streams: () => ws.clients.size,
    /** Somebody writes a post. `event`: further fields of the event. */
    says(message: string, fields: Partial<Post> = {}, event: object = {}): Post {
      const post = add({ message, ...fields });
      announce(post, event);
      return post;
    },
    /** Sends the event of a post again. */
    announce,
    edits(post: Post, message: string): void {
      const at = tick();
      Object.assign(post, { message, edit_at: at, update_at: at });
      emit("post_edited", { post: JSON.stringify(post) });
    },
    /** The event has the post as it was before. */
    deletes(post: Post): void {
      emit("post_deleted", { post: JSON.stringify(post) });
      const at = tick();
      Object.assign(post, { message: "", delete_at: at, update_at: at });
    },
    reacts(post: Post, emoji: string, { userId = ADA, isRemoved = false } = {}): void {
      const reaction = { user_id: userId, post_id: post.id, emoji_name: emoji, create_at: tick() };
      emit(isRemoved ? "reaction_removed" : "reaction_added", { reaction: JSON.stringify(reaction) });
    },
    /** Sends a text as it is to all streams. */
    raw(text: string): void {
      for (const socket of sockets.keys()) socket.send(text);
    },
    cuts(): void {
      for (const socket of ws.clients) socket.terminate();
      sockets.clear();
    },
    sent: (line: RegExp) => requests.filter((request) => line.test(request.line)).map(({ body }) => body),
  };
}

export type Server = Awaited<ReturnType<typeof startServer>>;
