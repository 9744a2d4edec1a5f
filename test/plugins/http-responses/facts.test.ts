/** HTTP responses to requests, by the rows of http/responses.md. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { FakeModelReply, FakeModelRequest } from "@svc/sdk/testing";
import { eventsIn, openScene, sharedScene, shown, systemOf } from "./scene.ts";

const limited = { timeout: 120_000 };
const ask = (more: object = {}) => ({ model: "svc", input: "hi", ...more });
const tool = { type: "function", function: { name: "weather", parameters: { type: "object", properties: {} } } };
const error = (message: string, param: string | null = null, code: string | null = null) => ({
  error: { message, type: "invalid_request_error", param, code },
});

describe("POST /v1/responses", limited, () => {
  const shared = sharedScene();

  it("is off by default, and can be put on while the gateway runs", async (t) => {
    const { send, configure } = await openScene(t, { endpoint: { enabled: false }, inFile: true });
    const off = {
      error: {
        message: "the responses API is off; set gateway.http.endpoints.responses.enabled to true",
        type: "not_found",
        param: null,
        code: null,
      },
    };
    for (const [path, method] of [
      ["", "POST"],
      ["/resp_x", "GET"],
      ["/resp_x", "DELETE"],
    ] as const) {
      const answer = await send(ask(), {}, path, method);
      assert.deepEqual([answer.status, answer.json], [404, off]);
    }
    const { reload } = await configure(["gateway", "http", "endpoints", "responses", "enabled"], true);
    assert.equal(reload, "hot");
    assert.match((await send(ask())).json.output[0]?.content[0]?.text ?? "", /hi$/);
  });

  it("refuses what is no such request, before anything runs", async (t) => {
    const { send, base, server, keys } = await openScene(t, { endpoint: { maxBodyBytes: 400 } });
    const reserved = { "x-svc-session-key": "agent:main:subagent:x" };
    const rows: readonly [
      what: string,
      status: number,
      body: unknown,
      json: object | undefined,
      headers?: Record<string, string>,
    ][] = [
      ["text that is no JSON", 400, "{", undefined],
      ["nothing", 400, "", error("model: is required", "model")],
      ["an unknown key", 400, ask({ foo: 1 }), error("unexpected property 'foo'")],
      ["no message", 400, ask({ input: [] }), error("Missing user message in `input`.")],
      [
        "a tool that cannot be called",
        400,
        ask({ tool_choice: "required" }),
        error(
          "tool_choice: invalid tool configuration: a tool call is required, but there are no tools",
          "tool_choice",
        ),
      ],
      [
        "a large body",
        413,
        ask({ input: "x".repeat(400) }),
        { error: { message: "Payload too large", type: "invalid_request_error" } },
      ],
      [
        "an agent there is not",
        404,
        ask({ model: "svc:nobody" }),
        {
          error: {
            message: 'no agent "nobody"; GET /v1/models lists the available ones',
            type: "not_found",
            param: null,
            code: "model_not_found",
          },
        },
      ],
      ["a model there is not", 404, ask(), undefined, { "x-svc-model": "fake/none" }],
      ["a session of the gateway's own", 400, ask(), undefined, reserved],
      [
        "an unknown response",
        400,
        ask({ previous_response_id: "resp_x" }),
        error(
          "previous_response_id: no response resp_x that can be continued",
          "previous_response_id",
          "previous_response_not_found",
        ),
      ],
      [
        "no credential",
        401,
        ask(),
        { error: { message: "Unauthorized", type: "unauthorized" } },
        { authorization: "Bearer wrong" },
      ],
    ];
    for (const [what, status, body, json, headers] of rows) {
      await t.test(what, async () => {
        const answer = await send(body, headers);
        assert.equal(answer.status, status, answer.text);
        if (json) assert.deepEqual(answer.json, json);
      });
    }
    const got = await fetch(`${base}/v1/responses`);
    assert.deepEqual([got.status, got.headers.get("allow"), await got.text()], [405, "POST", "Method Not Allowed"]);
    assert.deepEqual([server.requests.length, await keys()], [0, []]);
  });

  it("takes agent and session from where they are named", async () => {
    const { send, keys, sessions } = shared();
    const rows: readonly [body: object, headers: Record<string, string>, key: RegExp][] = [
      [ask(), {}, /^agent:main:openresponses:[0-9a-f-]{36}$/],
      [ask({ model: "gpt-4o" }), {}, /^agent:main:openresponses:/],
      [ask({ model: "svc:other" }), {}, /^agent:other:openresponses:/],
      [ask({ model: "agent:other", user: "Ada" }), {}, /^agent:other:openresponses-user:ada$/],
      [ask({ user: "Bob" }), { "x-svc-agent-id": "OTHER" }, /^agent:other:openresponses-user:bob$/],
      [ask(), { "x-svc-agent": "other" }, /^agent:other:openresponses:/],
      [ask({ model: "svc:other", user: "eve" }), { "x-svc-session-key": "agent:main:notes" }, /^agent:main:notes$/],
    ];
    const seen = new Set(await keys());
    for (const [body, headers, key] of rows) {
      const { status, json } = await send(body, headers);
      assert.deepEqual([status, json.model], [200, (body as { model: string }).model]);
      const added = (await keys()).find((one) => !seen.has(one));
      assert.match(added ?? "", key);
      seen.add(added ?? "");
    }
    const [kept] = await sessions.transcript("agent:main:notes", 9);
    assert.equal(kept?.message.role, "user");
  });

  it("asks the model that a header names, and thinks as hard as it is asked to", async () => {
    const { send, server } = shared();
    const before = server.requests.length;
    await send(ask(), { "x-svc-model": "fake/gpt-y" });
    await send(ask({ reasoning: { effort: "high" } }));
    assert.deepEqual(
      server.requests.slice(before).map(({ body }) => [body.model, body["reasoning_effort"]]),
      [
        ["gpt-y", undefined],
        ["gpt-x", "high"],
      ],
    );
  });

  it("shows the model the conversation that was sent, and instructions as part of its prompt", async () => {
    const scene = shared();
    const input = [
      { role: "developer", content: "In French." },
      {
        type: "message",
        role: "user",
        content: [
          { type: "input_text", text: "one" },
          { type: "input_text", text: "two" },
        ],
      },
      { role: "assistant", content: "three" },
      { type: "reasoning", summary: [] },
      { type: "item_reference", id: "msg_unknown" },
      { role: "user", content: "four" },
    ];
    await scene.send(ask({ input, instructions: "Be brief." }));
    assert.deepEqual(shown(scene), ["user: one\ntwo", "assistant: three", "user: four"]);
    assert.match(systemOf(scene), /Be brief\.\n\nIn French\./);
    const headers = { "x-svc-session-key": "agent:main:own" };
    await scene.send(ask({ input: "a" }), headers);
    await scene.send(ask({ input: "b" }), headers);
    assert.deepEqual(shown(scene), ["user: a", "assistant: a", "user: b"]);
    await scene.send(ask({ input: [{ type: "function_call_output", call_id: "c", output: "42" }] }));
    assert.deepEqual(shown(scene), ["user: Tool:c: 42"]);
  });

  it("puts the item in the place of its id", async () => {
    const scene = shared();
    scene.reply({ toolCalls: [{ id: "c1", name: "weather", arguments: {} }] }, { text: "fine" });
    const { json } = await scene.send(ask({ tools: [tool] }));
    const { id } = json.output[0] ?? assert.fail();
    const output = { type: "function_call_output", call_id: "c1", output: "snow" };
    await scene.send(ask({ input: [{ role: "user", content: "hi" }, { type: "item_reference", id }, output] }));
    assert.deepEqual(shown(scene), ["user: hi", "assistant:  <c1>", "tool: snow"]);
  });

  it("lets the model call what the choice leaves", async () => {
    const rows: readonly [choice: unknown, tools: readonly string[] | undefined, asked: unknown][] = [
      ["auto", ["weather", "time"], undefined],
      ["none", undefined, undefined],
      ["required", ["weather", "time"], "required"],
      [
        { type: "function", function: { name: "time" } },
        ["weather", "time"],
        { type: "function", function: { name: "time" } },
      ],
      [{ type: "allowed_tools", mode: "required", tools: [{ type: "function", name: "time" }] }, ["time"], "required"],
    ];
    const call = { name: "time", arguments: {} };
    const scene = shared();
    const tools = [tool, { type: "function", name: "time" }];
    for (const [choice, names, asked] of rows) {
      scene.reply(names ? { toolCalls: [call] } : { text: "no tools" });
      const { json } = await scene.send(ask({ tools, tool_choice: choice }));
      const { body } = scene.server.requests.at(-1) ?? assert.fail();
      const offered = body.tools?.map((one) => (one as { function: { name: string } }).function.name);
      assert.deepEqual([offered, body["tool_choice"]], [names, asked]);
      assert.equal(json.output[0]?.type, names ? "function_call" : "message");
    }
    scene.reply({ text: "I will not" });
    const { status, json } = await scene.send(ask({ tools, tool_choice: "required" }));
    assert.equal(status, 500);
    assert.match(json.error.message, /the model called no tool/);
  });

  it("answers with the object that fits the end of the run", async (t) => {
    const calls = [1, 2].map((n) => ({ id: `c${n}`, name: "weather", arguments: { n } }));
    const ends: Readonly<Record<string, FakeModelReply>> = {
      silent: { text: "", usage: false },
      calling: { text: "Let me see", toolCalls: calls },
      cut: { text: "Half", finishReason: "length" },
      busy: { status: 503, message: "busy" },
      refused: { status: 400, message: "too long" },
    };
    const asked = ({ body }: FakeModelRequest) => JSON.stringify(body.messages);
    const scene = await openScene(t, {
      replies: (request) => ends[/(\w+)!/.exec(asked(request))?.[1] ?? ""] ?? assert.fail(),
    });
    const results = [];
    for (const name of Object.keys(ends)) results.push(await scene.send(ask({ input: `${name}!`, tools: [tool] })));
    const [silent, calling, cut, busy, refused] = results;
    assert.equal(silent?.json.output[0]?.content[0]?.text, "No response from svc.");
    assert.equal(silent?.json.usage.total_tokens, 0);
    assert.deepEqual([calling?.status, calling?.json.status], [200, "completed"]);
    assert.deepEqual(
      calling?.json.output.map(({ type, call_id }: Record<string, unknown>) => call_id ?? type),
      ["message", "c1", "c2"],
    );
    assert.deepEqual(
      [cut?.status, cut?.json.status, cut?.json.incomplete_details],
      [200, "incomplete", { reason: "max_output_tokens" }],
    );
    assert.equal(cut?.json.output[0]?.status, "incomplete");
    for (const [answer, retry] of [
      [busy, "true"],
      [refused, "false"],
    ] as const) {
      const { object, status, output, error: why } = answer?.json ?? {};
      assert.deepEqual([answer?.status, object, status, output], [500, "response", "failed", []]);
      assert.equal(why?.code, "server_error");
      assert.equal(answer?.headers.get("x-should-retry"), retry, why?.message);
    }
    const kept = await scene.send(undefined, {}, `/${refused?.json.id}`, "GET");
    assert.deepEqual([kept.status, kept.json.status], [200, "failed"]);
    const gone = await scene.send(ask({ previous_response_id: refused?.json.id }));
    assert.equal(gone.json.error.code, "previous_response_not_found");
  });

  it("streams in whole events, with a last one for each end", async () => {
    const scene = shared();
    scene.reply(
      { pieces: ["Hel", "lo"] },
      { text: "Half", finishReason: "length" },
      { toolCalls: [{ id: "c1", name: "weather", arguments: {} }] },
      { pieces: ["a", "b"], breakAfter: 1 },
    );
    const last = [];
    for (let n = 0; n < 4; n++) {
      const { headers, text } = await scene.send(ask({ stream: true, tools: [tool] }));
      assert.deepEqual(
        ["content-type", "cache-control", "connection"].map((name) => headers.get(name)),
        ["text/event-stream; charset=utf-8", "no-cache", "keep-alive"],
      );
      const events = eventsIn(text);
      last.push(events.at(-1)?.type);
      assert.equal(new Set(events.flatMap(({ response }) => response?.id ?? [])).size, 1);
    }
    assert.deepEqual(
      last.map((type) => type?.replace("response.", "")),
      ["completed", "incomplete", "completed", "failed"],
    );
  });

  it("sends the blank line between two answers of one run", async () => {
    const call = { name: "weather", arguments: {} };
    const scene = shared();
    scene.reply({ text: "One", toolCalls: [{ ...call, name: "none" }] }, { text: "Two" });
    const events = eventsIn((await scene.send(ask({ stream: true }))).text);
    const deltas = events.flatMap(({ type, delta }) => (type === "response.output_text.delta" ? [delta] : []));
    assert.equal(deltas.join(""), "One\n\nTwo");
    assert.equal(events.at(-1)?.response.output[0]?.content[0]?.text, "One\n\nTwo");
  });

  it("is over for good when the plugin stops", async (t) => {
    const scene = await openScene(t, { replies: () => ({ pieces: ["a", "b"], hangAfter: 1 }) });
    const [whole, stream] = [scene.send(ask()), scene.send(ask({ stream: true }))];
    while (scene.server.requests.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    await scene.gateway.reload("http-responses");
    assert.equal((await whole).status, 500);
    const [failed] = eventsIn((await stream).text).slice(-1);
    assert.equal(failed?.response.error.message, "the gateway stopped before the run ended");
    await Promise.all(scene.server.requests.map(({ closed }) => closed));
    assert.ok(scene.server.requests.every(({ aborted }) => aborted));
  });
});
