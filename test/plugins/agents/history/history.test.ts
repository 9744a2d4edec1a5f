import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AssistantMessage, ImageBlock, Message, ToolResultMessage } from "@svc/sdk/models";
import { limitsOf, modelHistory, timeStamp } from "../../../../plugins/agents/history/history.ts";
import { user } from "../script.ts";

const limits = { budgetChars: 10_000, timeZone: "UTC" };
const author = { api: "a", provider: "p", model: "m", stopReason: "stop" as const, timestamp: 0 };

const assistant = (text: string, ...callIds: string[]): AssistantMessage => ({
  role: "assistant",
  content: [
    ...(text === "" ? [] : [{ type: "text" as const, text }]),
    ...callIds.map((id) => ({ type: "toolCall" as const, id, name: "clock", arguments: {} })),
  ],
  ...author,
});

const result = (toolCallId: string, text: string): ToolResultMessage => ({
  role: "toolResult",
  toolCallId,
  toolName: "clock",
  content: [{ type: "text", text }],
  isError: false,
  timestamp: 0,
});

const outline = (messages: readonly Message[]) =>
  messages.map((message) => {
    const [block] = message.content;
    const words = block?.type === "text" ? block.text : block?.type;
    return `${message.role} ${words}`;
  });

const stamp = "[Thu 1970-01-01 00:00 UTC]";

describe("time stamp", () => {
  it("is weekday, date, time and zone", () => {
    const at = Date.UTC(2026, 0, 29, 1, 30);
    assert.equal(timeStamp(at, "America/New_York"), "[Wed 2026-01-28 20:30 EST]");
    assert.equal(timeStamp(Date.UTC(2026, 0, 28, 0, 5), "UTC"), "[Wed 2026-01-28 00:05 UTC]");
  });
});

describe("model history", () => {
  it("stamps what the user said and leaves the transcript alone", () => {
    const messages = [user("hi"), assistant("hello"), user("and now?")];
    const before = structuredClone(messages);
    assert.deepEqual(outline(modelHistory(messages, limits)), [
      `user ${stamp} hi`,
      "assistant hello",
      `user ${stamp} and now?`,
    ]);
    assert.deepEqual(messages, before);
  });

  it("puts results right after their call", () => {
    const messages = [user("time?"), assistant("", "c1"), assistant("injected"), result("c1", "noon")];
    assert.deepEqual(outline(modelHistory(messages, limits)).slice(1), [
      "assistant toolCall",
      "toolResult noon",
      "assistant injected",
    ]);
  });

  it("leaves out a result without its call", () => {
    assert.deepEqual(outline(modelHistory([user("hi"), result("lost", "x")], limits)), [`user ${stamp} hi`]);
  });

  it("answers a call that got no answer", () => {
    const [, call, answer] = modelHistory([user("hi"), assistant("", "c1")], limits);
    assert.equal(call?.role, "assistant");
    assert.deepEqual(answer?.role === "toolResult" && [answer.toolCallId, answer.toolName, answer.isError], [
      "c1",
      "clock",
      true,
    ]);
  });

  it("keeps apart calls of different turns with the same id", () => {
    const turn = (text: string) => [user("time?"), assistant("", "c0"), result("c0", text)];
    const shown = outline(modelHistory([...turn("one"), ...turn("two")], limits));
    assert.deepEqual(
      shown.filter((line) => line.startsWith("toolResult")),
      ["toolResult one", "toolResult two"],
    );
    const cutOff = outline(modelHistory([...turn("one").slice(0, 2), ...turn("two")], limits));
    assert.match(cutOff[2] ?? "", /No result/);
    assert.equal(cutOff[5], "toolResult two");
  });

  it("leaves out answers without content", () => {
    const failed: AssistantMessage = { ...assistant(""), stopReason: "error", errorMessage: "no" };
    assert.deepEqual(outline(modelHistory([user("hi"), failed, user("again")], limits)), [
      `user ${stamp} hi`,
      `user ${stamp} again`,
    ]);
  });

  it("starts with a user message within the budget", () => {
    const messages = [user("a".repeat(50)), assistant("b".repeat(50)), user("c"), assistant("d"), user("e")];
    assert.deepEqual(outline(modelHistory(messages, { ...limits, budgetChars: 60 })), [
      `user ${stamp} c`,
      "assistant d",
      `user ${stamp} e`,
    ]);
  });

  it("shows the last user message even when it is over the budget", () => {
    const [only, ...others] = modelHistory([user("old"), user("x".repeat(99))], { ...limits, budgetChars: 10 });
    assert.equal(others.length, 0);
    assert.match(outline(only ? [only] : [])[0] ?? "", /x{99}/);
  });

  const image: ImageBlock = { type: "image", data: "AAAA", mimeType: "image/png" };

  it("keeps images", () => {
    assert.deepEqual(modelHistory([user("", [image])], limits)[0]?.content, [{ type: "text", text: stamp }, image]);
  });

  it("takes the limits from the model", () => {
    assert.deepEqual(limitsOf({ contextWindow: 20_000, maxTokens: 4_000 }, undefined, "UTC"), {
      budgetChars: 48_000,
      timeZone: "UTC",
    });
    assert.equal(limitsOf({ contextWindow: 1_000 }, undefined, "UTC").budgetChars, 8_000);
  });
});
