/** A gateway that serves `POST /v1/responses`, with a fake model server and the official client. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import { definePlugin, GatewayError } from "@svc/sdk";
import { ConfigStore } from "@svc/sdk/config";
import { Documents } from "@svc/sdk/media";
import type { ImageBlock } from "@svc/sdk/models";
import { Sessions } from "@svc/sdk/sessions";
import { Storage } from "@svc/sdk/storage";
import {
  type FakeModelReply,
  type FakeModelRequest,
  type FakeModelServerOptions,
  startFakeModelServer,
  testGateway,
} from "@svc/sdk/testing";
import { OutboundFetch, type OutboundRequest, type OutboundResponse } from "@svc/sdk/web";
import OpenAI from "openai";

/** A picture of one pixel. */
export const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
export const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** The fields of a response object or refusal that tests use; a test that reads an absent field fails there. */
export interface Answer {
  readonly id: string;
  readonly object: string;
  readonly status: string;
  readonly model: string;
  readonly created_at: number;
  readonly user: string;
  readonly incomplete_details: unknown;
  readonly usage: { readonly total_tokens: number };
  readonly error: { readonly message: string; readonly type: string; readonly param: unknown; readonly code: unknown };
  readonly output: readonly {
    readonly id: string;
    readonly type: string;
    readonly status: string;
    readonly call_id?: string;
    readonly content: readonly { readonly text: string }[];
  }[];
}

/** An event of a stream, with the fields that tests use. */
interface Event {
  readonly type: string;
  readonly sequence_number: number;
  readonly output_index?: number;
  readonly delta?: string;
  readonly arguments?: string;
  readonly item?: object;
  readonly response: Answer;
}

/** Responses of URLs. */
type Web = (request: OutboundRequest) => Partial<OutboundResponse> | GatewayError;

export interface SceneOptions {
  readonly replies?: FakeModelServerOptions["replies"];
  /** Keys of `gateway.http.endpoints.responses`. */
  readonly endpoint?: Readonly<Record<string, unknown>>;
  readonly web?: Web;
  /** Plugins that replace the fakes for documents and fetches. */
  readonly plugins?: readonly string[];
  readonly config?: Readonly<Record<string, unknown>>;
  readonly stateDir?: string;
  /** Writes the configuration to a file, so that it can be changed. */
  readonly inFile?: true;
}

const BUNDLED = ["storage-sqlite", "sessions", "models", "provider-openai", "agents", "http-responses"];

/** One scene for all tests of a `describe`; `reply` queues answers of the model. */
export function sharedScene(): () => Scene {
  const cleanUps: (() => Promise<void>)[] = [];
  let scene: Scene | undefined;
  before(async () => {
    scene = await openScene({ after: (cleanUp) => void cleanUps.push(cleanUp) });
  });
  after(async () => {
    for (const cleanUp of cleanUps.reverse()) await cleanUp();
  });
  return () => scene ?? assert.fail("the gateway has not started");
}

/** The used part of a test's context. */
interface Owner {
  after(cleanUp: () => Promise<void>): void;
}

export async function openScene(t: Owner, options: SceneOptions = {}) {
  const {
    replies,
    endpoint = {},
    web = () => new GatewayError("UNAVAILABLE", "no such host"),
    plugins,
    config,
  } = options;
  const server = await startFakeModelServer(replies ? { replies } : {});
  t.after(() => server.close());
  const fetched: OutboundRequest[] = [];
  const known: { storage?: Storage; sessions?: Sessions; config?: ConfigStore } = {};
  const inside = definePlugin({
    id: "inside",
    api: "^1.0.0",
    requires: { storage: Storage, sessions: Sessions, config: ConfigStore },
    setup: (gateway) => void Object.assign(known, gateway.services),
  });
  const world = definePlugin({
    id: "world",
    api: "^1.0.0",
    provides: [OutboundFetch, Documents],
    setup(gateway) {
      gateway.provide(OutboundFetch, {
        async fetch(request) {
          fetched.push(request);
          const answer = web(request);
          if (answer instanceof GatewayError) throw answer;
          const whole = { status: 200, url: request.url, headers: {}, contentType: "text/plain", charset: undefined };
          return { ...whole, body: Buffer.from("from the web"), ...answer };
        },
      });
      gateway.provide(Documents, readers);
    },
  });
  const whole = {
    models: {
      providers: {
        fake: {
          baseUrl: server.url,
          apiKey: "key-1",
          models: [
            { id: "gpt-x", name: "Fake", input: ["text", "image"], reasoning: true },
            { id: "gpt-y", name: "Other" },
          ],
        },
      },
    },
    agents: { defaults: { model: "fake/gpt-x" }, list: [{ id: "main" }, { id: "other" }] },
    gateway: { http: { endpoints: { responses: { enabled: true, ...endpoint } } } },
    ...config,
  };
  const directory = options.inFile ? await mkdtemp(join(tmpdir(), "svc-responses-")) : options.stateDir;
  if (options.inFile && directory !== undefined) {
    await writeFile(join(directory, "svc.json"), JSON.stringify(whole));
    t.after(() => rm(directory, { recursive: true, force: true, maxRetries: 10 }));
  }
  const running = await testGateway(t, {
    plugins: [...BUNDLED, inside, ...(plugins ?? [world])],
    ...(options.inFile ? { gateway: { config: undefined } } : { config: whole }),
    ...(directory === undefined ? {} : { stateDir: directory }),
  });
  const base = running.gateway.url.replace(/^ws/, "http");
  const { token = "" } = running.gateway.auth;
  const openai = new OpenAI({ baseURL: `${base}/v1`, apiKey: token, maxRetries: 0 });
  const { storage, sessions, config: store } = known;
  assert.ok(storage && sessions && store);

  /** @returns status, headers and parsed body of a plain request */
  async function send(body: unknown, headers: Record<string, string> = {}, path = "", method = "POST") {
    const answer = await fetch(`${base}/v1/responses${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, ...headers },
      ...(method === "POST" ? { body: typeof body === "string" ? body : JSON.stringify(body) } : {}),
    });
    const text = await answer.text();
    const isJson = answer.headers.get("content-type")?.includes("json") ?? false;
    const json = (isJson ? JSON.parse(text) : {}) as Answer; // by the tests that read it
    return { status: answer.status, headers: answer.headers, text, json };
  }
  const reply = (...more: readonly FakeModelReply[]) => server.reply(...more);
  const keys = async () => (await sessions.recent({ limit: 50 })).map(({ key }) => key);
  const configure = (path: readonly string[], value: unknown) =>
    store.edit({ actor: "test", action: "test" }, () => [{ path, value }]);
  return { ...running, configure, base, server, openai, send, reply, fetched, storage, sessions, keys };
}
export type Scene = Awaited<ReturnType<typeof openScene>>;

/** Fake of the plugin `media`: a PDF with little text has pictures. */
const readers: Documents = {
  async read({ bytes, mimeType, charset }, { maxChars, pdf }) {
    const text = new TextDecoder(charset ?? "utf-8").decode(bytes);
    if (text === "broken") throw new GatewayError("INVALID_REQUEST", "the PDF cannot be read");
    const isPictured = mimeType === "application/pdf" && text.length < pdf.minTextChars;
    const images: ImageBlock[] = isPictured ? [{ type: "image", data: PNG, mimeType: "image/png" }] : [];
    return { text: text.slice(0, maxChars), images, isCut: text.length > maxChars };
  },
  async image(bytes) {
    if (bytes[0] !== 0x89) throw new GatewayError("INVALID_REQUEST", "this is no picture");
    return { type: "image", data: Buffer.from(bytes).toString("base64"), mimeType: "image/png" };
  },
};

type Wire = readonly { readonly role: string; readonly content?: unknown; readonly [key: string]: unknown }[];

/** Messages to the model by request: `role: text`, with `[image]` for pictures; without the system prompt. */
export function shown({ server }: Scene, index = -1): string[] {
  return wire(server.requests.at(index)).flatMap(({ role, content, tool_calls }) => {
    if (role === "system") return [];
    const calls = Array.isArray(tool_calls) ? tool_calls.map(({ id }: { id: string }) => ` <${id}>`).join("") : "";
    return [`${role}: ${spoken(content)}${calls}`];
  });
}

export function systemOf({ server }: Scene, index = -1): string {
  const content = wire(server.requests.at(index)).find(({ role }) => role === "system")?.content;
  return typeof content === "string" ? content : "";
}

function wire(request: FakeModelRequest | undefined): Wire {
  assert.ok(request, "the model was asked");
  return request.body.messages ?? [];
}

/** Without the time before messages of users. */
function spoken(content: unknown): string {
  const parts = Array.isArray(content)
    ? (content as { type: string; text?: string }[])
    : [{ type: "text", text: typeof content === "string" ? content : "" }];
  const texts = parts.map(({ type, text }) => (type === "text" ? (text ?? "") : "[image]"));
  return texts.join(" ").replace(/^\[[^\]]*\d\d:\d\d[^\]]*\] ?/, "");
}

/** The events of a stream: their types in order, and the parsed events. */
export function eventsIn(text: string) {
  const blocks = text.split("\n\n").filter(Boolean);
  assert.equal(blocks.pop(), "data: [DONE]");
  return blocks.map((block) => {
    const [, type, data] = /^event: (\S+)\ndata: (.*)$/.exec(block) ?? assert.fail(block);
    const event = JSON.parse(data ?? "") as Event; // by the tests that read it
    assert.equal(event.type, type);
    return event;
  });
}

export const userSays = (...content: object[]) => [{ role: "user", content }];
