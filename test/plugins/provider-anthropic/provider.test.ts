/** What only servers of the Messages API have. `../providers/` has what both providers do. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import type { ModelEvent } from "@svc/sdk/models";
import { REDACTED } from "../../../plugins/provider-anthropic/translate.ts";
import { apis, assistant, call, KEY, openProvider, result, said, user } from "../providers/apis.ts";

const { model } = apis.anthropic;

async function open(t: TestContext) {
  const scene = await openProvider(apis.anthropic);
  t.after(() => scene.server.close());
  return scene;
}

describe("Messages API provider", { timeout: 120_000 }, () => {
  it("posts the request to the path of the API, with marks for its cache", async (t) => {
    const { server, ask } = await open(t);
    await ask();
    assert.equal(server.requests[0]?.path, "/v1/messages");
    assert.deepEqual(server.requests[0]?.body, {
      model: model.id,
      stream: true,
      max_tokens: 8192,
      system: [{ ...said("Be kind."), cache_control: { type: "ephemeral" } }],
      messages: [{ role: "user", content: [{ ...said("hi there"), cache_control: { type: "ephemeral" } }] }],
    });
  });

  const reasons: [wire: string, reason: string][] = [
    ["model_context_window_exceeded", "length"],
    ["stop_sequence", "stop"],
    ["pause_turn", "stop"],
  ];
  for (const [wire, reason] of reasons) {
    it(`finishes with ${reason} after ${wire}`, async (t) => {
      const { server, ask } = await open(t);
      server.reply({ text: "hi", usage: false, finishReason: wire });
      assert.deepEqual((await ask()).at(-1), { type: "finish", reason });
    });
  }

  it("completes a tool round with signed thinking, which the API requires back", async (t) => {
    const { server, ask } = await open(t);
    const tools = [{ name: "t", description: "Adds", parameters: { type: "object", properties: {} } }];
    const add = call("toolu_1", { a: 1, b: 2 });
    server.reply({
      thinking: "two numbers",
      signature: "sig-1",
      redactedThinking: "hidden",
      text: "Let me see.",
      toolCalls: [{ name: "t", arguments: { a: 1, b: 2 }, id: "toolu_1" }],
      usage: false,
    });
    assert.deepEqual(joined(await ask({ tools, thinking: "low" })), [
      { type: "thinking", delta: "two numbers", signature: "sig-1" },
      { type: "thinking", delta: "", signature: `${REDACTED}hidden` },
      { type: "text", delta: "Let me see." },
      add,
      { type: "finish", reason: "toolUse" },
    ]);
    assert.deepEqual(server.requests[0]?.body["thinking"], { type: "enabled", budget_tokens: 4096 });

    const thoughts = [
      { type: "thinking", thinking: "two numbers", thinkingSignature: "sig-1" },
      { type: "thinking", thinking: "", thinkingSignature: `${REDACTED}hidden` },
    ] as const;
    const answer = assistant([...thoughts, said("Let me see."), add], { api: model.api, model: model.id });
    server.reply({ text: "3", usage: false });
    await ask({ tools, thinking: "low", messages: [user("hi there"), answer, result("toolu_1")] });
    assert.deepEqual(server.requests[1]?.body.messages?.[1]?.content, [
      { type: "thinking", thinking: "two numbers", signature: "sig-1" },
      { type: "redacted_thinking", data: "hidden" },
      said("Let me see."),
      { type: "tool_use", id: "toolu_1", name: "t", input: { a: 1, b: 2 } },
    ]);
  });

  it("sends the key under both names to a compatible server, and nothing from the environment", async (t) => {
    const { server, ask } = await open(t);
    await ask();
    const { headers } = server.requests[0] ?? assert.fail("nothing was asked");
    assert.deepEqual([headers.authorization, headers["x-api-key"]], [`Bearer ${KEY}`, KEY]);
    assert.equal(headers["x-of-somebody"], undefined);
  });

  it("sends the headers of an account without a key and no key", async (t) => {
    const scene = await open(t);
    const account = { name: "acme", baseUrl: scene.server.url };
    scene.account = { ...account, headers: { Authorization: "Bearer own", "x-team": "blue" } };
    await scene.ask();
    scene.account = account;
    await scene.ask();
    const [first, second] = scene.server.requests;
    assert.deepEqual([first?.headers.authorization, first?.headers["x-team"]], ["Bearer own", "blue"]);
    assert.deepEqual([second?.headers.authorization, second?.headers["x-api-key"]], [undefined, undefined]);
  });

  for (const suffix of ["", "/", "/v1/"]) {
    it(`finds the server at an address that ends in "${suffix}"`, async (t) => {
      const scene = await open(t);
      scene.account = { ...scene.account, baseUrl: scene.server.url.replace("/v1", suffix) };
      assert.equal((await scene.ask()).at(-1)?.type, "finish");
    });
  }
});

/** Merges pieces of one block; a signature ends a thinking block. */
function joined(events: readonly ModelEvent[]): ModelEvent[] {
  const all: ModelEvent[] = [];
  for (const event of events) {
    const last = all.at(-1);
    const continues = last?.type === "thinking" && last.signature === undefined && event.type === "thinking";
    if (continues) all[all.length - 1] = { ...last, ...event, delta: last.delta + event.delta };
    else if (last?.type === "text" && event.type === "text")
      all[all.length - 1] = { ...last, delta: last.delta + event.delta };
    else all.push(event);
  }
  return all;
}
