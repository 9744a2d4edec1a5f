/** Fields of a request: used, refused by name, or without effect. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { bodyLimit, ResponsesConfig } from "../../../plugins/http-responses/config.ts";
import { readRequest } from "../../../plugins/http-responses/request.ts";
import { parseJsonBody, withDefaults } from "@svc/sdk";

const request = (more: object = {}) => ({ model: "svc", input: "hi", ...more });
const item = (value: unknown) => request({ input: [value] });
const part = (value: unknown) => item({ role: "user", content: [value] });
const tool = { type: "function", name: "weather" };
const nested = { type: "function", function: { name: "weather", parameters: { type: "object" } } };
const base64 = { type: "base64", media_type: "text/plain", data: "aGk=" };

describe("a request", () => {
  const refused: readonly [what: string, body: unknown, message: string][] = [
    ["no object", [], "must be an object"],
    ["an unknown key", request({ foo: 1 }), "unexpected property 'foo'"],
    ["a null of an unknown key", request({ foo: null }), "unexpected property 'foo'"],
    ["no model", { input: "hi" }, "model: is required"],
    ["a null model", { model: null, input: "hi" }, "model: is required"],
    ["a blank model", request({ model: "" }), "model: must not have fewer than 1 characters"],
    ["no input", { model: "svc" }, "input: is required"],
    ["input of another kind", request({ input: 5 }), "input: must be a string or an array of items"],
    ["instructions that are no text", request({ instructions: 1 }), "instructions: must be string"],
    ["no positive max_output_tokens", request({ max_output_tokens: 0 }), "max_output_tokens: must be >= 1"],
    ["half a token", request({ max_output_tokens: 1.5 }), "max_output_tokens: must be integer"],
    ["no positive max_tool_calls", request({ max_tool_calls: 0 }), "max_tool_calls: must be >= 1"],
    ["too hot", request({ temperature: 2.1 }), "temperature: must be <= 2"],
    ["too much of top_p", request({ top_p: 1.1 }), "top_p: must be <= 1"],
    ["metadata that is no text", request({ metadata: { a: 1 } }), "metadata.a: must be string"],
    ["store that is no boolean", request({ store: "no" }), "store: must be boolean"],
    ["an unknown truncation", request({ truncation: "some" }), 'truncation: must be one of "auto", "disabled"'],
    [
      "an unknown effort",
      request({ reasoning: { effort: "huge" } }),
      'reasoning.effort: must be one of "none", "minimal", "low", "medium", "high", "xhigh", "max"',
    ],
    ["an unknown key of reasoning", request({ reasoning: { a: 1 } }), "reasoning: unexpected property 'a'"],
    [
      "an unknown format",
      request({ text: { format: { type: "xml" } } }),
      'text.format.type: must be "text", "json_object" or "json_schema"',
    ],
    [
      "a schema without a name",
      request({ text: { format: { type: "json_schema", schema: {} } } }),
      "text.format.name: is required",
    ],
    [
      "a conversation",
      request({ conversation: "conv_1" }),
      "conversation: conversations are not stored by id; continue with previous_response_id or the header x-svc-session-key",
    ],
    ["a prompt", request({ prompt: { id: "p" } }), "prompt: prompts are not stored; send the text as instructions"],
    [
      "background",
      request({ background: true }),
      "background: background responses are not supported; remove this field",
    ],
    [
      "context_management",
      request({ context_management: [] }),
      "context_management: the gateway summarizes long conversations itself; see agents.defaults.compaction",
    ],
    ["moderation", request({ moderation: {} }), "moderation: is not supported"],
    [
      "top_logprobs",
      request({ top_logprobs: 2 }),
      "top_logprobs: log probabilities are not supported; remove this field",
    ],
    [
      "included logprobs",
      request({ include: ["message.output_text.logprobs"] }),
      "include.0: log probabilities are not supported; remove this entry",
    ],
    ["an unknown include", request({ include: ["all"] }), "include.0: all is unknown; remove this entry"],
    ["no tool", request({ tools: [5] }), "tools.0: must be an object"],
    [
      "a tool of the API itself",
      request({ tools: [{ type: "web_search" }] }),
      "tools.0.type: web_search is not supported; supported: function",
    ],
    ["a tool without a kind", request({ tools: [{ name: "x" }] }), "tools.0.type: is required; supported: function"],
    [
      "a nameless tool",
      request({ tools: [{ type: "function", name: "" }] }),
      "tools.0.name: must not have fewer than 1 characters",
    ],
    [
      "a nameless nested tool",
      request({ tools: [{ type: "function", function: {} }] }),
      "tools.0.function.name: is required",
    ],
    ["both shapes of a tool", request({ tools: [{ ...nested, name: "x" }] }), "tools.0: unexpected property 'name'"],
    [
      "two tools of a name",
      request({ tools: [tool, nested] }),
      "tools: invalid tool configuration: there are two tools called weather",
    ],
    [
      "required without tools",
      request({ tool_choice: "required" }),
      "tool_choice: invalid tool configuration: a tool call is required, but there are no tools",
    ],
    [
      "a choice of no tool",
      request({ tools: [tool], tool_choice: { type: "function", name: "x" } }),
      "tool_choice: invalid tool configuration: tools has no tool named x",
    ],
    [
      "a blank choice",
      request({ tools: [tool], tool_choice: { type: "function", function: { name: " " } } }),
      "tool_choice: invalid tool configuration: the name of the tool is blank",
    ],
    [
      "allowed tools there are not",
      request({
        tools: [tool],
        tool_choice: { type: "allowed_tools", mode: "auto", tools: [{ type: "function", name: "x" }] },
      }),
      "tool_choice: invalid tool configuration: tools has no tool named x",
    ],
    [
      "a hosted choice",
      request({ tool_choice: { type: "web_search_preview" } }),
      "tool_choice.type: web_search_preview is not supported; supported: function or allowed_tools",
    ],
    [
      "another word as choice",
      request({ tool_choice: "any" }),
      'tool_choice: must be "auto", "none", "required" or an object',
    ],
    [
      "an item of another type",
      item({ type: "web_search_call", id: "x" }),
      "input.0.type: web_search_call is not supported; supported: message, function_call, function_call_output, reasoning, item_reference",
    ],
    ["an unknown key of an item", item({ role: "user", content: "x", foo: 1 }), "input.0: unexpected property 'foo'"],
    [
      "an unknown role",
      item({ role: "tool", content: "x" }),
      'input.0.role: must be one of "user", "assistant", "system", "developer"',
    ],
    [
      "content of another kind",
      item({ role: "user", content: 5 }),
      "input.0.content: must be a string or an array of parts",
    ],
    [
      "an unknown part",
      part({ type: "input_audio" }),
      "input.0.content.0.type: input_audio is not supported; supported: input_text, output_text, refusal, input_image, input_file",
    ],
    [
      "an unknown key of a part",
      part({ type: "input_text", text: "x", foo: 1 }),
      "input.0.content.0: unexpected property 'foo'",
    ],
    [
      "a kept file",
      part({ type: "input_file", file_id: "file_1" }),
      "input.0.content.0.file_id: files are not stored; send the content, or a URL",
    ],
    [
      "a kept picture",
      part({ type: "input_image", file_id: "file_1", detail: "auto" }),
      "input.0.content.0.file_id: files are not stored; send the content, or a URL",
    ],
    [
      "a picture without content",
      part({ type: "input_image" }),
      "input.0.content.0: needs exactly one of image_url, source",
    ],
    [
      "a picture with two",
      part({ type: "input_image", image_url: "https://x", source: base64 }),
      "input.0.content.0: needs exactly one of image_url, source",
    ],
    [
      "a source of another kind",
      part({ type: "input_image", source: { type: "file" } }),
      'input.0.content.0.source.type: must be "url" or "base64"',
    ],
    [
      "a source without a URL",
      part({ type: "input_file", source: { type: "url" } }),
      "input.0.content.0.source.url: is required",
    ],
    [
      "blank base64",
      part({ type: "input_image", source: { ...base64, data: "" } }),
      "input.0.content.0.source.data: must not have fewer than 1 characters",
    ],
    [
      "a filename of a picture",
      part({ type: "input_image", source: { ...base64, filename: "x" } }),
      "input.0.content.0.source: unexpected property 'filename'",
    ],
    [
      "a data URL that is no base64",
      part({ type: "input_image", image_url: "data:image/png,xx" }),
      "input.0.content.0.image_url: a data URL must be base64: data:<type>;base64,<text>",
    ],
    [
      "base64 of unknown type",
      part({ type: "input_file", file_data: "aGk=", filename: "x.bin" }),
      "input.0.content.0.file_data: its type is unknown; send data:<type>;base64,<text>, or a filename with a known extension",
    ],
    [
      "arguments that are no JSON",
      item({ type: "function_call", name: "x", arguments: "{" }),
      "input.0.arguments: must be the JSON text of an object",
    ],
    [
      "arguments that are no object",
      item({ type: "function_call", name: "x", arguments: "[]" }),
      "input.0.arguments: must be an object",
    ],
    ["an output without its call", item({ type: "function_call_output", output: "" }), "input.0.call_id: is required"],
    ["a reference to nothing", item({ type: "item_reference" }), "input.0.id: is required"],
  ];
  for (const [what, body, message] of refused) {
    it(`is refused with ${what}`, () => {
      assert.throws(() => readRequest(body), { name: "GatewayError", code: "INVALID_REQUEST", message });
    });
  }

  it("that is not JSON is refused with the parser's message", () => {
    assert.throws(() => parseJsonBody(Buffer.from("{")), /^GatewayError: the request body is not JSON: /);
    assert.deepEqual(parseJsonBody(Buffer.alloc(0)), {});
    assert.throws(() => parseJsonBody(Uint8Array.of(0x22, 0xff, 0x22)), /^GatewayError: the body is not UTF-8$/);
    const deep = Buffer.from("[".repeat(50_000) + "]".repeat(50_000));
    assert.throws(() => parseJsonBody(deep), /^GatewayError: the body is nested deeper than 200 levels$/);
  });

  it("may have every key without effect, and null wherever a key may be missing", () => {
    const silent = {
      max_tool_calls: 3,
      stream_options: { include_obfuscation: true },
      service_tier: "flex",
      safety_identifier: "x",
      prompt_cache_key: "x",
      prompt_cache_retention: "24h",
      prompt_cache_options: { mode: "auto" },
      truncation: "auto",
      include: ["reasoning.encrypted_content", "web_search_call.action.sources"],
      reasoning: { summary: "auto", generate_summary: "concise", context: "auto", mode: "standard" },
      text: { verbosity: "high" },
      top_logprobs: 0,
      background: false,
      metadata: {},
      user: "ada",
      store: true,
    };
    const { options, thinking } = readRequest(request(silent));
    assert.deepEqual([options, thinking], [{}, undefined]);
    const nulls = { tools: null, tool_choice: null, conversation: null, prompt: null, text: null, reasoning: null };
    const more = {
      temperature: null,
      instructions: null,
      previous_response_id: null,
      metadata: null,
      background: null,
    };
    assert.equal(readRequest(request({ ...nulls, ...more })).choice, "auto");
  });

  it("is used as it is meant", () => {
    const schema = { type: "object" };
    const { options, thinking } = readRequest(
      request({
        max_output_tokens: 9,
        temperature: 0,
        top_p: 1,
        parallel_tool_calls: false,
        reasoning: { effort: "none" },
        text: { format: { type: "json_schema", name: "n", schema, description: "d" } },
      }),
    );
    const responseFormat = { type: "json_schema", name: "n", schema, description: "d" };
    assert.deepEqual(options, { maxTokens: 9, temperature: 0, topP: 1, parallelToolCalls: false, responseFormat });
    assert.equal(thinking, "off");
  });

  const spec = { name: "weather", description: "", parameters: { type: "object", properties: {} } };
  const choices: readonly [what: string, body: object, tools: readonly string[], choice: unknown][] = [
    ["the flat shape", { tools: [tool] }, ["weather"], "auto"],
    ["the nested shape", { tools: [nested] }, ["weather"], "auto"],
    ["no tools at all", { tools: [tool], tool_choice: "none" }, ["weather"], "none"],
    ["any of them", { tools: [tool], tool_choice: "required" }, ["weather"], "required"],
    [
      "one of them",
      { tools: [tool], tool_choice: { type: "function", name: "weather" } },
      ["weather"],
      { name: "weather" },
    ],
    [
      "a nested one",
      { tools: [tool], tool_choice: { type: "function", function: { name: "weather" } } },
      ["weather"],
      { name: "weather" },
    ],
    [
      "some of them",
      {
        tools: [tool, { ...tool, name: "b" }],
        tool_choice: { type: "allowed_tools", mode: "required", tools: [{ type: "function", name: "b" }] },
      },
      ["b"],
      "required",
    ],
  ];
  for (const [what, body, names, choice] of choices) {
    it(`takes tools: ${what}`, () => {
      const { tools, choice: taken } = readRequest(request(body));
      assert.deepEqual([tools.map(({ name }) => name), taken], [names, choice]);
    });
  }
  it("gives a tool what it was not sent with", () => {
    assert.deepEqual(readRequest(request({ tools: [tool] })).tools, [spec]);
    assert.deepEqual(readRequest(request({ tools: [{ ...tool, strict: true }] })).tools, [{ ...spec, strict: true }]);
  });

  const parts: readonly [what: string, part: object, expected: object][] = [
    ["text", { type: "input_text", text: "x" }, { kind: "text", text: "x" }],
    [
      "text that was answered",
      { type: "output_text", text: "x", annotations: [], logprobs: [], parsed: null },
      { kind: "text", text: "x" },
    ],
    ["a refusal", { type: "refusal", refusal: "no" }, { kind: "text", text: "no" }],
    [
      "a picture's URL",
      { type: "input_image", image_url: "https://x/y", detail: "low" },
      { kind: "image", source: { type: "url", url: "https://x/y" } },
    ],
    [
      "a picture's data",
      { type: "input_image", image_url: "data:image/png;base64,aGk=", file_id: null },
      { kind: "image", source: { type: "base64", data: "aGk=", mimeType: "image/png" } },
    ],
    [
      "a picture's source",
      { type: "input_image", source: { type: "url", url: "https://x" } },
      { kind: "image", source: { type: "url", url: "https://x" } },
    ],
    [
      "a file's data",
      { type: "input_file", file_data: "data:text/csv;base64,aGk=", filename: "a.csv" },
      { kind: "file", name: "a.csv", source: { type: "base64", data: "aGk=", mimeType: "text/csv" } },
    ],
    [
      "a file's base64",
      { type: "input_file", file_data: "aGk=", filename: "A.PDF" },
      { kind: "file", name: "A.PDF", source: { type: "base64", data: "aGk=", mimeType: "application/pdf" } },
    ],
    [
      "a file's URL",
      { type: "input_file", file_url: "https://x" },
      { kind: "file", source: { type: "url", url: "https://x" } },
    ],
    [
      "a file's source",
      { type: "input_file", source: { ...base64, filename: "n" } },
      { kind: "file", name: "n", source: { type: "base64", data: "aGk=", mimeType: "text/plain" } },
    ],
  ];
  for (const [what, value, expected] of parts) {
    it(`takes ${what}`, () => {
      const [first] = readRequest(part(value)).items;
      assert.ok(first?.kind === "message");
      const { path, ...rest } = { path: undefined, ...first.parts[0] };
      assert.deepEqual(rest, expected);
      if (path !== undefined) assert.deepEqual(path, ["input", 0, "content", 0]);
    });
  }

  it("takes back what it was answered, and thoughts of others", () => {
    const input = [
      {
        type: "reasoning",
        id: "rs_1",
        summary: [{ type: "summary_text", text: "x" }],
        encrypted_content: "e",
        status: null,
      },
      { type: "reasoning", content: "x", summary: "y" },
      { type: "message", id: "msg_1", role: "assistant", status: "completed", phase: "final_answer", content: [] },
      {
        type: "function_call",
        id: "fc_1",
        call_id: "c",
        name: "f",
        arguments: "",
        status: "completed",
        parsed_arguments: null,
      },
      { type: "function_call", id: "fc_2", name: "f", arguments: "{}" },
      { type: "function_call_output", id: null, call_id: "c", output: "", status: "completed" },
      { id: "msg_2" },
    ];
    const kinds = readRequest(request({ input })).items.map((one) => ("callId" in one ? one.callId : one.kind));
    assert.deepEqual(kinds, ["message", "c", "fc_2", "c", "reference"]);
  });

  const limits: readonly [config: object, bytes: number][] = [
    [{}, 20_971_520],
    [{ files: { maxBytes: 20_000_000 } }, 40_000_000],
    [{ images: { maxBytes: 30_000_000 } }, 60_000_000],
    [{ maxBodyBytes: 5, images: { maxBytes: 30_000_000 } }, 5],
  ];
  for (const [config, bytes] of limits) {
    it(`may have ${bytes} bytes with ${JSON.stringify(config)}`, () => {
      assert.equal(bodyLimit(withDefaults(ResponsesConfig, config)), bytes);
    });
  }

  it("has the limits of the specification by default", () => {
    const url = { allowUrl: true, maxRedirects: 3, timeoutMs: 10_000 };
    const files = ["text/plain", "text/markdown", "text/html", "text/csv", "application/json", "application/pdf"];
    assert.deepEqual(withDefaults(ResponsesConfig, {}), {
      enabled: false,
      maxUrlParts: 8,
      files: {
        ...url,
        allowedMimes: files,
        maxBytes: 5_242_880,
        maxChars: 200_000,
        pdf: { maxPages: 4, maxPixels: 4_000_000, minTextChars: 200 },
      },
      images: { ...url, allowedMimes: ["image/jpeg", "image/png", "image/gif", "image/webp"], maxBytes: 10_485_760 },
    });
  });
});
