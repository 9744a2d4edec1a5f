import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AssistantMessage, Message, ModelRequest } from "@svc/sdk/models";
import { HISTORY_CUT, IMAGE_LEFT_OUT, NO_RESULT } from "@svc/kit/providers";
import { REDACTED, toParams } from "../../../plugins/provider-anthropic/translate.ts";
import { assistant as made, call as called, image, result, said, user } from "../providers/apis.ts";

const model = { provider: "acme", id: "claude-x", name: "X", api: "anthropic-messages" };
const request = (changes: Partial<ModelRequest> = {}): ModelRequest => ({
  model,
  system: "",
  messages: [],
  tools: [],
  ...changes,
});
const call = (id: string) => called(id, { a: 1 });
const assistant = (content: AssistantMessage["content"], changes: Partial<AssistantMessage> = {}) =>
  made(content, { api: model.api, model: model.id, ...changes });
const wireImage = { type: "image", source: { type: "base64", media_type: "image/png", data: "QUJD" } };
const use = (id: string) => ({ type: "tool_use", id, name: "t", input: { a: 1 } });
const answered = (id: string, fields: object = {}) => ({
  type: "tool_result",
  tool_use_id: id,
  content: [said(`from ${id}`)],
  ...fields,
});
const thought = { type: "thinking", thinking: "hm", thinkingSignature: "sig" } as const;

/** The messages as posted, without cache marks. */
function wire(messages: readonly Message[], changes: Partial<ModelRequest> = {}): unknown {
  const text = JSON.stringify(toParams(request({ messages, ...changes })).messages);
  return JSON.parse(text.replaceAll(',"cache_control":{"type":"ephemeral"}', ""));
}

describe("a history for the Messages API", () => {
  const histories: [why: string, messages: Message[], wire: object[]][] = [
    ["sends what the user said", [user("hi")], [{ role: "user", content: [said("hi")] }]],
    [
      "merges messages of one role",
      [user("a"), user("b"), assistant([said("c")]), assistant([said("d")]), user("e")],
      [
        { role: "user", content: [said("a"), said("b")] },
        { role: "assistant", content: [said("c"), said("d")] },
        { role: "user", content: [said("e")] },
      ],
    ],
    [
      "puts results first in the message behind their calls",
      [user("q"), assistant([said("let me"), call("1"), call("2")]), user("hurry"), result("2"), result("1")],
      [
        { role: "user", content: [said("q")] },
        { role: "assistant", content: [said("let me"), use("1"), use("2")] },
        { role: "user", content: [answered("1"), answered("2"), said("hurry")] },
      ],
    ],
    [
      "stands in for a result that never came",
      [user("q"), assistant([call("1")]), user("hi")],
      [
        { role: "user", content: [said("q")] },
        { role: "assistant", content: [use("1")] },
        {
          role: "user",
          content: [{ type: "tool_result", tool_use_id: "1", content: NO_RESULT, is_error: true }, said("hi")],
        },
      ],
    ],
    ["leaves out a result without its call", [result("gone"), user("hi")], [{ role: "user", content: [said("hi")] }]],
    [
      "marks a failed tool, and sends its picture",
      [user("q"), assistant([call("1")]), result("1", { isError: true, content: [image] })],
      [
        { role: "user", content: [said("q")] },
        { role: "assistant", content: [use("1")] },
        { role: "user", content: [answered("1", { content: [wireImage], is_error: true })] },
      ],
    ],
    [
      "begins with the user when the history was cut",
      [assistant([said("as I said")]), user("go on")],
      [
        { role: "user", content: [said(HISTORY_CUT)] },
        { role: "assistant", content: [said("as I said")] },
        { role: "user", content: [said("go on")] },
      ],
    ],
    [
      "leaves out blank text and empty answers",
      [user("q"), assistant([said("")]), assistant([said(" \n")]), user("q2")],
      [{ role: "user", content: [said("q"), said("q2")] }],
    ],
    ["stands in for an empty message", [user(" ")], [{ role: "user", content: [said("[empty message]")] }]],
    [
      "sends a signed thought back as it came, and a redacted one",
      [
        user("q"),
        assistant([thought, { type: "thinking", thinking: "", thinkingSignature: `${REDACTED}xyz` }, call("1")]),
        result("1"),
      ],
      [
        { role: "user", content: [said("q")] },
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "hm", signature: "sig" },
            { type: "redacted_thinking", data: "xyz" },
            use("1"),
          ],
        },
        { role: "user", content: [answered("1")] },
      ],
    ],
    [
      "keeps thoughts without signature and of other models to itself",
      [
        user("q"),
        assistant([{ type: "thinking", thinking: "hm" }, said("a")]),
        assistant([thought, said("b")], { model: "claude-y" }),
        assistant([thought, said("c")], { api: "openai-completions" }),
        user("q2"),
      ],
      [
        { role: "user", content: [said("q")] },
        { role: "assistant", content: [said("a"), said("b"), said("c")] },
        { role: "user", content: [said("q2")] },
      ],
    ],
    [
      "leaves out an answer of thoughts alone",
      [user("q"), assistant([thought]), user("q2")],
      [{ role: "user", content: [said("q"), said("q2")] }],
    ],
  ];
  for (const [why, messages, expected] of histories) {
    it(why, () => assert.deepEqual(wire(messages), expected));
  }

  it("replaces images by a note for a model that accepts only text", () => {
    const messages: Message[] = [{ role: "user", content: [said("look"), image], timestamp: 1 }];
    const expected = [{ role: "user", content: [said("look"), said(IMAGE_LEFT_OUT)] }];
    assert.deepEqual(wire(messages, { model: { ...model, input: ["text"] } }), expected);
  });

  it("converts the call id of another server to a valid one, also in the result", () => {
    const [, asked, results] = toParams(request({ messages: [user("q"), assistant([call("a|b")]), result("a|b")] }))
      .messages as { content: { id?: string; tool_use_id?: string }[] }[];
    assert.match(asked?.content[0]?.id ?? "", /^call_[0-9a-f]{24}$/u);
    assert.equal(results?.content[0]?.tool_use_id, asked?.content[0]?.id);
  });
});

describe("cached parts", () => {
  const keep = { cache_control: { type: "ephemeral" } };
  const tool = (name: string) => ({ name, description: "d", parameters: { properties: {} } });

  it("are the last tool, the system prompt and the last two user messages", () => {
    const messages = [user("1"), assistant([said("a")]), user("2"), assistant([said("b")]), user("3")];
    const params = toParams(request({ system: "Be kind.", tools: [tool("a"), tool("b")], messages }));
    const wireTool = (name: string) => ({ name, description: "d", input_schema: { properties: {}, type: "object" } });
    assert.deepEqual(params.tools, [wireTool("a"), { ...wireTool("b"), ...keep }]);
    assert.deepEqual(params.system, [{ ...said("Be kind."), ...keep }]);
    assert.deepEqual(params.messages, [
      { role: "user", content: [said("1")] },
      { role: "assistant", content: [said("a")] },
      { role: "user", content: [{ ...said("2"), ...keep }] },
      { role: "assistant", content: [said("b")] },
      { role: "user", content: [{ ...said("3"), ...keep }] },
    ]);
  });

  it("leave out missing parts", () => {
    const params = toParams(request({ messages: [user("1")] }));
    assert.equal("tools" in params || "system" in params, false);
  });
});

describe("answer options for the API", () => {
  const tool = { name: "t", description: "d", parameters: {} };
  const rows: [why: string, changes: Partial<ModelRequest>, fields: object][] = [
    ["none", {}, { max_tokens: 8_192 }],
    ["a limit", { options: { maxTokens: 5 } }, { max_tokens: 5 }],
    ["a limit above the default", { options: { maxTokens: 9_000 } }, { max_tokens: 9_000 }],
    ["a limit above the model's", { options: { maxTokens: 50 }, model: { ...model, maxTokens: 9 } }, { max_tokens: 9 }],
    [
      "numbers, within its own scale, and without those it does not know",
      { options: { temperature: 1.5, topP: 0.5, frequencyPenalty: 1, seed: 1 } },
      { max_tokens: 8_192, temperature: 1, top_p: 0.5 },
    ],
    ["texts to stop at", { options: { stop: ["a"] } }, { max_tokens: 8_192, stop_sequences: ["a"] }],
    ["a demand", { tools: [tool], toolChoice: "required" }, { max_tokens: 8_192, tool_choice: { type: "any" } }],
    [
      "a demanded tool, one call at most, without thought",
      {
        tools: [tool],
        toolChoice: { name: "t" },
        options: { parallelToolCalls: false },
        model: { ...model, reasoning: true },
        thinking: "high",
      },
      { max_tokens: 8_192, tool_choice: { type: "tool", name: "t", disable_parallel_tool_use: true } },
    ],
    [
      "one call at most",
      { tools: [tool], options: { parallelToolCalls: false } },
      { max_tokens: 8_192, tool_choice: { type: "auto", disable_parallel_tool_use: true } },
    ],
  ];
  for (const [why, changes, fields] of rows) {
    it(why, () => {
      const { model: _m, messages: _s, stream: _t, tools: _l, ...rest } = toParams(request(changes));
      assert.deepEqual(rest, fields);
    });
  }

  it("refuses a response format, which the API does not support", () => {
    const options = { responseFormat: { type: "json_object" } } as const;
    assert.throws(() => toParams(request({ options })), /do not support response_format/);
  });
});
