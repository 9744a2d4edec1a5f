/** Fields of a request: used, refused by name, or ignored. Spec: http/chat-completions.md §2, §4 and §9. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { textOf } from "@svc/sdk/models";
import { type Question, readQuestion } from "../../../plugins/http-chat/request.ts";

const user = (content: unknown = "hi") => ({ role: "user", content });
const read = (body: object): Question => readQuestion(Buffer.from(JSON.stringify({ messages: [user()], ...body })));
const conversation = (...messages: object[]) => read({ messages }).conversation;
const weather = { type: "function", function: { name: "weather", description: "-", parameters: { type: "object" } } };
const call = (id: string, args = "{}") => ({ id, type: "function", function: { name: "weather", arguments: args } });

describe("a field that is used", () => {
  const rows: [body: object, expected: Partial<Question>][] = [
    [{}, { model: "svc", user: undefined, isStream: false, includeUsage: false, options: {}, tools: [] }],
    [
      { model: "svc:Helper", user: "ada" },
      { model: "svc:Helper", user: "ada" },
    ],
    [{ stream: true }, { isStream: true }],
    [{ stream: false }, { isStream: false }],
    [{ stream_options: { include_usage: true, include_obfuscation: false } }, { includeUsage: true }],
    [{ max_tokens: 5 }, { options: { maxTokens: 5 } }],
    [{ max_tokens: 5, max_completion_tokens: 9 }, { options: { maxTokens: 9 } }],
    [{ temperature: 0 }, { options: { temperature: 0 } }],
    [{ temperature: 2, top_p: 1 }, { options: { temperature: 2, topP: 1 } }],
    [{ frequency_penalty: -2, presence_penalty: 2 }, { options: { frequencyPenalty: -2, presencePenalty: 2 } }],
    [{ seed: -3 }, { options: { seed: -3 } }],
    [{ stop: "END" }, { options: { stop: ["END"] } }],
    [{ stop: ["a", "b", "c", "d"] }, { options: { stop: ["a", "b", "c", "d"] } }],
    [{ stop: [] }, { options: {} }],
    [{ parallel_tool_calls: false }, { options: { parallelToolCalls: false } }],
    [{ response_format: { type: "text" } }, { options: {} }],
    [{ response_format: { type: "json_object" } }, { options: { responseFormat: { type: "json_object" } } }],
    [
      { response_format: { type: "json_schema", json_schema: { name: "x", schema: { a: 1 }, strict: null } } },
      { options: { responseFormat: { type: "json_schema", name: "x", schema: { a: 1 } } } },
    ],
    [{ reasoning_effort: "none" }, { thinking: "off" }],
    [{ reasoning_effort: "max" }, { thinking: "high" }],
    [{ reasoning_effort: "xhigh" }, { thinking: "xhigh" }],
    [{ tools: [weather] }, { tools: [{ name: "weather", description: "-", parameters: { type: "object" } }] }],
    [
      { tools: [{ type: "function", function: { name: "f" } }] },
      { tools: [{ name: "f", description: "", parameters: { type: "object", properties: {} } }] },
    ],
    [{ tool_choice: "auto" }, { toolChoice: "auto" }],
    [{ tool_choice: "none" }, { toolChoice: "none" }],
    [{ tools: [weather], tool_choice: "required" }, { toolChoice: "required" }],
    [
      { tools: [weather], tool_choice: { type: "function", function: { name: "weather" } } },
      { toolChoice: { name: "weather" } },
    ],
  ];
  for (const [body, expected] of rows) {
    it(JSON.stringify(body), () => {
      const question = read(body);
      for (const [name, value] of Object.entries(expected))
        assert.deepEqual(question[name as keyof Question], value, name);
    });
  }

  it("says nothing when it is null", () => {
    const names = [
      "model",
      "user",
      "stream",
      "stream_options",
      "temperature",
      "stop",
      "tools",
      "tool_choice",
      "n",
      "audio",
      "seed",
    ];
    const question = read(Object.fromEntries(names.map((name) => [name, null])));
    assert.deepEqual(question, read({}));
  });
});

describe("a field without effect", () => {
  const rows: object[] = [
    { n: 1, logprobs: false, top_logprobs: 0, logit_bias: {}, modalities: ["text"] },
    { store: true, metadata: { a: "b" }, service_tier: "flex", verbosity: "low" },
    { safety_identifier: "x", prompt_cache_key: "y", prompt_cache_retention: "24h", prompt_cache_options: {} },
  ];
  for (const body of rows) it(JSON.stringify(body), () => assert.deepEqual(read(body), read({})));
});

describe("a field that is refused", () => {
  const rows: [body: object, param: string, code: string, why: RegExp][] = [
    [{ colour: "red" }, "colour", "unknown_parameter", /unknown field/],
    [{ __proto__x: 1 }, "__proto__x", "unknown_parameter", /unknown field/],
    [{ audio: {} }, "audio", "unsupported_parameter", /text only/],
    [{ functions: [] }, "functions", "unsupported_parameter", /use tools/],
    [{ function_call: "auto" }, "function_call", "unsupported_parameter", /use tool_choice/],
    [{ moderation: {} }, "moderation", "unsupported_parameter", /moderation is not supported/],
    [{ prediction: {} }, "prediction", "unsupported_parameter", /not supported/],
    [{ web_search_options: {} }, "web_search_options", "unsupported_parameter", /own tools/],
    [{ n: 2 }, "n", "unsupported_value", /only 1/],
    [{ logprobs: true }, "logprobs", "unsupported_value", /only false/],
    [{ top_logprobs: 2 }, "top_logprobs", "unsupported_value", /only 0/],
    [{ logit_bias: { 1: 2 } }, "logit_bias", "unsupported_value", /only \{\}/],
    [{ modalities: ["text", "audio"] }, "modalities", "unsupported_value", /only \["text"\]/],
    [{ model: 7 }, "model", "invalid_value", /string/],
    [{ user: {} }, "user", "invalid_value", /string/],
    [{ user: "x".repeat(257) }, "user", "invalid_value", /256/],
    [{ stream: "yes" }, "stream", "invalid_value", /boolean/],
    [{ stream: 1 }, "stream", "invalid_value", /boolean/],
    [{ stream_options: { include_usage: 1 } }, "stream_options.include_usage", "invalid_value", /./],
    [{ temperature: 2.1 }, "temperature", "invalid_value", /2/],
    [{ temperature: -0.1 }, "temperature", "invalid_value", /0/],
    [{ temperature: "1" }, "temperature", "invalid_value", /number/],
    [{ top_p: 1.1 }, "top_p", "invalid_value", /1/],
    [{ frequency_penalty: -2.1 }, "frequency_penalty", "invalid_value", /-2/],
    [{ presence_penalty: 2.1 }, "presence_penalty", "invalid_value", /2/],
    [{ seed: 1.5 }, "seed", "invalid_value", /integer/],
    [{ max_tokens: 0 }, "max_tokens", "invalid_value", /1/],
    [{ max_completion_tokens: 1.5 }, "max_completion_tokens", "invalid_value", /integer/],
    [{ stop: ["a", "b", "c", "d", "e"] }, "stop", "invalid_value", /at most 4/],
    [{ stop: [""] }, "stop", "invalid_value", /none empty/],
    [{ stop: 7 }, "stop", "invalid_value", /text/],
    [{ reasoning_effort: "much" }, "reasoning_effort", "invalid_value", /must be one of "none"/],
    [{ response_format: { type: "xml" } }, "response_format.type", "invalid_value", /must be one of "text"/],
    [
      { response_format: { type: "json_schema" } },
      "response_format.json_schema",
      "missing_required_parameter",
      /missing/,
    ],
    [
      { response_format: { type: "json_schema", json_schema: { name: "a b" } } },
      "response_format.json_schema.name",
      "invalid_value",
      /./,
    ],
    [{ tools: {} }, "tools", "invalid_value", /array/],
    [{ tools: [{ type: "custom", custom: { name: "x" } }] }, "tools[0].type", "unsupported_value", /type "function"/],
    [{ tools: [null] }, "tools[0].type", "unsupported_value", /type "function"/],
    [{ tools: [{ type: "function" }] }, "tools[0]", "invalid_value", /function/],
    [
      { tools: [{ type: "function", function: { name: "a b" } }] },
      "tools[0].function.name",
      "invalid_value",
      /pattern/,
    ],
    [{ tools: [weather, weather] }, "tools[1].function.name", "invalid_value", /two tools called weather/],
    [{ tool_choice: "required" }, "tool_choice", "invalid_value", /needs tools/],
    [{ tool_choice: "sometimes" }, "tool_choice", "invalid_value", /must be "auto"/],
    [{ tool_choice: { type: "custom", custom: { name: "x" } } }, "tool_choice", "invalid_value", /must be "auto"/],
    [
      { tool_choice: { type: "function", function: { name: "x" } } },
      "tool_choice",
      "invalid_value",
      /no tool called x/,
    ],
    [{ messages: [7] }, "messages[0]", "invalid_value", /object/],
    [{ messages: [user(7)] }, "messages[0].content", "invalid_value", /text or a list/],
    [{ messages: [user([7])] }, "messages[0].content[0]", "invalid_value", /object/],
    [{ messages: [user([{ type: "text" }])] }, "messages[0].content[0].text", "invalid_value", /text/],
    [
      { messages: [user([{ type: "video" }])] },
      "messages[0].content[0].type",
      "invalid_value",
      /unknown part type "video"/,
    ],
    [{ messages: [user([{}])] }, "messages[0].content[0].type", "invalid_value", /unknown part type undefined/],
    [
      { messages: [user([{ type: "refusal", refusal: "no" }])] },
      "messages[0].content[0].type",
      "invalid_value",
      /assistant/,
    ],
    [{ messages: [user(), { role: "alien", content: "x" }] }, "messages[1].role", "invalid_value", /must be system/],
    [{ messages: [{ role: "assistant", audio: { id: "x" } }, user()] }, "messages[0].audio", "invalid_value", /audio/],
    [
      { messages: [{ role: "assistant", function_call: {} }, user()] },
      "messages[0].function_call",
      "invalid_value",
      /tool_calls/,
    ],
    [
      { messages: [{ role: "assistant", tool_calls: [call("")] }, user()] },
      "messages[0].tool_calls[0].id",
      "invalid_value",
      /text/,
    ],
    [
      { messages: [{ role: "assistant", tool_calls: [call("a", "[]")] }, user()] },
      "messages[0].tool_calls[0].function.arguments",
      "invalid_value",
      /JSON object/,
    ],
    [
      { messages: [{ role: "assistant", tool_calls: [{ id: "a", type: "custom" }] }, user()] },
      "messages[0].tool_calls[0].type",
      "invalid_value",
      /type "function"/,
    ],
    [{ messages: [{ role: "tool", content: "x" }] }, "messages[0].tool_call_id", "invalid_value", /must name the call/],
  ];
  for (const [body, param, code, why] of rows) {
    it(`${param}: ${JSON.stringify(body)}`, () => {
      assert.throws(
        () => read(body),
        (error: Error & { details?: unknown }) => {
          assert.deepEqual(error.details, { param, code });
          assert.match(error.message, why);
          assert.ok(error.message.startsWith(`${param}: `));
          return true;
        },
      );
    });
  }

  const nothing: [what: string, messages: unknown][] = [
    ["none", undefined],
    ["an empty list", []],
    ["no list", "hi"],
    ["instructions only", [{ role: "system", content: "Be brief" }]],
    ["a blank text", [user("  ")]],
    ["blank parts", [user([{ type: "text", text: "" }])]],
    ["a stranger only", [{ role: "alien", content: "x" }]],
    ["no role", [{ content: "x" }]],
    ["an assistant that says nothing", [{ role: "assistant", content: null }]],
  ];
  for (const [what, messages] of nothing) {
    it(`messages without a question: ${what}`, () => {
      assert.throws(() => read({ messages }), {
        code: "INVALID_REQUEST",
        message: "Missing user message in `messages`.",
      });
    });
  }
});

describe("messages", () => {
  it("are instructions, what was said, and the question", () => {
    const { system, history, message, results } = conversation(
      { role: "system", content: "Be brief." },
      user("one"),
      {
        role: "assistant",
        content: [
          { type: "text", text: "two" },
          { type: "refusal", refusal: "or not" },
        ],
      },
      { role: "developer", content: [{ type: "text", text: "In French." }] },
      user([{ type: "text", text: "three" }, { type: "input_text", text: "four" }, { input_text: "five" }]),
    );
    assert.equal(system, "Be brief.\n\nIn French.");
    assert.equal(message, "three\nfour\nfive");
    assert.deepEqual(results, []);
    assert.deepEqual(
      history.map((entry) => (entry.role === "assistant" ? textOf(entry) : entry.role)),
      ["user", "two\nor not"],
    );
  });

  it("after the last question do not count", () => {
    const { history, message } = conversation(user("one"), { role: "assistant", content: "two" });
    assert.deepEqual([history, message], [[], "one"]);
  });

  it("of the assistant alone are the question", () => {
    assert.equal(conversation({ role: "assistant", content: "go on" }).message, "go on");
  });

  it("that say nothing are left out", () => {
    assert.deepEqual(conversation(user(" "), { role: "assistant", content: "" }, user("two")).history, []);
  });

  it("of tools at the end answer the calls before them, under their names, also empty ones", () => {
    const asked = { role: "assistant", content: null, tool_calls: [call("a"), call("b", '{"x":1}')] };
    const { history, results, message } = conversation(
      user("one"),
      asked,
      { role: "tool", tool_call_id: "a", content: "" },
      { role: "function", tool_call_id: "b", content: [{ type: "text", text: "rain" }] },
    );
    assert.deepEqual([history.length, message], [2, ""]);
    assert.deepEqual(
      results.map(({ toolCallId, toolName, text }) => [toolCallId, toolName, text]),
      [
        ["a", "weather", ""],
        ["b", "weather", "rain"],
      ],
    );
  });

  it("of tools alone answer the session's calls, with a question behind them or not", () => {
    const answer = { role: "tool", tool_call_id: "a", content: "rain" };
    for (const more of [[], [user("and?")]]) {
      const { history, results, message } = conversation(answer, ...more);
      assert.deepEqual([history, results[0]?.toolName, message], [[], undefined, more.length > 0 ? "and?" : ""]);
    }
  });

  it("with an image only are a question", () => {
    const url = "data:image/png;base64,AAAA";
    for (const image of [{ url, detail: "low" }, url]) {
      const { message, images } = conversation(user([{ type: "image_url", image_url: image }]));
      assert.deepEqual([message, images[0]?.url], ["", url]);
    }
  });
});
