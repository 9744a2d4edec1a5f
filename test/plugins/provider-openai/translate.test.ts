import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Message, ModelRequest, ResolvedModel, ThinkingLevel } from "@svc/sdk/models";
import { IMAGE_LEFT_OUT, NO_RESULT } from "@svc/kit/providers";
import { toParams } from "../../../plugins/provider-openai/translate.ts";
import { assistant, call, image, result, said, user } from "../providers/apis.ts";

const model: ResolvedModel = { provider: "acme", id: "m", name: "M", api: "openai-completions" };
const account = { name: "acme", baseUrl: "http://127.0.0.1:1/v1" };
const official = { name: "acme", baseUrl: "https://api.openai.com/v1" };
const request = (changes: Partial<ModelRequest> = {}): ModelRequest => ({
  model,
  system: "",
  messages: [user("hi")],
  tools: [],
  ...changes,
});

const wireImage = { type: "image_url", image_url: { url: "data:image/png;base64,QUJD" } };
const wireCalls = (...ids: string[]) => ({
  role: "assistant",
  content: null,
  tool_calls: ids.map((id) => ({ id, type: "function", function: { name: "t", arguments: "{}" } })),
});

describe("a request for the API", () => {
  const histories: [why: string, messages: Message[], wire: object[]][] = [
    ["keeps a plain text a string", [user("hi")], [{ role: "user", content: "hi" }]],
    ["leaves out an empty assistant message", [assistant([]), user("hi")], [{ role: "user", content: "hi" }]],
    [
      "leaves out thinking",
      [assistant([{ type: "thinking", thinking: "hm" }, said("a")])],
      [{ role: "assistant", content: "a" }],
    ],
    [
      "sends an image of the user as a data URL",
      [{ role: "user", content: [said("what is this?"), image], timestamp: 1 }],
      [{ role: "user", content: [said("what is this?"), wireImage] }],
    ],
    [
      "puts results right behind their calls, in the order of the calls",
      [assistant([call("1"), call("2")]), user("hurry"), result("2"), result("1")],
      [
        wireCalls("1", "2"),
        { role: "tool", tool_call_id: "1", content: "from 1" },
        { role: "tool", tool_call_id: "2", content: "from 2" },
        { role: "user", content: "hurry" },
      ],
    ],
    [
      "stands in for a result that never came",
      [assistant([call("1")]), user("hi")],
      [wireCalls("1"), { role: "tool", tool_call_id: "1", content: NO_RESULT }, { role: "user", content: "hi" }],
    ],
    ["leaves out a result without its call", [result("gone"), user("hi")], [{ role: "user", content: "hi" }]],
    [
      "does not take a later result of the same id",
      [assistant([call("1")]), result("1"), assistant([call("1")]), result("1", { isError: true })],
      [
        wireCalls("1"),
        { role: "tool", tool_call_id: "1", content: "from 1" },
        wireCalls("1"),
        { role: "tool", tool_call_id: "1", content: "Error: from 1" },
      ],
    ],
    [
      "sends the image of a tool as the user's",
      [assistant([call("1")]), result("1", { content: [image] })],
      [
        wireCalls("1"),
        { role: "tool", tool_call_id: "1", content: "[see the image]" },
        {
          role: "user",
          content: [said("Images from t:"), wireImage],
        },
      ],
    ],
  ];
  for (const [why, messages, wire] of histories) {
    it(why, () => assert.deepEqual(toParams(request({ messages }), account).messages, wire));
  }

  it("replaces images by a note for a model that accepts only text", () => {
    const messages: Message[] = [{ role: "user", content: [said("look"), image], timestamp: 1 }];
    const params = toParams(request({ model: { ...model, input: ["text"] }, messages }), account);
    assert.deepEqual(params.messages, [{ role: "user", content: `look\n${IMAGE_LEFT_OUT}` }]);
  });

  const efforts: [thinking: ThinkingLevel | undefined, reasoning: boolean, effort: string | undefined][] = [
    ["low", true, "low"],
    ["medium", true, "medium"],
    ["high", true, "high"],
    ["xhigh", true, "high"],
    ["minimal", true, "minimal"],
    ["off", true, undefined],
    ["adaptive", true, undefined],
    [undefined, true, undefined],
    ["high", false, undefined],
  ];
  for (const [thinking, reasoning, effort] of efforts) {
    it(`sends reasoning_effort ${effort} for ${thinking} to a model with reasoning ${reasoning}`, () => {
      const asked = request({ model: { ...model, reasoning }, ...(thinking === undefined ? {} : { thinking }) });
      assert.equal(toParams(asked, account).reasoning_effort, effort);
    });
  }

  it("sends reasoning_effort xhigh to a model that supports it", () => {
    const asked = request({ model: { ...model, reasoning: true, xhigh: true }, thinking: "xhigh" });
    assert.equal(toParams(asked, account).reasoning_effort, "xhigh");
  });

  it("sends the token limit under the name for the server", () => {
    const asked = request({ model: { ...model, maxTokens: 5 } });
    assert.equal(toParams(asked, account).max_tokens, 5);
    assert.equal(toParams(asked, official).max_completion_tokens, 5);
    assert.equal(toParams(asked, official).max_tokens, undefined);
  });

  it("sends a hash of the session key to the API's own host only", () => {
    const asked = request({ sessionKey: "agent:main:phone:+491" });
    assert.match(toParams(asked, official).prompt_cache_key ?? "", /^[0-9a-f]{32}$/u);
    assert.equal("prompt_cache_key" in toParams(asked, account), false);
  });
});

describe("answer options for the API", () => {
  const tool = { name: "t", description: "d", parameters: { type: "object" } };
  const schema = { type: "json_schema", name: "n", schema: { type: "object" }, strict: true } as const;
  const rows: [why: string, changes: Partial<ModelRequest>, fields: object][] = [
    ["none", {}, {}],
    ["a limit", { options: { maxTokens: 5 } }, { max_tokens: 5 }],
    ["a limit above the model's", { options: { maxTokens: 50 }, model: { ...model, maxTokens: 9 } }, { max_tokens: 9 }],
    ["the model's limit", { model: { ...model, maxTokens: 9 } }, { max_tokens: 9 }],
    [
      "numbers",
      { options: { temperature: 0, topP: 0.5, frequencyPenalty: -1, presencePenalty: 1, seed: 0 } },
      { temperature: 0, top_p: 0.5, frequency_penalty: -1, presence_penalty: 1, seed: 0 },
    ],
    ["texts to stop at", { options: { stop: ["a"] } }, { stop: ["a"] }],
    ["a form", { options: { responseFormat: { type: "json_object" } } }, { response_format: { type: "json_object" } }],
    [
      "a schema",
      { options: { responseFormat: schema } },
      {
        response_format: { type: "json_schema", json_schema: { name: "n", schema: { type: "object" }, strict: true } },
      },
    ],
    ["a choice without tools", { toolChoice: "required", options: { parallelToolCalls: false } }, {}],
    ["a demand", { tools: [tool], toolChoice: "required" }, { tool_choice: "required" }],
    [
      "a demanded tool, one call at most",
      { tools: [tool], toolChoice: { name: "t" }, options: { parallelToolCalls: false } },
      { tool_choice: { type: "function", function: { name: "t" } }, parallel_tool_calls: false },
    ],
  ];
  for (const [why, changes, fields] of rows) {
    it(why, () => {
      const {
        model: _m,
        messages: _s,
        stream: _t,
        stream_options: _o,
        tools: _l,
        ...rest
      } = toParams(request(changes), account);
      assert.deepEqual(rest, fields);
    });
  }
});
