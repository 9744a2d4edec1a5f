import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isPlugin, type PluginGateway } from "@svc/sdk";
import type { RunEvent } from "@svc/sdk/agents";
import type { SessionEntry, TranscriptItem } from "@svc/sdk/sessions";
import chatPlugin from "../../../plugins/chat/plugin.ts";

/** Runs `setup` and records its declarations. */
async function setUp(entry?: Partial<SessionEntry>, summarized?: { summary: string; kept: readonly TranscriptItem[] }) {
  const events: [payload: unknown, audience: unknown][] = [];
  const starts: (() => unknown)[] = [];
  const migrated: string[] = [];
  const declared: { handlers?: Record<string, (call: unknown) => unknown>; runEvent?: (event: RunEvent) => void } = {};
  const message = { role: "user", content: [{ type: "text", text: "hi" }], timestamp: 1 } as const;
  const items: TranscriptItem[] = entry ? [{ id: "1", message }] : [];
  const limits: number[] = [];
  const gateway = {
    clock: { now: () => 1, elapsed: () => 1, setTimeout: () => () => undefined },
    log: { info: () => undefined },
    services: {
      sessions: {
        canonicalKey: (key: string) => `agent:main:${key}`,
        get: async () => entry && { sessionId: "s1", updatedAt: 1, ...entry },
        context: async (_key: string, limit: number) => (
          limits.push(limit),
          { summary: summarized?.summary, items: summarized?.kept ?? items }
        ),
        transcript: async () => items,
      },
      runs: {},
      storage: { migrate: async (owner: string) => void migrated.push(owner) },
    },
    event: () => (payload: unknown, audience: unknown) => events.push([payload, audience]),
    serve: (_contract: unknown, handlers: NonNullable<typeof declared.handlers>) => (declared.handlers = handlers),
    hooks: { runEvent: { tap: (tap: (event: RunEvent) => void) => (declared.runEvent = tap) } },
    start: (begin: () => unknown) => starts.push(begin),
    extend: () => undefined,
  };
  await chatPlugin.setup(gateway as unknown as PluginGateway<never, never>); // only the parts that chat uses
  return { ...declared, events, starts, migrated, limits };
}

describe("the chat plugin", () => {
  it("is a plugin that opens nothing in setup and creates its table at the start", async () => {
    assert.ok(isPlugin(chatPlugin));
    const { starts, migrated } = await setUp();
    assert.deepEqual(migrated, []);
    for (const begin of starts) assert.equal(await begin(), undefined);
    assert.deepEqual(migrated, ["chat"]);
  });

  it("returns history with the key as it was sent, 200 messages by default", async () => {
    const { handlers, limits } = await setUp({ thinkingLevel: "low", verboseLevel: "full" });
    const message = { role: "user", content: [{ type: "text", text: "hi" }], timestamp: 1 };
    assert.deepEqual(await handlers?.["history"]?.({ params: { sessionKey: "Main" } }), {
      sessionKey: "Main",
      sessionId: "s1",
      messages: [message],
      thinkingLevel: "low",
      verboseLevel: "full",
    });
    await handlers?.["history"]?.({ params: { sessionKey: "main", limit: 3 } });
    assert.deepEqual(limits, [200, 3]);
  });

  it("also shows the messages before a summary", async () => {
    const { handlers } = await setUp({}, { summary: "They said hi.", kept: [] });
    const shown = await handlers?.["history"]?.({ params: { sessionKey: "main" } });
    assert.deepEqual((shown as { messages?: unknown } | undefined)?.messages, [
      { role: "user", content: [{ type: "text", text: "hi" }], timestamp: 1 },
    ]);
  });

  it("returns an empty history for an unknown session", async () => {
    const { handlers } = await setUp();
    const expected = { sessionKey: "nobody", messages: [], thinkingLevel: "off" };
    assert.deepEqual(await handlers?.["history"]?.({ params: { sessionKey: "nobody" } }), expected);
  });

  it("turns the events of any run into chat events; only deltas may be dropped", async () => {
    const { runEvent, events } = await setUp();
    const step = { runId: "r", sessionKey: "agent:main:x", stream: "assistant", ts: 1, data: { text: "a" } } as const;
    runEvent?.({ ...step, seq: 1 });
    const outcome = { runId: "r", sessionKey: "agent:main:x", status: "ok", endedAt: 2, text: "a" } as const;
    runEvent?.({ ...step, seq: 2, outcome });
    const told = events.map(([payload, audience]) => [(payload as { state: string }).state, audience]);
    assert.deepEqual(told, [
      ["delta", { droppable: true }],
      ["final", { droppable: false }],
    ]);
  });
});
