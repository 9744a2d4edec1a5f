/** The official client against a running gateway. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { FakeModelReply } from "@svc/sdk/testing";
import type { ResponseInput, ResponseStreamEvent } from "openai/resources/responses/responses";
import { PNG, sharedScene, shown, systemOf } from "./scene.ts";

const limited = { timeout: 120_000 };
const ask = (input: string | ResponseInput, more: object = {}) => ({ model: "svc", input, ...more });
const weather = {
  type: "function" as const,
  name: "weather",
  description: "The weather",
  parameters: { type: "object", properties: { town: { type: "string" } } },
  strict: true,
};

describe("the official client", limited, () => {
  const shared = sharedScene();
  /** The gateway, with the queued answers of its model. */
  const answering = (...replies: readonly FakeModelReply[]) => {
    shared().reply(...replies);
    return shared();
  };

  it("gets an answer with everything its types promise", async () => {
    const scene = answering({
      text: "Hello there",
      usage: {
        prompt_tokens: 11,
        completion_tokens: 2,
        total_tokens: 13,
        prompt_tokens_details: { cached_tokens: 4 },
      },
    });
    const response = await scene.openai.responses.create(
      ask("hi", { metadata: { a: "b" }, instructions: "Be kind.", temperature: 0.5, max_output_tokens: 99 }),
    );
    assert.equal(response.output_text, "Hello there");
    assert.match(response.id, /^resp_[0-9a-f-]{36}$/);
    const { id, created_at, output, output_text: _, ...rest } = response;
    assert.ok(Math.abs(created_at - Date.now() / 1_000) < 60);
    const content = [{ type: "output_text", text: "Hello there", annotations: [], logprobs: [] }];
    const message = { type: "message", id: id.replace("resp", "msg"), role: "assistant", status: "completed", content };
    assert.deepEqual(output, [message]);
    assert.deepEqual(rest, {
      object: "response",
      status: "completed",
      background: false,
      error: null,
      incomplete_details: null,
      instructions: "Be kind.",
      max_output_tokens: 99,
      metadata: { a: "b" },
      model: "svc",
      parallel_tool_calls: true,
      previous_response_id: null,
      reasoning: { effort: null, summary: null },
      store: true,
      temperature: 0.5,
      text: { format: { type: "text" } },
      tool_choice: "auto",
      tools: [],
      top_p: null,
      truncation: "disabled",
      usage: {
        input_tokens: 11,
        input_tokens_details: { cached_tokens: 4, cache_write_tokens: 0 },
        output_tokens: 2,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: 13,
      },
    });
    const asked = scene.server.requests.at(-1);
    assert.deepEqual([asked?.body["temperature"], asked?.body["max_tokens"]], [0.5, 99]);
    assert.match(systemOf(scene), /Be kind\./);
  });

  it("streams, and its helper puts the same response together", async () => {
    const scene = answering(...[1, 2].map(() => ({ pieces: ["Hel", "lo ", "you"] })));
    const events: ResponseStreamEvent[] = [];
    const stream = await scene.openai.responses.create({ ...ask("hi"), stream: true });
    for await (const event of stream) events.push(event);
    const deltas = events.flatMap((event) => (event.type === "response.output_text.delta" ? [event.delta] : []));
    assert.equal(deltas.join(""), "Hello you");
    const texts: string[] = [];
    const helped = scene.openai.responses.stream(ask("hi"));
    helped.on("response.output_text.delta", ({ snapshot }) => texts.push(snapshot));
    const final = await helped.finalResponse();
    assert.equal(final.output_text, "Hello you");
    assert.equal(final.status, "completed");
    assert.equal(texts.at(-1), "Hello you");
  });

  it("runs its own tools, and goes on by previous_response_id", async () => {
    const calls = [
      { id: "call_a", name: "weather", arguments: { town: "Oslo" } },
      { id: "call_b", name: "weather", arguments: { town: "Rome" } },
    ];
    const scene = answering({ toolCalls: calls }, { text: "Cold and warm" }, { text: "Bye" });
    const { responses } = scene.openai;
    const first = await responses.create(ask("How is the weather?", { tools: [weather] }));
    assert.equal(first.status, "completed");
    assert.deepEqual(
      first.output.map((item) => item.type === "function_call" && [item.call_id, item.arguments, item.status]),
      [
        ["call_a", '{"town":"Oslo"}', "completed"],
        ["call_b", '{"town":"Rome"}', "completed"],
      ],
    );
    const asked = scene.server.requests.at(-1);
    const { strict: _, type, ...spec } = weather;
    assert.deepEqual(asked?.body.tools, [{ type, function: spec }]);
    const outputs = ["cold", "warm"].map((output, index) => ({
      type: "function_call_output" as const,
      call_id: calls[index]?.id ?? "",
      output,
    }));
    const second = await responses.create(ask(outputs, { tools: [weather], previous_response_id: first.id }));
    assert.equal(second.output_text, "Cold and warm");
    assert.equal(second.previous_response_id, first.id);
    assert.deepEqual(shown(scene), [
      "user: How is the weather?",
      "assistant:  <call_a> <call_b>",
      "tool: cold",
      "tool: warm",
    ]);
    await responses.create(ask("Thanks", { previous_response_id: second.id }));
    assert.deepEqual(shown(scene).slice(-2), ["assistant: Cold and warm", "user: Thanks"]);
  });

  it("runs its own tools, and sends all items back", async () => {
    const toolCalls = [{ id: "call_a", name: "weather", arguments: { town: "Oslo" } }];
    const scene = answering({ text: "Let me see", toolCalls }, { text: "Cold" });
    const { responses } = scene.openai;
    const first = await responses.stream(ask("How is it?", { tools: [weather], store: false })).finalResponse();
    const [said, called] = first.output;
    assert.ok(said?.type === "message" && called?.type === "function_call");
    assert.equal(called.arguments, '{"town":"Oslo"}');
    const picture = {
      type: "input_image" as const,
      image_url: `data:image/png;base64,${PNG}`,
      detail: "auto" as const,
    };
    const input: ResponseInput = [
      { role: "user", content: "How is it?" },
      said,
      called,
      {
        type: "function_call_output",
        call_id: called.call_id,
        output: [{ type: "input_text", text: "snow" }, picture],
      },
    ];
    const second = await responses.create(ask(input, { tools: [weather] }));
    assert.equal(second.output_text, "Cold");
    assert.deepEqual(shown(scene), [
      "user: How is it?",
      "assistant: Let me see <call_a>",
      "tool: snow",
      "user: Images from weather: [image]",
    ]);
  });

  it("has its answer in a schema parsed", async () => {
    const scene = answering({ text: '{"town":"Oslo"}' });
    const schema = { type: "object", properties: { town: { type: "string" } } };
    const format = { type: "json_schema" as const, name: "place", schema, strict: true };
    const response = await scene.openai.responses.create(ask("Where?", { text: { format, verbosity: "low" } }));
    assert.equal(response.output_text, '{"town":"Oslo"}');
    assert.deepEqual(scene.server.requests.at(-1)?.body["response_format"], {
      type: "json_schema",
      json_schema: { name: "place", schema, strict: true },
    });
  });

  it("looks up, and forgets", async () => {
    const scene = answering({ text: "kept" });
    const { responses } = scene.openai;
    const { output_text, ...made } = await responses.create(ask("hi"));
    const { output_text: _, ...found } = await responses.retrieve(made.id);
    assert.equal(output_text, "kept");
    assert.deepEqual(found, made);
    await responses.delete(made.id);
    await assert.rejects(responses.retrieve(made.id), { status: 404 });
    await assert.rejects(responses.delete(made.id), { status: 404 });
    const gone = { status: 400, code: "previous_response_not_found", param: "previous_response_id" };
    await assert.rejects(responses.create(ask("more", { previous_response_id: made.id })), gone);
  });

  it("throws what its errors say", async () => {
    const scene = answering(...[1, 2].map(() => ({ status: 400, message: "too hot" })));
    const { responses } = scene.openai;
    const bad = { name: "Error", status: 400, type: "invalid_request_error", param: "temperature" };
    await assert.rejects(responses.create(ask("hi", { temperature: 3 })), { ...bad, name: "Error" });
    await assert.rejects(responses.create(ask("hi")), (error: { status: number; code: string; message: string }) => {
      assert.deepEqual([error.status, error.code], [500, "server_error"]);
      assert.match(error.message, /too hot/);
      return true;
    });
    const failed = await responses.stream(ask("hi")).finalResponse();
    assert.equal(failed.status, "failed");
    assert.match(failed.error?.message ?? "", /too hot/);
  });

  it("stops the run when it goes away", async () => {
    const scene = answering(...[1, 2].map(() => ({ pieces: ["a", "b"], hangAfter: 1 })));
    for (const stream of [true, false]) {
      const { controller, asked } = { controller: new AbortController(), asked: scene.server.requests.length };
      const going = (async () => {
        const options = { signal: controller.signal };
        if (!stream) return void (await scene.openai.responses.create(ask("hi"), options));
        const events = await scene.openai.responses.create({ ...ask("hi"), stream: true }, options);
        for await (const event of events) if (event.type === "response.output_text.delta") controller.abort();
      })();
      going.catch(() => undefined);
      while (scene.server.requests.length === asked) await new Promise((resolve) => setTimeout(resolve, 5));
      if (!stream) controller.abort();
      await going.catch(() => undefined);
      const request = scene.server.requests.at(-1);
      await request?.closed;
      assert.equal(request?.aborted, true);
    }
  });
});
