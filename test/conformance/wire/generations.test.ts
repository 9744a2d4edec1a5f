/**
 * One script of calls, on a connection of each generation of the protocol. The recorded frames are in `test/fixtures/protocol`; those of
 * protocol 3 were recorded before the gateway served another one. Spec: protocol 4 §6.
 */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { root } from "../../checkout.ts";
import { directory } from "../../directory.ts";
import { type GatewayProcess, startGatewayProcess } from "../../gateway-process.ts";
import { openRaw, type RawFrame, type RawSocket } from "../../raw-socket.ts";

describe("frames of each generation", { timeout: 300_000 }, () => {
  for (const protocol of [3, 4]) {
    it(`protocol ${protocol}: the recorded ones`, async (t) => {
      const gateway = await startGatewayProcess(directory(t));
      t.after(() => gateway.kill());
      const file = join(root, `test/fixtures/protocol/${protocol}.json`);
      const recorded = await record(gateway, protocol);
      if (process.env["SVC_UPDATE_SNAPSHOT"]) writeFileSync(file, `${JSON.stringify(recorded, undefined, 1)}\n`);
      assert.deepEqual(recorded, JSON.parse(readFileSync(file, "utf8")));
      // The order of the keys counts, too.
      assert.equal(JSON.stringify(recorded), JSON.stringify(JSON.parse(readFileSync(file, "utf8"))));
    });
  }
});

interface Said {
  readonly scopes?: readonly string[];
  readonly params?: object;
}

/** What a client of this generation is told, by scene. */
async function record({ url, token }: GatewayProcess, protocol: number): Promise<Record<string, unknown>> {
  const open = async ({ scopes = ["operator.read", "operator.write"], params = {} }: Said = {}) => {
    const socket = await openRaw(url);
    const client = { id: "cli", version: "1", platform: "linux", mode: "cli" };
    const range = { minProtocol: protocol, maxProtocol: protocol };
    ask(socket, "c1", "connect", { ...range, client, scopes, auth: { token }, ...params });
    return { socket, answer: await answerTo(socket, "c1") };
  };
  const sessionKey = `agent:main:said-${protocol}`;
  const refused = async (params: object) => {
    const { socket, answer } = await open({ params });
    return answer.ok === true ? "accepted" : { answer: plain(answer), close: await socket.closed };
  };
  const scenes: Record<string, unknown> = {
    "connect: older": await refused({ minProtocol: 1, maxProtocol: 2 }),
    "connect: unknown key": await refused({ novelty: 1 }),
    "connect: no credential": await refused({ auth: {} }),
  };
  const { socket, answer } = await open();
  const { features: _, ...hello } = answer.payload ?? {};
  scenes["challenge"] = plain(socket.frames[0]);
  scenes["hello-ok"] = { ...(shape(hello) as object), protocol: hello["protocol"] };

  let calls = 0;
  const call = async (name: string, method: string, params: object) => {
    const id = `${protocol}-${++calls}`;
    ask(socket, id, method, params);
    scenes[name] = plain(await answerTo(socket, id));
  };
  await call("unknown method, alike", "sessions.lists", {});
  await call("unknown method", "qqqq.zzzz", {});
  await call("missing scope", "config.set", {});
  await call("unknown param, reading", "sessions.preview", { keys: [sessionKey], novelty: 1 });
  await call("unknown param, writing", "chat.abort", { sessionKey, novelty: 1 });
  await call("missing param", "chat.send", { message: "hi" });

  for (const [method, params] of [
    ["chat.send", { sessionKey, message: "echo hello", idempotencyKey: `chat-${protocol}` }],
    ["agent", { sessionKey, message: "echo hello", idempotencyKey: `agent-${protocol}` }],
  ] as const) {
    const { idempotencyKey: runId } = params;
    ask(socket, runId, method, params);
    const ofRun = ({ payload }: RawFrame) => payload?.["runId"] === runId;
    await socket.next((frame) => frame.event === "chat" && frame.payload?.["state"] === "final" && ofRun(frame));
    await answerTo(socket, runId);
    if (method === "agent") await socket.next(({ id, payload }) => id === runId && payload?.["status"] === "ok");
    for (const event of ["agent", "chat"])
      scenes[`${method}: ${event} events`] = socket.frames
        .filter((frame) => frame.event === event && ofRun(frame))
        .map(plain);
    scenes[`${method}: answers`] = socket.frames.filter(({ id }) => id === runId).map(plain);
  }
  await call("a repeated chat.send", "chat.send", {
    sessionKey,
    message: "echo hello",
    idempotencyKey: `chat-${protocol}`,
  });
  await call("chat.abort without a run", "chat.abort", { sessionKey });

  const runId = `stopped-${protocol}`;
  ask(socket, runId, "chat.send", { sessionKey, message: `echo${" long".repeat(2_000)}`, idempotencyKey: runId });
  const stateOf = ({ event, payload }: RawFrame) =>
    event === "chat" && payload?.["runId"] === runId ? payload["state"] : "";
  await socket.next((frame) => stateOf(frame) === "delta");
  await call("chat.abort", "chat.abort", { sessionKey });
  // Their numbers depend on how much of the reply had come.
  const unnumbered = (frame: RawFrame) => plain({ ...frame, payload: { ...frame.payload, seq: 0 } });
  scenes["chat.abort: chat event"] = unnumbered(await socket.next((frame) => stateOf(frame) === "aborted"));
  scenes["chat.abort: agent events"] = socket.frames
    .filter(({ payload }) => payload?.["stream"] === "lifecycle" && payload["runId"] === runId)
    .map(unnumbered);
  socket.ws.close();
  return scenes;
}

function ask(socket: RawSocket, id: string, method: string, params: object): void {
  socket.send({ type: "req", id, method, params });
}

const answerTo = (socket: RawSocket, id: string) => socket.next((frame) => frame.id === id);

/** The frame without what differs between two runs. */
function plain(frame: unknown): unknown {
  const text = JSON.stringify(frame)
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "<uuid>")
    .replaceAll(/\b1[789]\d{11}\b/g, "0")
    .replaceAll(/("(?:durationMs|uptimeMs)":)\d+/g, "$10")
    .replaceAll(/(chat|agent|said|stopped)-[34]\b/g, "$1-N")
    .replaceAll(/(?:long ?)+/g, "long")
    .replaceAll(/"id":"[34]-/g, '"id":"N-');
  return JSON.parse(text);
}

/** The types of the values, by key. */
function shape(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map(shape);
  if (typeof value !== "object" || value === null) return typeof value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shape(inner)]));
}
