import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { PluginGateway } from "@svc/sdk";
import type { SessionEntry, TranscriptItem } from "@svc/sdk/sessions";
import chatPlugin from "../../../plugins/chat/plugin.ts";

type Handler = (call: { params: object }) => unknown;

const message = { role: "user", content: [{ type: "text", text: "hi" }], timestamp: 1 } as const;

/** Runs `setup`. @returns `chat.history`, and the limits it read with */
async function setUp(entry?: Partial<SessionEntry>, summarized?: { summary: string; kept: readonly TranscriptItem[] }) {
  const items: TranscriptItem[] = entry ? [{ id: "1", message }] : [];
  const limits: number[] = [];
  const served: { history?: Handler } = {};
  const sessions = {
    canonicalKey: (key: string) => `agent:main:${key}`,
    get: async () => entry && { sessionId: "s1", updatedAt: 1, ...entry },
    async context(_key: string, limit: number) {
      limits.push(limit);
      return { summary: summarized?.summary, items: summarized?.kept ?? items };
    },
    transcript: async () => items,
  };
  const gateway = {
    services: { sessions },
    event: () => () => undefined,
    serve: (_contract: unknown, handlers: { history: Handler }) => (served.history = handlers.history),
    hooks: { runEvent: { tap: () => undefined } },
    start: () => undefined,
    extend: () => undefined,
  };
  await chatPlugin.setup(gateway as unknown as PluginGateway<never, never>); // only the parts that history uses
  return { limits, history: async (params: object) => served.history?.({ params }) };
}

describe("chat.history", () => {
  it("has the key as it was sent, and 200 messages by default", async () => {
    const levels = { thinkingLevel: "low", verboseLevel: "full" } as const;
    const { history, limits } = await setUp(levels);
    const expected = { sessionKey: "Main", sessionId: "s1", messages: [message], ...levels };
    assert.deepEqual(await history({ sessionKey: "Main" }), expected);
    await history({ sessionKey: "main", limit: 3 });
    assert.deepEqual(limits, [200, 3]);
  });

  it("also shows the messages before a summary", async () => {
    const { history } = await setUp({}, { summary: "They said hi.", kept: [] });
    const { messages } = (await history({ sessionKey: "main" })) as { messages: unknown };
    assert.deepEqual(messages, [message]);
  });

  it("is empty for an unknown session", async () => {
    const { history } = await setUp();
    const expected = { sessionKey: "nobody", messages: [], thinkingLevel: "off" };
    assert.deepEqual(await history({ sessionKey: "nobody" }), expected);
  });
});
