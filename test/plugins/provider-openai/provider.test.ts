/** What only servers of chat completions have. `../providers/` has what both providers do. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { NO_KEY } from "../../../plugins/provider-openai/clients.ts";
import { apis, assistant, call, KEY, openProvider, result, said, user } from "../providers/apis.ts";

async function open(t: TestContext) {
  const scene = await openProvider(apis.openai);
  t.after(() => scene.server.close());
  return scene;
}

describe("chat-completions provider", { timeout: 120_000 }, () => {
  it("completes a tool round: call, result, answer", async (t) => {
    const { server, ask } = await open(t);
    const tools = [{ name: "t", description: "Adds", parameters: { type: "object", properties: {} } }];
    const add = call("c1", { a: 1, b: 2 });
    server.reply({
      text: "Let me see.",
      toolCalls: [{ name: "t", arguments: { a: 1, b: 2 }, id: "c1" }],
      usage: false,
    });
    assert.deepEqual((await ask({ tools })).slice(-2), [add, { type: "finish", reason: "toolUse" }]);
    server.reply({ text: "3", usage: false });
    await ask({ tools, messages: [user("hi there"), assistant([said("Let me see."), add]), result("c1")] });
    assert.deepEqual(server.requests[1]?.body, {
      model: "fake-model",
      messages: [
        { role: "system", content: "Be kind." },
        { role: "user", content: "hi there" },
        {
          role: "assistant",
          content: "Let me see.",
          tool_calls: [{ id: "c1", type: "function", function: { name: "t", arguments: '{"a":1,"b":2}' } }],
        },
        { role: "tool", tool_call_id: "c1", content: "from c1" },
      ],
      stream: true,
      stream_options: { include_usage: true },
      tools: [
        {
          type: "function",
          function: { name: "t", description: "Adds", parameters: { type: "object", properties: {} } },
        },
      ],
    });
  });

  it("streams thinking before the text", async (t) => {
    const { server, ask } = await open(t);
    server.reply({ thinking: "hm", text: "hi", usage: false });
    assert.deepEqual((await ask())[0], { type: "thinking", delta: "hm" });
  });

  it("sends a placeholder for a missing key, and the account's headers", async (t) => {
    const scene = await open(t);
    scene.account = { name: "acme", baseUrl: scene.server.url, headers: { "x-team": "blue" } };
    await scene.ask();
    const { headers } = scene.server.requests[0] ?? assert.fail("nothing was asked");
    assert.deepEqual([headers.authorization, headers["x-team"]], [`Bearer ${NO_KEY}`, "blue"]);
  });

  it("ignores the client library's environment variables", async (t) => {
    const before = process.env["OPENAI_ORG_ID"];
    process.env["OPENAI_ORG_ID"] = "org-of-somebody";
    t.after(() =>
      before === undefined ? delete process.env["OPENAI_ORG_ID"] : (process.env["OPENAI_ORG_ID"] = before),
    );
    const { server, ask } = await open(t);
    await ask();
    assert.equal(server.requests[0]?.headers["openai-organization"], undefined);
  });

  it("names the setting for an account without an address", async (t) => {
    const scene = await open(t);
    scene.account = { name: "acme", apiKey: KEY };
    await assert.rejects(scene.ask(), { code: "UNAVAILABLE", message: /set models\.providers\.acme\.baseUrl/u });
    scene.account = { name: "acme:work" };
    await assert.rejects(scene.ask(), { message: /set models\.providers\.acme\.accounts\["work"\]\.baseUrl/u });
  });
});
