import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type FakeModelServerOptions, startFakeModelServer } from "../../sdk/testing/fake-model-server.ts";

const question = { model: "fake-model", max_tokens: 100, messages: [{ role: "user", content: "good morning" }] };

function post(url: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${url}/messages`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
}

interface WireEvent {
  readonly type: string;
  readonly index?: number;
  readonly delta?: Record<string, string>;
  readonly content_block?: Record<string, unknown>;
  readonly usage?: object;
  readonly error?: object;
}

/** The events of a streamed answer, by their `data:` lines; each must carry its own name. */
async function stream(options: FakeModelServerOptions): Promise<WireEvent[]> {
  await using server = await startFakeModelServer(options);
  const response = await post(server.url, { ...question, stream: true });
  const blocks = (await response.text()).split("\n\n").filter(Boolean);
  return blocks.map((block) => {
    const [name = "", data = ""] = block.split("\n");
    const event = JSON.parse(data.slice("data: ".length)) as WireEvent;
    assert.equal(name, `event: ${event.type}`);
    return event;
  });
}

describe("fake model server, Messages API", { timeout: 120_000 }, () => {
  it("echoes the last user message when nothing is scripted", async () => {
    await using server = await startFakeModelServer();
    const answer = (await (await post(server.url, question)).json()) as Record<string, unknown>;
    assert.deepEqual(
      [answer["content"], answer["stop_reason"]],
      [[{ type: "text", text: "good morning" }], "end_turn"],
    );
    assert.equal(server.requests[0]?.path, "/v1/messages");
  });

  it("streams thinking with its signature, text, tool calls and usage", async () => {
    const usage = { input_tokens: 7, output_tokens: 3, cache_read_input_tokens: 5 };
    const events = await stream({
      replies: [{ thinking: "hmm", signature: "s", text: "a", toolCalls: [{ name: "t", arguments: { a: 1 } }], usage }],
    });
    assert.deepEqual(
      events.flatMap(({ content_block: block }) => (block ? [block["type"]] : [])),
      ["thinking", "text", "tool_use"],
    );
    const deltas = events.filter(({ type }) => type === "content_block_delta");
    const joined = (field: string) => deltas.map(({ delta }) => delta?.[field] ?? "").join("");
    assert.deepEqual(["thinking", "signature", "text", "partial_json"].map(joined), ["hmm", "s", "a", '{"a":1}']);
    const last = events.at(-2);
    assert.deepEqual([last?.delta?.["stop_reason"], last?.usage], ["tool_use", usage]);
    assert.equal(events.at(-1)?.type, "message_stop");
  });

  it("ends a stream with an error event", async () => {
    const errorEvent = { type: "overloaded_error", message: "busy" };
    assert.deepEqual((await stream({ replies: [{ text: "a", errorEvent }] })).at(-1)?.error, errorEvent);
  });

  const errors: [status: number, type: string][] = [
    [401, "authentication_error"],
    [429, "rate_limit_error"],
    [529, "overloaded_error"],
    [500, "api_error"],
  ];
  it("answers a scripted status with the type of its error", async () => {
    for (const [status, type] of errors) {
      await using server = await startFakeModelServer({ replies: [{ status, message: "no", retryAfter: 3 }] });
      const response = await post(server.url, question);
      assert.deepEqual([response.status, response.headers.get("retry-after")], [status, "3"]);
      assert.deepEqual(await response.json(), { type: "error", error: { type, message: "no" } });
    }
  });

  it("takes the key under both names and refuses another", async () => {
    await using server = await startFakeModelServer({ apiKey: "right" });
    const statuses = [{ "x-api-key": "right" }, { authorization: "Bearer right" }, { "x-api-key": "wrong" }].map(
      async (headers) => (await post(server.url, question, headers as Record<string, string>)).status,
    );
    assert.deepEqual(await Promise.all(statuses), [200, 200, 401]);
  });

  const use = { role: "assistant", content: [{ type: "tool_use", id: "1", name: "t", input: {} }] };
  const [hello] = question.messages;
  const mark = { cache_control: { type: "ephemeral" } };
  const marked = { role: "user", content: [{ type: "text", text: "a", ...mark }] };
  const wrong: [why: string, changes: object, message: RegExp][] = [
    ["no limit", { max_tokens: undefined }, /max_tokens/u],
    ["no message", { messages: [] }, /at least one/u],
    ["an answer first", { messages: [use] }, /user role/u],
    ["blank text", { messages: [{ role: "user", content: " " }] }, /non-whitespace/u],
    ["a call without its result", { messages: [hello, use] }, /without tool_result/u],
    ["a budget above the limit", { thinking: { type: "enabled", budget_tokens: 1024 } }, /greater than/u],
    ["a small budget", { thinking: { type: "enabled", budget_tokens: 10 } }, /at least 1024/u],
    ["five marks", { messages: Array.from({ length: 5 }, () => marked) }, /maximum of 4/u],
  ];
  for (const [why, changes, message] of wrong) {
    it(`refuses ${why}, as the API does`, async () => {
      await using server = await startFakeModelServer();
      const response = await post(server.url, { ...question, ...changes });
      assert.equal(response.status, 400);
      assert.match(((await response.json()) as { error: { message: string } }).error.message, message);
    });
  }
});
