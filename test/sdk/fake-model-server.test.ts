import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type FakeModelServerOptions, startFakeModelServer } from "../../sdk/testing/fake-model-server.ts";

const question = { model: "fake-model", messages: [{ role: "user", content: "good morning" }] };

function post(url: string, body: object, init: RequestInit = {}): Promise<Response> {
  const headers = { "content-type": "application/json", ...(init.headers as Record<string, string> | undefined) };
  return fetch(`${url}/chat/completions`, { ...init, method: "POST", headers, body: JSON.stringify(body) });
}

interface Wire {
  readonly choices: {
    delta: {
      content?: string;
      reasoning_content?: string;
      tool_calls?: { index: number; id?: string; function: { name?: string; arguments: string } }[];
    };
    finish_reason: string | null;
  }[];
  readonly usage?: object;
}

/** The `data:` lines of a streamed answer. */
async function stream(options: FakeModelServerOptions, body: object = {}) {
  await using server = await startFakeModelServer(options);
  const response = await post(server.url, { ...question, stream: true, ...body });
  const lines = (await response.text()).split("\n\n").filter(Boolean);
  const chunks = lines.filter((line) => line !== "data: [DONE]").map((line) => JSON.parse(line.slice(6)) as Wire);
  return { lines, chunks };
}

/** The first choice of an answer that is not streamed. */
async function answered(options: FakeModelServerOptions = {}) {
  await using server = await startFakeModelServer(options);
  const { choices } = (await (await post(server.url, question)).json()) as { choices: object[] };
  return choices[0];
}

describe("fake model server", () => {
  it("echoes the last user message when nothing is scripted, and takes replies from a function of the request", async () => {
    const choice = (content: string) => ({ index: 0, message: { role: "assistant", content }, finish_reason: "stop" });
    assert.deepEqual(await answered(), choice("good morning"));
    const replies: FakeModelServerOptions["replies"] = ({ body }, index) => ({ text: `${index}: ${body.model}` });
    assert.deepEqual(await answered({ replies }), choice("0: fake-model"));
  });

  it("streams role, pieces, finish reason and [DONE], without usage unless asked", async () => {
    const { chunks, lines } = await stream({ replies: [{ pieces: ["a", "b"] }] });
    assert.deepEqual(
      chunks.map(({ choices }) => [choices[0]?.delta, choices[0]?.finish_reason]),
      [
        [{ role: "assistant", content: "" }, null],
        [{ content: "a" }, null],
        [{ content: "b" }, null],
        [{}, "stop"],
      ],
    );
    assert.equal(lines.at(-1), "data: [DONE]");
  });

  it("sends a last chunk with usage and no choices when asked, unless the reply says so", async () => {
    const asking = { stream_options: { include_usage: true } };
    const { choices, usage } = (await stream({}, asking)).chunks.at(-1) ?? {};
    assert.deepEqual([choices, usage], [[], { prompt_tokens: 2, completion_tokens: 2, total_tokens: 4 }]);
    const without = await stream({ replies: [{ usage: false }] }, asking);
    assert.ok(without.chunks.every((chunk) => chunk.usage === undefined));
  });

  it("splits tool calls over several chunks", async () => {
    const { chunks } = await stream({ replies: [{ toolCalls: [{ name: "add", arguments: { a: 1, b: 2 } }] }] });
    const deltas = chunks.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? []);
    assert.equal(deltas.length, 4);
    assert.deepEqual([deltas[0]?.id, deltas[0]?.function.name], ["call_1", "add"]);
    assert.equal(deltas.map((delta) => delta.function.arguments).join(""), '{"a":1,"b":2}');
    assert.equal(chunks.at(-1)?.choices[0]?.finish_reason, "tool_calls");
  });

  it("answers whole with tool calls when not asked to stream", async () => {
    const choice = await answered({ replies: [{ toolCalls: [{ name: "add", arguments: {}, id: "x" }] }] });
    const calls = [{ id: "x", type: "function", function: { name: "add", arguments: "{}" } }];
    const message = { role: "assistant", content: null, tool_calls: calls };
    assert.deepEqual(choice, { index: 0, message, finish_reason: "tool_calls" });
  });

  it("lists its models", async () => {
    await using server = await startFakeModelServer({ models: ["one", "two"] });
    const { data } = (await (await fetch(`${server.url}/models`)).json()) as { data: { id: string }[] };
    assert.deepEqual(
      data.map(({ id }) => id),
      ["one", "two"],
    );
  });

  it("answers a scripted status, a model it does not list and a wrong key with an error body", async () => {
    const refusals: [options: FakeModelServerOptions, status: number][] = [
      [{ replies: [{ status: 500 }] }, 500],
      [{ models: ["other"] }, 404],
      [{ apiKey: "right" }, 401],
    ];
    for (const [options, status] of refusals) {
      await using server = await startFakeModelServer(options);
      const response = await post(server.url, question);
      assert.equal(response.status, status);
      assert.ok(((await response.json()) as { error: { message: string } }).error.message);
    }
  });

  it("sends retry-after with a scripted 429, then the next reply", async () => {
    await using server = await startFakeModelServer({ replies: [{ status: 429, retryAfter: 7 }, { text: "now" }] });
    const refused = await post(server.url, question);
    assert.deepEqual([refused.status, refused.headers.get("retry-after")], [429, "7"]);
    assert.equal((await post(server.url, question)).status, 200);
  });

  it("cuts the connection after the scripted pieces", async () => {
    await using server = await startFakeModelServer({ replies: [{ pieces: ["a", "b"], breakAfter: 1 }] });
    const response = await post(server.url, { ...question, stream: true });
    await assert.rejects(response.text());
    await server.requests[0]?.closed;
    assert.equal(server.requests[0]?.aborted, false);
  });

  it("sends something that is not JSON when malformed", async () => {
    await assert.rejects(stream({ replies: [{ text: "a", malformed: true }] }), SyntaxError);
  });

  it("records what was sent and that the client went away", async () => {
    await using server = await startFakeModelServer({ replies: [{ text: "a b", hangAfter: 1 }] });
    const abort = new AbortController();
    const headers = { authorization: "Bearer k" };
    const response = await post(server.url, { ...question, stream: true }, { signal: abort.signal, headers });
    const [request] = server.requests;
    assert.deepEqual([request?.body.model, request?.headers.authorization], ["fake-model", "Bearer k"]);
    assert.equal(request?.aborted, false);
    abort.abort();
    await assert.rejects(response.text(), { name: "AbortError" });
    await request?.closed;
    assert.equal(request?.aborted, true);
  });

  it("closes twice and drops an answer that hangs", async () => {
    const server = await startFakeModelServer({ replies: [{ hangAfter: 0 }] });
    const response = await post(server.url, { ...question, stream: true });
    await Promise.all([server.close(), assert.rejects(response.text())]);
    await server.close();
    assert.equal(server.requests[0]?.aborted, false);
    await assert.rejects(fetch(`${server.url}/models`));
  });
});
