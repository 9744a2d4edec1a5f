/** What only the responses API has. `../providers/` has what all providers do. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { EMPTY_MESSAGE, IMAGE_LEFT_OUT, NO_RESULT } from "@svc/kit/providers";
import type { Message, ModelRequest, ThinkingLevel } from "@svc/sdk/models";
import { toParams } from "../../../plugins/provider-openai/responses/translate.ts";
import { apis, assistant, call, image, openProvider, result, said, user } from "../providers/apis.ts";

const { model } = apis.responses;
const account = { name: "acme", baseUrl: "http://127.0.0.1:1/v1" };
const request = (changes: Partial<ModelRequest> = {}): ModelRequest => ({
  model,
  system: "",
  messages: [user("hi")],
  tools: [],
  ...changes,
});
const own = { api: model.api, model: model.id };
const signature = (id: string) => JSON.stringify({ id, encrypted_content: `secret of ${id}` });
const thought = (thinking: string, id: string) =>
  ({ type: "thinking", thinking, thinkingSignature: signature(id) }) as const;

const input = (...content: object[]) => ({ type: "message", role: "user", content });
const text = (words: string) => ({ type: "input_text", text: words });
const wireImage = { type: "input_image", detail: "auto", image_url: "data:image/png;base64,QUJD" };
const wireCall = (call_id: string) => ({ type: "function_call", call_id, name: "t", arguments: "{}" });
const output = (call_id: string, words: unknown) => ({ type: "function_call_output", call_id, output: words });
const reasoning = (id: string, ...words: string[]) => ({
  type: "reasoning",
  id,
  summary: words.map((one) => ({ type: "summary_text", text: one })),
  encrypted_content: `secret of ${id}`,
});

describe("a request for the responses API", () => {
  const histories: [why: string, messages: Message[], wire: object[]][] = [
    ["sends text", [user("hi")], [input(text("hi"))]],
    ["stands in for an empty message", [{ role: "user", content: [], timestamp: 1 }], [input(text(EMPTY_MESSAGE))]],
    [
      "sends images of the user",
      [{ role: "user", content: [said("look"), image], timestamp: 1 }],
      [input(text("look"), wireImage)],
    ],
    [
      "sends its own reasoning back, each before what it led to",
      [assistant([thought("hm", "r1"), call("1"), thought("", "r2"), call("2")], own), result("2"), result("1")],
      [
        reasoning("r1", "hm"),
        wireCall("1"),
        reasoning("r2"),
        wireCall("2"),
        output("1", "from 1"),
        output("2", "from 2"),
      ],
    ],
    ["leaves out reasoning that nothing follows", [assistant([thought("hm", "r1")], own)], []],
    [
      "leaves out the reasoning of another model",
      [assistant([thought("hm", "r1"), said("a")])],
      [{ role: "assistant", content: "a" }],
    ],
    [
      "leaves out signatures of other APIs",
      [assistant([{ type: "thinking", thinking: "hm", thinkingSignature: "QUJD" }, said("a")], own)],
      [{ role: "assistant", content: "a" }],
    ],
    ["stands in for a missing result", [assistant([call("1")])], [wireCall("1"), output("1", NO_RESULT)]],
    ["leaves out a result without its call", [result("gone"), user("hi")], [input(text("hi"))]],
    [
      "marks a failed result",
      [assistant([call("1")]), result("1", { isError: true })],
      [wireCall("1"), output("1", "Error: from 1")],
    ],
    [
      "sends images of tools",
      [assistant([call("1")]), result("1", { content: [said("see"), image] })],
      [wireCall("1"), output("1", [text("see"), wireImage])],
    ],
  ];
  for (const [why, messages, wire] of histories)
    it(why, () => assert.deepEqual(toParams(request({ messages }), account).input, wire));

  it("replaces images for a model that accepts only text", () => {
    const messages: Message[] = [
      { role: "user", content: [image], timestamp: 1 },
      assistant([call("1")]),
      result("1", { content: [image] }),
    ];
    const params = toParams(request({ model: { ...model, input: ["text"] }, messages }), account);
    assert.deepEqual(params.input, [input(text(IMAGE_LEFT_OUT)), wireCall("1"), output("1", IMAGE_LEFT_OUT)]);
  });

  it("stores nothing at the server", () => assert.equal(toParams(request(), account).store, false));

  const levels: [thinking: ThinkingLevel | undefined, sent: object | undefined][] = [
    [undefined, undefined],
    ["off", undefined],
    ["adaptive", { summary: "auto" }],
    ["minimal", { summary: "auto", effort: "minimal" }],
    ["high", { summary: "auto", effort: "high" }],
    ["xhigh", { summary: "auto", effort: "high" }],
  ];
  for (const [thinking, sent] of levels)
    it(`asks for ${JSON.stringify(sent)} with the level ${thinking}`, () => {
      const params = toParams(request(thinking === undefined ? {} : { thinking }), account);
      assert.deepEqual([params.reasoning, params.include], [sent, ["reasoning.encrypted_content"]]);
    });

  it("asks a model without reasoning for none", () => {
    const params = toParams(request({ model: { ...model, reasoning: false }, thinking: "high" }), account);
    assert.deepEqual([params.reasoning, params.include], [undefined, undefined]);
  });

  const tool = { name: "t", description: "d", parameters: { type: "object" } };
  const schema = { type: "json_schema", name: "n", schema: { type: "object" }, strict: true } as const;
  const rows: [why: string, changes: Partial<ModelRequest>, fields: object][] = [
    ["none", {}, {}],
    ["a system prompt", { system: "Be kind." }, { instructions: "Be kind." }],
    ["a limit", { options: { maxTokens: 500 } }, { max_output_tokens: 500 }],
    ["a limit below that of the API", { options: { maxTokens: 5 } }, { max_output_tokens: 16 }],
    [
      "numbers; the API has no penalties and no seed",
      { options: { temperature: 0, topP: 0.5, seed: 1, frequencyPenalty: 1, presencePenalty: 1 } },
      { temperature: 0, top_p: 0.5 },
    ],
    ["a form", { options: { responseFormat: { type: "json_object" } } }, { text: { format: { type: "json_object" } } }],
    ["a schema", { options: { responseFormat: schema } }, { text: { format: schema } }],
    ["a choice without tools", { toolChoice: "required", options: { parallelToolCalls: false } }, {}],
    [
      "a demanded tool, one call at most",
      { tools: [tool], toolChoice: { name: "t" }, options: { parallelToolCalls: false } },
      {
        tools: [{ type: "function", ...tool, strict: false }],
        tool_choice: { type: "function", name: "t" },
        parallel_tool_calls: false,
      },
    ],
  ];
  for (const [why, changes, fields] of rows)
    it(`has options: ${why}`, () => {
      const { model: _m, input: _i, stream: _t, store: _s, include: _n, ...rest } = toParams(request(changes), account);
      assert.deepEqual(rest, fields);
    });

  it("refuses stop texts, which the API does not have", () =>
    assert.throws(() => toParams(request({ options: { stop: ["x"] } }), account), {
      code: "UNAVAILABLE",
      details: { kind: "request" },
    }));

  it("sends a hash of the session key to the API's own host only", () => {
    const asked = request({ sessionKey: "agent:main:phone:+491" });
    const official = { name: "acme", baseUrl: "https://api.openai.com/v1" };
    assert.match(toParams(asked, official).prompt_cache_key ?? "", /^[0-9a-f]{32}$/u);
    assert.equal("prompt_cache_key" in toParams(asked, account), false);
  });
});

describe("responses provider", { timeout: 120_000 }, () => {
  async function open(t: TestContext) {
    const scene = await openProvider(apis.responses);
    t.after(() => scene.server.close());
    return scene;
  }

  it("streams summaries of reasoning as paragraphs, closed by a signature", async (t) => {
    const { server, ask } = await open(t);
    server.reply({ thinking: "one|two", signature: "sealed", text: "hi", usage: false });
    const events = await ask();
    const thinking = events.flatMap((event) => (event.type === "thinking" ? [event.delta] : [])).join("");
    assert.equal(thinking, "one\n\ntwo");
    assert.deepEqual(events.slice(-3), [
      { type: "thinking", delta: "", signature: JSON.stringify({ id: "rs_1", encrypted_content: "sealed" }) },
      { type: "text", delta: "hi" },
      { type: "finish", reason: "stop" },
    ]);
  });

  it("yields parallel calls, and asks at the path of the API", async (t) => {
    const { server, ask } = await open(t);
    const calls = ["a", "b"].map((id) => ({ id, name: "t", arguments: { n: id } }));
    server.reply({ text: "Let me see.", pieces: ["Let me see."], toolCalls: calls, usage: false });
    assert.deepEqual(await ask(), [
      { type: "text", delta: "Let me see." },
      ...calls.map((one) => ({ type: "toolCall", ...one })),
      { type: "finish", reason: "toolUse" },
    ]);
    assert.equal(server.requests[0]?.path, "/v1/responses");
  });

  it("asks again without reasoning that the server cannot decrypt, once", async (t) => {
    const { server, ask } = await open(t);
    const messages = [user("hi"), assistant([thought("hm", "r1"), said("a")], own), user("and?")];
    server.reply({ status: 400, errorType: "invalid_encrypted_content" }, { text: "well", usage: false });
    assert.deepEqual((await ask({ messages })).at(0), { type: "text", delta: "well" });
    const types = server.requests.map(({ body }) => (body["input"] as { type?: string }[]).map(({ type }) => type));
    assert.deepEqual(types, [
      ["message", "reasoning", undefined, "message"],
      ["message", undefined, "message"],
    ]);
    const twice = { status: 400, errorType: "invalid_encrypted_content" };
    server.reply(twice, twice);
    await assert.rejects(ask({ messages }), { details: { kind: "request", status: 400 } });
    assert.equal(server.requests.length, 4);
  });
});
