/** What a model thought and called comes back to it in the next request, from the blocks that the gateway stores. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import type { ModelRequest } from "@svc/sdk/models";
import { Reply } from "../../../plugins/agents/runs/reply.ts";
import { type Api, apis, assistant, openProvider, result, user } from "./apis.ts";

const tools = [{ name: "t", description: "Does it", parameters: { type: "object", properties: {} } }];
const calls = ["c1", "c2"].map((id) => ({ id, name: "t", arguments: { of: id } }));

/** The messages of the second request, after an answer with thinking, text and two calls. */
async function secondRequest(t: TestContext, api: Api, changes: Partial<ModelRequest> = {}) {
  const { server, stream } = await openProvider(api);
  t.after(() => server.close());
  server.reply({ thinking: "hmm", signature: "sealed", text: "Let me see.", toolCalls: calls });
  const reply = new Reply();
  for await (const event of stream(undefined, { tools, ...changes })) if (event.type !== "finish") reply.add(event);
  const answer = assistant(reply.content, { api: api.model.api, model: api.model.id });
  const messages = [user("hi"), answer, result("c1"), result("c2")];
  for await (const event of stream(undefined, { tools, messages, ...changes })) void event;
  return server.requests[1]?.body ?? assert.fail("nothing was asked");
}

describe("thinking and calls of an answer", { timeout: 120_000 }, () => {
  it("come back to the responses API in their order", async (t) => {
    const { input } = await secondRequest(t, apis.responses, { thinking: "low" });
    assert.deepEqual(
      (input as { type?: string; encrypted_content?: string }[]).map(
        (one) => one.encrypted_content ?? one.type ?? "text",
      ),
      ["message", "sealed", "text", "function_call", "function_call", "function_call_output", "function_call_output"],
    );
  });

  it("come back to Gemini, the signature in the first call", async (t) => {
    const { contents } = await secondRequest(t, apis.google, { thinking: "low" });
    assert.deepEqual((contents as unknown[])[1], {
      role: "model",
      parts: [
        { text: "Let me see." },
        { functionCall: { id: "c1", name: "t", args: { of: "c1" } }, thoughtSignature: "sealed" },
        { functionCall: { id: "c2", name: "t", args: { of: "c2" } } },
      ],
    });
  });

  it("come back to Bedrock, and thinking goes on", async (t) => {
    const { messages, additionalModelRequestFields } = await secondRequest(t, apis.bedrock, { thinking: "low" });
    assert.deepEqual(messages?.[1], {
      role: "assistant",
      content: [
        { reasoningContent: { reasoningText: { text: "hmm", signature: "sealed" } } },
        { text: "Let me see." },
        ...calls.map(({ id, name, arguments: input }) => ({ toolUse: { toolUseId: id, name, input } })),
      ],
    });
    assert.deepEqual(additionalModelRequestFields, { thinking: { type: "enabled", budget_tokens: 4_096 } });
  });
});
