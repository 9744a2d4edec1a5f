/** What only Bedrock has. `../providers/` has what all providers do. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { HISTORY_CUT, IMAGE_LEFT_OUT, NO_RESULT } from "@svc/kit/providers";
import type { Message, ModelRequest, ThinkingLevel } from "@svc/sdk/models";
import { REDACTED, toBody } from "../../../plugins/provider-bedrock/translate.ts";
import { apis, assistant, call, image, openProvider, result, said, user } from "../providers/apis.ts";

const nova = { provider: "acme", id: "amazon.nova-lite-v1:0", name: "Nova", api: "bedrock-converse-stream" };
const claude = apis.bedrock.model;
const request = (changes: Partial<ModelRequest> = {}): ModelRequest => ({
  model: nova,
  system: "",
  messages: [user("hi")],
  tools: [],
  ...changes,
});
const own = { api: nova.api, model: nova.id };
const asked = (...content: object[]) => ({ role: "user", content });
const answered = (...content: object[]) => ({ role: "assistant", content });
const toolUse = (toolUseId: string) => ({ toolUse: { toolUseId, name: "t", input: {} } });
const toolResult = (toolUseId: string, content: object[], more: object = {}) => ({
  toolResult: { toolUseId, content, ...more },
});
const wireImage = { image: { format: "png", source: { bytes: "QUJD" } } };
const cachePoint = { cachePoint: { type: "default" } };

describe("a request for Bedrock", () => {
  const histories: [why: string, messages: Message[], wire: object[]][] = [
    [
      "sends text and images",
      [{ role: "user", content: [said("look"), image], timestamp: 1 }],
      [asked({ text: "look" }, wireImage)],
    ],
    ["begins with the user", [assistant([said("a")])], [asked({ text: HISTORY_CUT }), answered({ text: "a" })]],
    [
      "sends its own signed thinking back",
      [
        user("hi"),
        assistant(
          [
            { type: "thinking", thinking: "hm", thinkingSignature: "s" },
            { type: "thinking", thinking: "", thinkingSignature: `${REDACTED}QUJD` },
            { type: "thinking", thinking: "unsigned" },
            said("a"),
          ],
          own,
        ),
      ],
      [
        asked({ text: "hi" }),
        answered(
          { reasoningContent: { reasoningText: { text: "hm", signature: "s" } } },
          { reasoningContent: { redactedContent: "QUJD" } },
          { text: "a" },
        ),
      ],
    ],
    [
      "leaves out the thinking of another model",
      [user("hi"), assistant([{ type: "thinking", thinking: "hm", thinkingSignature: "s" }, said("a")])],
      [asked({ text: "hi" }), answered({ text: "a" })],
    ],
    [
      "puts results right behind their calls, also missing and failed ones",
      [
        user("hi"),
        assistant([call("1"), call("2"), call("a.b")]),
        user("hurry"),
        result("2", { isError: true }),
        result("1", { content: [image] }),
      ],
      [
        asked({ text: "hi" }),
        answered(toolUse("1"), toolUse("2"), toolUse("call_2de55fcf4aec8e5bb2e5c7ed")),
        asked(
          toolResult("1", [wireImage]),
          toolResult("2", [{ text: "from 2" }], { status: "error" }),
          toolResult("call_2de55fcf4aec8e5bb2e5c7ed", [{ text: NO_RESULT }], { status: "error" }),
          { text: "hurry" },
        ),
      ],
    ],
  ];
  for (const [why, messages, wire] of histories)
    it(why, () => {
      const hashed = JSON.stringify(toBody(request({ messages })).messages).replaceAll(
        /call_[0-9a-f]{24}/gu,
        "call_2de55fcf4aec8e5bb2e5c7ed",
      );
      assert.deepEqual(JSON.parse(hashed), wire);
    });

  it("replaces images for a model that accepts only text", () => {
    const messages: Message[] = [{ role: "user", content: [image], timestamp: 1 }];
    assert.deepEqual(toBody(request({ model: { ...nova, input: ["text"] }, messages })).messages, [
      asked({ text: IMAGE_LEFT_OUT }),
    ]);
  });

  const tool = { name: "t", description: "d", parameters: { properties: {} } };
  const spec = { toolSpec: { name: "t", description: "d", inputSchema: { json: { properties: {}, type: "object" } } } };
  const gone = {
    toolSpec: { name: "t", description: "No longer available", inputSchema: { json: { type: "object" } } },
  };
  const rows: [why: string, changes: Partial<ModelRequest>, fields: object][] = [
    ["none", {}, {}],
    ["a system prompt", { system: "Be kind." }, { system: [{ text: "Be kind." }] }],
    [
      "all numbers, and texts to stop at",
      { options: { maxTokens: 5, temperature: 2, topP: 0.5, stop: ["a"], seed: 1 } },
      { inferenceConfig: { maxTokens: 5, temperature: 1, topP: 0.5, stopSequences: ["a"] } },
    ],
    ["a tool", { tools: [tool] }, { toolConfig: { tools: [spec] } }],
    ["any tool", { tools: [tool], toolChoice: "required" }, { toolConfig: { tools: [spec], toolChoice: { any: {} } } }],
    [
      "a demanded tool",
      { tools: [tool], toolChoice: { name: "t" } },
      { toolConfig: { tools: [spec], toolChoice: { tool: { name: "t" } } } },
    ],
    ["tools of the history", { messages: [user("hi"), assistant([call("1")])] }, { toolConfig: { tools: [gone] } }],
    ["thinking that the model does not have", { thinking: "high" }, {}],
    [
      "thinking of Nova 2",
      { thinking: "minimal", model: { ...nova, id: "us.amazon.nova-2-lite-v1:0", reasoning: true } },
      { additionalModelRequestFields: { reasoningConfig: { type: "enabled", maxReasoningEffort: "low" } } },
    ],
    [
      "thinking of GPT OSS",
      { thinking: "xhigh", model: { ...nova, id: "openai.gpt-oss-120b-1:0", reasoning: true } },
      { additionalModelRequestFields: { reasoning_effort: "high" } },
    ],
  ];
  for (const [why, changes, fields] of rows)
    it(`has options: ${why}`, () => {
      const { messages: _, ...rest } = toBody(request(changes));
      assert.deepEqual(rest, fields);
    });

  it("refuses a response format, which the API does not have", () =>
    assert.throws(() => toBody(request({ options: { responseFormat: { type: "json_object" } } })), {
      code: "UNAVAILABLE",
      details: { kind: "request" },
    }));

  const levels: [level: ThinkingLevel, fields: object | undefined, limit: number | undefined][] = [
    ["off", undefined, undefined],
    ["low", { thinking: { type: "enabled", budget_tokens: 4_096 } }, 12_288],
  ];
  for (const [thinking, fields, maxTokens] of levels)
    it(`thinks with Claude at the level ${thinking}`, () => {
      const { additionalModelRequestFields, inferenceConfig } = toBody(request({ model: claude, thinking }));
      assert.deepEqual(additionalModelRequestFields, fields);
      assert.equal(inferenceConfig?.maxTokens, maxTokens);
    });

  it("marks what Claude should cache: tools, system prompt, the last two messages of the user", () => {
    const messages = ["a", "b", "c"].flatMap((text) => [user(text), assistant([said("so")])]);
    const body = toBody(request({ model: claude, system: "Be kind.", tools: [tool], messages }));
    assert.deepEqual(body.toolConfig?.tools.at(-1), cachePoint);
    assert.deepEqual(body.system?.at(-1), cachePoint);
    assert.deepEqual(
      body.messages.map(({ content }) => content.filter((block) => block.cachePoint).length),
      [0, 0, 1, 0, 1, 0],
    );
    assert.doesNotMatch(
      JSON.stringify(toBody(request({ model: { ...claude, id: "anthropic.claude-3-haiku-20240307-v1:0" }, messages }))),
      /cachePoint/u,
    );
  });
});

describe("Bedrock provider", { timeout: 120_000 }, () => {
  async function open(t: TestContext) {
    const scene = await openProvider(apis.bedrock);
    t.after(() => scene.server.close());
    return scene;
  }
  const tools = [{ name: "t", description: "Does it", parameters: { type: "object" } }];

  it("asks at the path of the model, whose id may contain colons and slashes", async (t) => {
    const { server, ask } = await open(t);
    await ask();
    await ask({ model: { ...claude, id: "arn:aws:bedrock:eu-west-1:1:inference-profile/x" } });
    assert.deepEqual(
      server.requests.map(({ path }) => path),
      [
        "/model/us.anthropic.claude-haiku-4-5-20251001-v1%3A0/converse-stream",
        "/model/arn%3Aaws%3Abedrock%3Aeu-west-1%3A1%3Ainference-profile%2Fx/converse-stream",
      ],
    );
  });

  it("streams thinking, closed by its signature, and redacted thinking", async (t) => {
    const { server, ask } = await open(t);
    server.reply({ thinking: "hmmm", signature: "s", redactedThinking: "QUJD", text: "hi", usage: false });
    const events = await ask();
    assert.deepEqual(events.slice(-4), [
      { type: "thinking", delta: "", signature: "s" },
      { type: "thinking", delta: "", signature: `${REDACTED}QUJD` },
      { type: "text", delta: "hi" },
      { type: "finish", reason: "stop" },
    ]);
  });

  const choices: [why: string, changes: Partial<ModelRequest>, ids: string[]][] = [
    ["both", { tools }, ["a", "b"]],
    ["one at most", { tools, options: { parallelToolCalls: false } }, ["a"]],
    ["none", { tools, toolChoice: "none" }, []],
    ["none without tools", {}, []],
  ];
  for (const [why, changes, ids] of choices)
    it(`yields calls: ${why}`, async (t) => {
      const { server, ask } = await open(t);
      server.reply({ toolCalls: ["a", "b"].map((id) => ({ id, name: "t", arguments: { n: id } })), usage: false });
      assert.deepEqual(await ask(changes), [
        ...ids.map((id) => ({ type: "toolCall", id, name: "t", arguments: { n: id } })),
        { type: "finish", reason: ids.length > 0 ? "toolUse" : "stop" },
      ]);
    });
});
