/** Tools that the caller runs: calls and results. Spec: http/chat-completions.md §9. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ChatCompletion, ChatCompletionMessageParam, ChatCompletionTool } from "openai/resources/chat/completions";
import { definePlugin, Strict } from "@svc/sdk";
import { defineTool, Tool, type ToolCall } from "@svc/sdk/tools";
import { chunkIn, frames, scene, shown, SUITE_MS } from "./scene.ts";

const weather: ChatCompletionTool = {
  type: "function",
  function: {
    name: "weather",
    description: "Tells the weather",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
};
const question: ChatCompletionMessageParam = { role: "user", content: "Weather in Ulm?" };
const call = (city: string) => ({ toolCalls: [{ name: "weather", arguments: { city } }] });

describe("tools of the caller", { timeout: SUITE_MS }, () => {
  it("are called, answered, called again and answered, with the conversation sent along", async (t) => {
    const it = await scene(t, { replies: [call("Ulm"), { text: "And Bonn:", ...call("Bonn") }, { text: "Both wet" }] });
    const messages: ChatCompletionMessageParam[] = [question];
    const contents: (string | null | undefined)[] = [];
    for (let round = 0; round < 3; round++) {
      const answer: ChatCompletion = await it.openai.chat.completions.create({
        model: "svc",
        messages,
        tools: [weather],
      });
      const [choice] = answer.choices;
      assert.ok(choice);
      contents.push(choice.message.content);
      messages.push(choice.message);
      for (const asked of choice.message.tool_calls ?? []) {
        assert.ok(asked.type === "function");
        assert.equal(choice.finish_reason, "tool_calls");
        const { city } = JSON.parse(asked.function.arguments) as { city: string };
        messages.push({ role: "tool", tool_call_id: asked.id, content: city === "Ulm" ? "" : "rain in Bonn" });
      }
    }
    assert.deepEqual(contents, [null, "And Bonn:", "Both wet"]);
    assert.deepEqual(
      shown(it, 2).filter((line) => !line.startsWith("system")),
      ["user: Weather in Ulm?", "assistant: null", "tool: [empty]", "assistant: And Bonn:", "tool: rain in Bonn"],
    );
    const [tool] = it.server.requests[0]?.body.tools ?? [];
    assert.deepEqual(tool, weather);
  });

  it("are answered alone where the session has the call", async (t) => {
    const it = await scene(t, { replies: [call("Ulm"), { text: "Wet" }] });
    const user = "ada";
    const first = await it.openai.chat.completions.create({
      model: "svc",
      user,
      messages: [question],
      tools: [weather],
    });
    const id = first.choices[0]?.message.tool_calls?.[0]?.id ?? "";
    const second = await it.openai.chat.completions.create({
      model: "svc",
      user,
      messages: [
        { role: "tool", tool_call_id: id, content: "rain" },
        { role: "user", content: "Short, please" },
      ],
      tools: [weather],
    });
    assert.equal(second.choices[0]?.message.content, "Wet");
    const roles = shown(it, 1).map((line) => line.split(":", 1)[0]);
    assert.deepEqual(
      roles.filter((role) => role !== "system"),
      ["user", "assistant", "tool", "user"],
    );
    assert.ok(shown(it, 1).includes("tool: rain"));
  });

  it("are run by the client's own helper", async (t) => {
    const { openai } = await scene(t, { replies: [call("Ulm"), call("Bonn"), { text: "Both wet" }] });
    const cities: unknown[] = [];
    const runner = openai.chat.completions.runTools({
      model: "svc",
      messages: [question],
      stream: true,
      tools: [
        {
          type: "function",
          function: {
            name: "weather",
            description: "Tells the weather",
            parameters: weather.type === "function" ? (weather.function.parameters ?? {}) : {},
            parse: JSON.parse,
            function: (args: object) => void cities.push(args),
          },
        },
      ],
    });
    assert.equal(await runner.finalContent(), "Both wet");
    assert.deepEqual(cities, [{ city: "Ulm" }, { city: "Bonn" }]);
  });

  it("are streamed as calls after the text, several at once by their number", async (t) => {
    const reply = {
      text: "Let me see",
      toolCalls: ["Ulm", "Bonn"].map((city) => ({ name: "weather", arguments: { city } })),
    };
    const { post, openai } = await scene(t, { replies: [reply, reply] });
    const body = { model: "svc", messages: [question], tools: [weather], stream: true as const };
    const chunks = (await frames(await post(body))).slice(0, -1).map(chunkIn);
    const deltas = chunks.flatMap(({ choices }) => choices).map(({ delta }) => Object.keys(delta)[0]);
    assert.deepEqual([...new Set(deltas)], ["role", "content", "tool_calls", undefined]);
    assert.equal(chunks.at(-1)?.choices[0]?.finish_reason, "tool_calls");
    const { choices } = await openai.chat.completions
      .stream({ ...body, stream: undefined as never })
      .finalChatCompletion();
    assert.deepEqual(
      choices[0]?.message.tool_calls?.map((asked) => asked.type === "function" && asked.function.arguments),
      ['{"city":"Ulm"}', '{"city":"Bonn"}'],
    );
  });

  it("may be demanded by name, or taken away", async (t) => {
    const it = await scene(t, { replies: [call("Ulm"), { text: "no call" }, { text: "fine" }] });
    const ask = (choice: "none" | { type: "function"; function: { name: string } }) =>
      it.openai.chat.completions.create({ model: "svc", messages: [question], tools: [weather], tool_choice: choice });
    const named = { type: "function" as const, function: { name: "weather" } };
    assert.equal((await ask(named)).choices[0]?.finish_reason, "tool_calls");
    assert.deepEqual(it.server.requests[0]?.body["tool_choice"], named);
    await assert.rejects(ask(named), { status: 500, type: "api_error", message: /the model called no tool/ });
    assert.equal((await ask("none")).choices[0]?.message.content, "fine");
    assert.ok(!JSON.stringify(it.server.requests[2]?.body.tools ?? []).includes("weather"));
  });

  it("that are answered without a call are refused, wherever that may be", async (t) => {
    const { openai } = await scene(t);
    const answer: ChatCompletionMessageParam = { role: "tool", tool_call_id: "call_x", content: "rain" };
    for (const [messages, param] of [
      [[answer], "messages[0].tool_call_id"],
      [[question, answer], "messages[1].tool_call_id"],
      [[question, answer, question], "messages[1].tool_call_id"],
    ] as const)
      await assert.rejects(openai.chat.completions.create({ model: "svc", messages: [...messages] }), {
        status: 400,
        param,
      });
  });
});

describe("tools of the agent", { timeout: SUITE_MS }, () => {
  it("run in the gateway and do not show; the text around them is one text, streamed or not", async (t) => {
    const calls: ToolCall[] = [];
    const where = definePlugin({
      id: "where",
      api: "^1.0.0",
      setup: (gateway) =>
        gateway.extend(
          Tool,
          "where",
          defineTool({
            description: "-",
            scope: "operator.admin",
            params: Strict({}),
            run: (_params, { call }) => (calls.push(call), "here"),
          }),
        ),
    });
    const { openai } = await scene(t, {
      plugins: [where],
      replies: (_request, index) =>
        index % 2 === 0 ? { text: "Let me look", toolCalls: [{ name: "where", arguments: {} }] } : { text: "Found it" },
    });
    const body = { model: "svc", messages: [question], tools: [weather] };
    const whole = await openai.chat.completions.create(body);
    const headers = {
      "x-svc-message-channel": "Telegram",
      "x-svc-account-id": "work",
      "x-svc-message-to": "42",
      "x-svc-thread-id": "7",
    };
    const streamed = await openai.chat.completions.stream(body, { headers }).finalChatCompletion();
    for (const { choices } of [whole, streamed]) {
      assert.equal(choices[0]?.message.content, "Let me look\n\nFound it");
      assert.deepEqual([choices[0]?.finish_reason, choices[0]?.message.tool_calls], ["stop", undefined]);
    }
    assert.deepEqual(
      calls.map(({ address }) => address),
      [undefined, { channel: "telegram", accountId: "work", to: "42", threadId: "7" }],
    );
  });
});
