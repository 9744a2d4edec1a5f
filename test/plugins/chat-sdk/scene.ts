/** The plugin in a gateway, with adapters of a test, and runs of its accounts. */
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";
import type { Adapter, ChatInstance, Message } from "chat";
import { Channel } from "@svc/sdk/channels";
import { testGateway } from "@svc/sdk/testing";
import { directory } from "../../directory.ts";
import { pluginOf } from "../../plugin-of.ts";
import { refusalsWithout, sceneOf } from "../channels/direct-scene.ts";

export const SECRET = "secret-of-the-test";
export const { rejects } = refusalsWithout(new RegExp(SECRET));

/** Adapters of tests by the option `id`. The package that makes them reads them here. */
const MADE = Symbol.for("svc.test.chat-sdk");
export const made: Map<unknown, (options: object) => unknown> = (Object(globalThis)[MADE] ??= new Map());

/** Directory of the plugin below the state directory. */
export const OWN = "plugins/chat-sdk";
const FILES = {
  "package.json": JSON.stringify({
    name: "tiny-adapter",
    version: "1.0.0",
    type: "module",
    exports: { ".": { types: "./none.d.ts", import: "./code.js" } },
  }),
  "code.js": `const made = globalThis[Symbol.for("svc.test.chat-sdk")];
    export const createTiny = (options) => made.get(options.id)(options);
    export const other = 1;`,
};

/** Where people install adapters. @returns the state directory of the gateway */
export async function installed(
  t: TestContext,
  files: Readonly<Record<string, string>> = FILES,
  stateDir = directory(t),
  name = "tiny-adapter",
): Promise<string> {
  for (const [file, text] of Object.entries(files)) {
    const path = join(stateDir, OWN, "node_modules", name, file);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
  return stateDir;
}

export const author = { userId: "ann", userName: "ann", fullName: "Ann Lee", isBot: false, isMe: false };
let count = 0;

/** A message of an adapter. */
export const messageOf = (more: object = {}) =>
  ({
    id: `m${++count}`,
    text: "hello",
    author,
    attachments: [],
    metadata: { dateSent: new Date(1_700_000_000_000), edited: false },
    ...more,
  }) as unknown as Message; // the parts that the plugin reads

/** An adapter that records its calls. Direct chats are the threads `tiny:dm-…`. */
export function tiny(more: object = {}) {
  const calls: unknown[][] = [];
  let chat: ChatInstance | undefined;
  const record =
    (name: string, answer?: unknown) =>
    async (...args: unknown[]) => {
      calls.push([name, ...args]);
      return answer;
    };
  const adapter = {
    name: "tiny",
    userName: "tinybot",
    async initialize(given: ChatInstance) {
      chat = given;
      await (more as Partial<Adapter>).initialize?.(given);
    },
    disconnect: record("disconnect"),
    isDM: (id: string) => id.startsWith("tiny:dm-"),
    channelIdFromThreadId: (id: string) => id.split(":").slice(0, 2).join(":"),
    postMessage: record("postMessage", { id: "sent", threadId: "", raw: {} }),
    editMessage: record("editMessage", { id: "sent", threadId: "", raw: {} }),
    addReaction: record("addReaction"),
    removeReaction: record("removeReaction"),
    startTyping: record("startTyping"),
    handleWebhook: async () => new Response("OK"),
    ...Object.fromEntries(Object.entries(more).filter(([name]) => name !== "initialize")),
  } as unknown as Adapter; // the parts that the plugin uses
  const of = (name: string) => calls.filter(([own]) => own === name).map(([, ...args]) => args);
  return {
    adapter,
    calls,
    of,
    record,
    isStarted: () => chat !== undefined,
    chat: () => chat ?? assert.fail("the adapter was not started"),
  };
}

/** @param settings of the default account */
export async function openChannel(t: TestContext, settings: object, stateDir?: string) {
  let find = (): Channel | undefined => undefined;
  const owner = pluginOf("channel-owner", (gateway) => {
    const view = gateway.own(Channel);
    find = () => view.get("chat-sdk")?.value;
  });
  const { gateway } = await testGateway(t, {
    plugins: ["storage-sqlite", "chat-sdk", owner],
    config: { channels: { "chat-sdk": settings } },
    ...(stateDir === undefined ? {} : { stateDir }),
  });
  const channel = find() ?? assert.fail(JSON.stringify(gateway.plugins()));
  const url = `http://127.0.0.1:${gateway.port}/plugins/chat-sdk`;
  const post = (body: string | Uint8Array, headers: Record<string, string> = {}, account = "default") =>
    fetch(`${url}/${account}`, { method: "POST", body, headers });
  return { channel, url, post, ...sceneOf(channel, "tiny:town:1") };
}

/** A gateway with a small adapter. @param more of the adapter */
export async function openTiny(t: TestContext, more: object = {}, settings: object = {}) {
  const own = tiny(more);
  const id = `tiny-${++count}`;
  const options: object[] = [];
  made.set(id, (given) => (options.push(given), own.adapter));
  t.after(() => void made.delete(id));
  const account = { adapter: "tiny-adapter", factory: "createTiny", options: { id }, credentials: { key: SECRET } };
  const scene = await openChannel(t, { ...account, ...settings }, await installed(t));
  return { ...own, ...scene, options, made: (make: () => unknown) => void made.set(id, make) };
}
