/** A person talks to an agent through a chat-completions server: streaming, tools, pictures, abort, failure. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import type { PayloadOf } from "@svc/sdk";
import { agentEvent, agents } from "@svc/sdk/agents";
import { chat, chatEvent } from "@svc/sdk/chat";
import type { GatewayClient } from "@svc/sdk/client";
import { sessions } from "@svc/sdk/sessions";
import { until } from "../until.ts";
import { type FakeModelServer, type FakeModelServerOptions, startFakeModelServer, testGateway } from "@svc/sdk/testing";

type ChatEvent = PayloadOf<typeof chatEvent>;
type AgentEvent = PayloadOf<typeof agentEvent>;

async function start(t: TestContext, options: FakeModelServerOptions = {}) {
  const server = await startFakeModelServer(options);
  t.after(() => server.close());
  const list = [{ id: "gpt-x", name: "Fake", input: ["text", "image"] }];
  const fake = { baseUrl: server.url, apiKey: "key-1", models: list };
  const config = { models: { providers: { fake } }, agents: { defaults: { model: "fake/gpt-x" } } };
  const running = await testGateway(t, { config });
  const talker = await running.connect({ caps: ["tool-events"] });
  const recorded = record(talker);
  /** Sends to the main session. @returns the id of the run */
  const send = async (message: string, more: { attachments?: { mimeType: string; content: string }[] } = {}) => {
    const runId = nextRun();
    await talker.call(chat.send, { sessionKey: "main", message, idempotencyKey: runId, ...more });
    return runId;
  };
  /** Sends, and waits for the end of the run. */
  const say = async (...said: Parameters<typeof send>) => recorded.ended(await send(...said));
  return { ...running, server, talker, ...recorded, send, say };
}

/** Records the chat and agent events of a client. */
function record(client: GatewayClient) {
  const chats: ChatEvent[] = [];
  const steps: AgentEvent[] = [];
  client.on(chatEvent, (payload) => chats.push(payload));
  client.on(agentEvent, (payload) => steps.push(payload));
  const ended = async (runId: string): Promise<ChatEvent> => {
    for (;;) {
      const end = chats.find((event) => event.runId === runId && event.state !== "delta");
      if (end) return end;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
  return { chats, steps, ended };
}

/** Requests to the model server, by position. */
function body({ requests }: FakeModelServer, index: number): unknown {
  const request = requests.at(index);
  assert.ok(request);
  return request.body;
}

const rolesOf = (server: FakeModelServer, index: number) =>
  (body(server, index) as { messages: { role: string }[] }).messages.map(({ role }) => role);

const textOf = (event: ChatEvent | undefined) => event?.message?.content.map(({ text }) => text).join("");
let serial = 0;
const nextRun = () => `e2e-${++serial}`;

describe("a conversation", () => {
  it("streams cumulative deltas and one final, under the canonical key and the idempotency key", async (t) => {
    const pieces = ["Hel", "lo ", "the", "re"];
    const { talker, chats, steps, ended } = await start(t, { replies: [{ pieces, delayMs: 200 }] });
    const runId = nextRun();
    const sent = await talker.call(chat.send, { sessionKey: "main", message: "hi", idempotencyKey: runId });
    assert.deepEqual(sent, { runId, status: "started" });
    const final = await ended(runId);
    assert.deepEqual([final.state, textOf(final), final.sessionKey], ["final", "Hello there", "agent:main:main"]);
    const deltas = chats.filter(({ state }) => state === "delta").map(textOf);
    assert.ok(deltas.length >= 2, "more than one delta");
    deltas.reduce((before, text) => (assert.ok(text?.startsWith(before ?? "")), text), "");
    const streams = steps.map(({ stream, data }) =>
      stream === "lifecycle" ? (data as { phase: string }).phase : stream,
    );
    assert.deepEqual([streams[0], streams.at(-1)], ["start", "end"]);
    assert.deepEqual(
      steps.map(({ seq }) => seq),
      steps.map((_, index) => index + 1),
    );
  });

  it("remembers what was said before, and history shows it", async (t) => {
    const { talker, server, say } = await start(t);
    for (const message of ["first", "second"]) await say(message);
    assert.deepEqual(rolesOf(server, -1), ["system", "user", "assistant", "user"]);
    const { messages } = await talker.call(chat.history, { sessionKey: "main" });
    const roles = messages.map((message) => (message as { role: string }).role);
    assert.deepEqual(roles, ["user", "assistant", "user", "assistant"]);
    const {
      sessions: [row, ...more],
    } = await talker.call(sessions.list, { includeDerivedTitles: true });
    assert.deepEqual([row?.key, row?.derivedTitle, more], ["agent:main:main", "first", []]);
  });

  it("calls a tool and continues with its result; the text never shrinks, and tool events reach only participants", async (t) => {
    const toolCalls = [{ name: "session_status", arguments: {} }];
    const first = { pieces: ["Let me look at that for you."], delayMs: 160, toolCalls };
    const replies = [first, { pieces: ["All is ", "well."], delayMs: 200 }];
    const { server, steps, chats, ended, connect, send } = await start(t, { replies });
    const stranger = record(await connect({ caps: ["tool-events"] }));
    const runId = await send("how is the session?");
    const final = await ended(runId);
    const texts = [...chats.filter(({ state }) => state === "delta"), final].map((event) => textOf(event) ?? "");
    texts.reduce((before, text) => (assert.ok(text.length >= before.length, `"${before}" then "${text}"`), text), "");
    assert.match(texts.at(-1) ?? "", /Let me look at that for you\.\s+All is well\.$/);
    await stranger.ended(runId);
    const phases = (list: AgentEvent[]) =>
      list.filter(({ stream }) => stream === "tool").map(({ data }) => (data as { phase: string }).phase);
    assert.deepEqual(phases(steps), ["start", "result"]);
    assert.deepEqual(phases(stranger.steps), []);
    const second = body(server, 1) as { messages: { role: string; content: unknown }[] };
    const result = second.messages.find(({ role }) => role === "tool");
    assert.match(String(result?.content), /agent:main:main/);
  });

  it("sends pictures along", async (t) => {
    const { talker, server, say } = await start(t);
    const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    await say("what is this?", { attachments: [{ mimeType: "image/png", content: png }] });
    const { messages } = body(server, 0) as {
      messages: { role: string; content: { type: string; image_url?: { url: string } }[] }[];
    };
    const picture = messages.at(-1)?.content.find(({ type }) => type === "image_url");
    assert.equal(picture?.image_url?.url, `data:image/png;base64,${png}`);
    const { messages: shown } = await talker.call(chat.history, { sessionKey: "main" });
    assert.ok(!JSON.stringify(shown).includes(png), "history leaves the bytes out");
  });

  it("an abort keeps the text so far and closes the socket to the model", async (t) => {
    const pieces = Array.from({ length: 100 }, (_, index) => `word${index} `);
    const { talker, server, ended, chats, send } = await start(t, { replies: [{ pieces, delayMs: 20 }] });
    const runId = await send("talk");
    await until(() => chats.some(({ state }) => state === "delta"), "a delta");
    const aborted = await talker.call(chat.abort, { sessionKey: "main", runId });
    assert.deepEqual(aborted, { ok: true, aborted: true, runIds: [runId] });
    const end = await ended(runId);
    assert.deepEqual([end.state, end.stopReason], ["aborted", "rpc"]);
    await until(() => server.requests[0]?.aborted === true, "the abort at the model");
    const { messages } = await talker.call(chat.history, { sessionKey: "main" });
    const last = messages.at(-1) as { role: string; stopReason: string; content: { text: string }[] };
    assert.deepEqual([last.role, last.stopReason], ["assistant", "aborted"]);
    assert.match(last.content[0]?.text ?? "", /^word0 /);
  });

  it("a failing server is reported in a sentence with the next step, and the session continues", async (t) => {
    const { say } = await start(t, { replies: [{ status: 401 }, { text: "back" }] });
    const failed = await say("hi");
    assert.equal(failed.state, "error");
    assert.match(failed.errorMessage ?? "", /models\.providers\.fake\.apiKey/);
    assert.ok(!failed.errorMessage?.includes("key-1"));
    assert.equal(textOf(await say("again")), "back");
  });
});

it("agent first responds accepted, then with the outcome under the same id", async (t) => {
  const { talker } = await start(t, { replies: [{ text: "done" }] });
  const runId = nextRun();
  let accepted: unknown;
  const final = await talker.call(
    agents.run,
    { message: "do it", idempotencyKey: runId, sessionKey: "main" },
    { expectFinal: true, onAccepted: (payload) => (accepted = payload) },
  );
  assert.equal((accepted as { status: string }).status, "accepted");
  assert.equal(final.status, "ok");
  const { payloads } = final.result as { payloads: { text: string }[] };
  assert.deepEqual(
    payloads.map(({ text }) => text),
    ["done"],
  );
  assert.equal((await talker.call(agents.wait, { runId })).status, "ok");
});
