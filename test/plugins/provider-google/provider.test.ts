/** What only Google's API has. `../providers/` has what all providers do. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { AnswerSize, HISTORY_CUT, IMAGE_LEFT_OUT, NO_RESULT, toFailure } from "@svc/kit/providers";
import type { Message, ModelRequest, ThinkingLevel } from "@svc/sdk/models";
import { createAnswer } from "../../../plugins/provider-google/answer.ts";
import { factsOf } from "../../../plugins/provider-google/failure.ts";
import { FOR_CALL, FOR_TEXT, NO_SIGNATURE, toBody } from "../../../plugins/provider-google/translate.ts";
import { apis, assistant, call, image, KEY, openProvider, result, said, user } from "../providers/apis.ts";

const { model } = apis.google;
const older = { ...model, id: "gemini-2.5-pro" };
const request = (changes: Partial<ModelRequest> = {}): ModelRequest => ({
  model,
  system: "",
  messages: [user("hi")],
  tools: [],
  ...changes,
});
const own = { api: model.api, model: model.id };
const signed = (thinkingSignature: string, thinking = "") =>
  ({ type: "thinking", thinking, thinkingSignature }) as const;

const asked = (...parts: object[]) => ({ role: "user", parts });
const answered = (...parts: object[]) => ({ role: "model", parts });
const wireCall = (id: string, thoughtSignature?: string) => ({
  functionCall: { id, name: "t", args: {} },
  ...(thoughtSignature === undefined ? {} : { thoughtSignature }),
});
const response = (id: string, fields: object) => ({ functionResponse: { id, name: "t", response: fields } });
const wireImage = { inlineData: { mimeType: "image/png", data: "QUJD" } };

describe("a request for Gemini", () => {
  const histories: [why: string, messages: Message[], wire: object[]][] = [
    ["sends text", [user("hi")], [asked({ text: "hi" })]],
    [
      "sends images of the user",
      [{ role: "user", content: [said("look"), image], timestamp: 1 }],
      [asked({ text: "look" }, wireImage)],
    ],
    ["begins with the user", [assistant([said("a")])], [asked({ text: HISTORY_CUT }), answered({ text: "a" })]],
    [
      "sends signatures back in their parts, and no thoughts",
      [
        user("hi"),
        assistant(
          [signed("", "hm"), said("a"), signed(`${FOR_TEXT}s1`), signed(`${FOR_CALL}s2`, "so"), call("1"), call("2")],
          own,
        ),
        result("2"),
        result("1"),
        user("hurry"),
      ],
      [
        asked({ text: "hi" }),
        answered({ text: "a", thoughtSignature: "s1" }, wireCall("1", "s2"), wireCall("2")),
        asked(response("1", { output: "from 1" }), response("2", { output: "from 2" })),
        asked({ text: "hurry" }),
      ],
    ],
    [
      "sends a signature without text in a part of its own",
      [user("hi"), assistant([said("a"), signed(`${FOR_TEXT}s1`), signed(`${FOR_TEXT}s2`)], own)],
      [asked({ text: "hi" }), answered({ text: "a", thoughtSignature: "s1" }, { text: "", thoughtSignature: "s2" })],
    ],
    [
      "leaves out signatures of other models, and stands in for that of the first call",
      [user("hi"), assistant([signed(`${FOR_CALL}s2`), call("1"), call("2")])],
      [
        asked({ text: "hi" }),
        answered(wireCall("1", NO_SIGNATURE), wireCall("2")),
        asked(response("1", { error: NO_RESULT }), response("2", { error: NO_RESULT })),
      ],
    ],
    [
      "reports a failed tool, and sends images of a tool after the responses",
      [
        user("hi"),
        assistant([call("1"), call("2")], own),
        result("1", { content: [image] }),
        result("2", { isError: true }),
      ],
      [
        asked({ text: "hi" }),
        answered(wireCall("1", NO_SIGNATURE), wireCall("2")),
        asked(response("1", { output: "[see the image]" }), response("2", { error: "from 2" })),
        asked({ text: "Images from t:" }, wireImage),
      ],
    ],
    [
      "leaves out an answer without content",
      [user("hi"), assistant([signed(`${FOR_TEXT}s`)], own)],
      [asked({ text: "hi" })],
    ],
  ];
  for (const [why, messages, wire] of histories)
    it(why, () => assert.deepEqual(toBody(request({ messages })).contents, wire));

  it("needs no signature for a model before version 3", () => {
    const { contents } = toBody(request({ model: older, messages: [user("hi"), assistant([call("1")])] }));
    assert.deepEqual(contents[1], answered(wireCall("1")));
  });

  it("replaces images for a model that accepts only text", () => {
    const messages: Message[] = [{ role: "user", content: [image], timestamp: 1 }];
    const { contents } = toBody(request({ model: { ...model, input: ["text"] }, messages }));
    assert.deepEqual(contents, [asked({ text: IMAGE_LEFT_OUT })]);
  });

  const levels: [level: ThinkingLevel | undefined, newer: unknown, before: unknown, flash: unknown][] = [
    [undefined, undefined, undefined, undefined],
    ["off", undefined, undefined, { thinkingBudget: 0 }],
    ["minimal", { includeThoughts: true, thinkingLevel: "minimal" }, ...budgets(1_024)],
    ["low", { includeThoughts: true, thinkingLevel: "low" }, ...budgets(4_096)],
    ["medium", { includeThoughts: true, thinkingLevel: "medium" }, ...budgets(10_240)],
    ["high", { includeThoughts: true, thinkingLevel: "high" }, ...budgets(20_480)],
    ["xhigh", { includeThoughts: true, thinkingLevel: "high" }, ...budgets(20_480)],
    ["adaptive", { includeThoughts: true }, ...budgets(-1)],
  ];
  function budgets(thinkingBudget: number): [object, object] {
    const config = { includeThoughts: true, thinkingBudget };
    return [config, config];
  }
  for (const [thinking, newer, before, flash] of levels)
    it(`thinks at the level ${thinking} as each version understands it`, () => {
      const sent = (id: string) =>
        toBody(request({ model: { ...model, id }, ...(thinking === undefined ? {} : { thinking }) })).generationConfig
          ?.thinkingConfig;
      assert.deepEqual([model.id, older.id, "gemini-2.5-flash"].map(sent), [newer, before, flash]);
      assert.deepEqual(sent("gemini-flash-latest"), newer);
    });

  it("sends a model of version 3 without `minimal` the level `low`", () => {
    const { generationConfig } = toBody(request({ model: { ...model, id: "gemini-3-pro" }, thinking: "minimal" }));
    assert.equal(generationConfig?.thinkingConfig?.thinkingLevel, "low");
  });

  const tool = { name: "t", description: "d", parameters: { properties: { a: { type: "string" } } } };
  const declared = {
    tools: [
      {
        functionDeclarations: [
          { name: "t", description: "d", parameters: { type: "object", properties: { a: { type: "string" } } } },
        ],
      },
    ],
  };
  const calling = (functionCallingConfig: object) => ({ ...declared, toolConfig: { functionCallingConfig } });
  const rows: [why: string, changes: Partial<ModelRequest>, fields: object][] = [
    ["none", {}, {}],
    ["a system prompt", { system: "Be kind." }, { systemInstruction: { parts: [{ text: "Be kind." }] } }],
    [
      "all numbers, and texts to stop at",
      {
        options: {
          maxTokens: 5,
          temperature: 0,
          topP: 0.5,
          seed: 0,
          frequencyPenalty: 1,
          presencePenalty: -1,
          stop: ["a"],
        },
      },
      {
        generationConfig: {
          maxOutputTokens: 5,
          temperature: 0,
          topP: 0.5,
          seed: 0,
          frequencyPenalty: 1,
          presencePenalty: -1,
          stopSequences: ["a"],
        },
      },
    ],
    [
      "a schema",
      {
        options: { responseFormat: { type: "json_schema", name: "n", schema: { properties: { a: { const: "x" } } } } },
      },
      {
        generationConfig: {
          responseMimeType: "application/json",
          responseSchema: { type: "object", properties: { a: { type: "string", enum: ["x"] } } },
        },
      },
    ],
    ["a tool", { tools: [tool] }, declared],
    ["a forbidden tool", { tools: [tool], toolChoice: "none" }, calling({ mode: "NONE" })],
    ["any tool", { tools: [tool], toolChoice: "required" }, calling({ mode: "ANY" })],
    [
      "a demanded tool",
      { tools: [tool], toolChoice: { name: "t" } },
      calling({ mode: "ANY", allowedFunctionNames: ["t"] }),
    ],
    [
      "a tool without parameters",
      { tools: [{ ...tool, parameters: { type: "object", properties: {} } }] },
      { tools: [{ functionDeclarations: [{ name: "t", description: "d" }] }] },
    ],
  ];
  for (const [why, changes, fields] of rows)
    it(`has options: ${why}`, () => {
      const { contents: _, ...rest } = toBody(request(changes));
      assert.deepEqual(rest, fields);
    });
});

describe("an answer of Gemini", () => {
  const source = 'model provider "acme"';
  const settings = { source, size: new AnswerSize(source, {}), newId: () => "made", maxCalls: Infinity };
  const parts = (content: object[], fields: object = {}) => ({
    candidates: [{ content: { parts: content }, ...fields }],
  });

  it("has thoughts, signatures, text and calls in the order of the server", () => {
    const answer = createAnswer(settings);
    const events = [
      parts([{ text: "hm", thought: true }]),
      parts([{ text: "a", thoughtSignature: "s1" }]),
      parts(
        [
          { functionCall: { name: "t" }, thoughtSignature: "s2" },
          { functionCall: { id: "2", name: "u", args: { n: 1 } } },
        ],
        {
          finishReason: "STOP",
        },
      ),
    ].flatMap((chunk) => answer.take(chunk as Parameters<typeof answer.take>[0]));
    assert.deepEqual(
      [...events, ...answer.end()],
      [
        { type: "thinking", delta: "hm" },
        { type: "text", delta: "a" },
        { type: "thinking", delta: "", signature: `${FOR_TEXT}s1` },
        { type: "thinking", delta: "", signature: `${FOR_CALL}s2` },
        { type: "toolCall", id: "made", name: "t", arguments: {} },
        { type: "toolCall", id: "2", name: "u", arguments: { n: 1 } },
        { type: "finish", reason: "toolUse" },
      ],
    );
  });

  it("has one call at most where parallel calls are forbidden", () => {
    const answer = createAnswer({ ...settings, maxCalls: 1 });
    const both = parts([{ functionCall: { name: "t" } }, { functionCall: { name: "u" } }], { finishReason: "STOP" });
    const names = answer.take(both).flatMap((event) => (event.type === "toolCall" ? [event.name] : []));
    assert.deepEqual([names, answer.end()], [["t"], [{ type: "finish", reason: "toolUse" }]]);
  });

  it("is refused as blocked, with the reason", () => {
    const answer = createAnswer(settings);
    answer.take({ promptFeedback: { blockReason: "PROHIBITED_CONTENT" } });
    assert.throws(() => answer.end(), {
      code: "UNAVAILABLE",
      details: { kind: "request" },
      message: /did not accept the conversation: it contains prohibited content; rephrase the last message/u,
    });
  });
});

describe("Google provider", { timeout: 120_000 }, () => {
  async function open(t: TestContext) {
    const scene = await openProvider(apis.google);
    t.after(() => scene.server.close());
    return scene;
  }

  it("asks at the path of the model, with the key in a header only", async (t) => {
    const { server, ask } = await open(t);
    await ask();
    const [{ path, headers } = assert.fail("nothing was asked")] = server.requests;
    assert.equal(path, "/v1beta/models/gemini-3-flash:streamGenerateContent");
    assert.deepEqual([headers["x-goog-api-key"], headers.authorization], [KEY, undefined]);
  });

  it("waits as long as the error says where no header does", () => {
    const details = [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34.5s" }];
    const thrown = { status: 429, headers: new Headers(), error: { error: { status: "RESOURCE_EXHAUSTED", details } } };
    const failed = toFailure(
      thrown,
      { account: { name: "acme" }, model: { id: "m" }, phase: "asking", now: 0 },
      factsOf,
    );
    assert.equal(failed.retryAfterMs, 34_500);
  });
});
