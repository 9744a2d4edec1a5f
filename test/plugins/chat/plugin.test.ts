import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { PluginGateway } from "@svc/sdk";
import chatPlugin from "../../../plugins/chat/plugin.ts";

type Handler = (call: object) => unknown;

const message = { role: "user", content: [{ type: "text", text: "hi" }], timestamp: 1 } as const;

/** Runs `setup`. @returns the handlers, and the limits that pages were read with */
async function setUp(entry?: { thinkingLevel?: string; verboseLevel?: string }, services: object = {}) {
  const limits: number[] = [];
  const calls: unknown[] = [];
  const served: Record<string, Handler> = {};
  const sessions = {
    canonicalKey: (key: string) => `agent:main:${key}`,
    agentOf: () => "main",
    row: async () => entry && { sessionId: "s1", updatedAt: 1, ...entry },
    async page(_key: string, { limit }: { limit: number }) {
      limits.push(limit);
      return { items: entry ? [{ id: "1", seq: 1, message }] : [], hasMore: false, firstKept: [], offset: 0 };
    },
  };
  const none = { get: () => undefined };
  const gateway = {
    services: { sessions, models: none, chatCommands: none, info: { aliases: [] }, ...services },
    event: () => () => undefined,
    serve: (_contract: unknown, handlers: Record<string, Handler>) => Object.assign(served, handlers),
    async call({ name }: { name: string }, params: object, options: object) {
      calls.push([name, params, options]);
      return { [name.split(".")[0] ?? ""]: [`row of ${name}`] };
    },
    hooks: { runEvent: { tap: () => undefined }, connectionClosed: { tap: () => undefined } },
    start: () => undefined,
    extend: () => undefined,
  };
  await chatPlugin.setup(gateway as unknown as PluginGateway<never, never>); // only the parts that these methods use
  return {
    limits,
    calls,
    history: async (params: object) => served["history"]?.({ params }) as Record<string, unknown>,
    metadata: async (params: object = {}) => served["metadata"]?.({ params, principal: "p" }),
  };
}

describe("chat.history", () => {
  it("has the key as it was sent, and 200 messages by default", async () => {
    const levels = { thinkingLevel: "low", verboseLevel: "full" };
    const { history, limits } = await setUp(levels);
    const { sessionKey, sessionId, messages, thinkingLevel, verboseLevel } = await history({ sessionKey: "Main" });
    assert.deepEqual([sessionKey, sessionId, { thinkingLevel, verboseLevel }], ["Main", "s1", levels]);
    assert.deepEqual(messages, [{ ...message, __svc: { id: "1", seq: 1 } }]);
    await history({ sessionKey: "main", limit: 3 });
    assert.deepEqual(limits, [200, 3]);
  });

  it("is empty for an unknown session", async () => {
    const { history } = await setUp();
    const { messages, thinkingLevel, sessionInfo } = await history({ sessionKey: "nobody" });
    assert.deepEqual([messages, thinkingLevel, sessionInfo], [[], "off", undefined]);
  });
});

describe("chat.metadata", () => {
  it("is empty without the plugins that know models and commands", async () => {
    const { metadata, calls } = await setUp();
    assert.deepEqual([await metadata(), calls], [{ models: [], commands: [] }, []]);
  });

  it("has the rows of models.list and commands.list for the caller", async () => {
    const some = { get: () => ({}) };
    const { metadata, calls } = await setUp(undefined, { models: some, chatCommands: some });
    assert.deepEqual(await metadata(), { models: ["row of models.list"], commands: ["row of commands.list"] });
    assert.deepEqual(calls, [
      ["models.list", {}, { principal: "p" }],
      ["commands.list", {}, { principal: "p" }],
    ]);
  });

  it("has the models of the agent, or of the agent of the session", async () => {
    const { metadata, calls } = await setUp(undefined, { models: { get: () => ({}) } });
    await metadata({ agentId: "ops", sessionKey: "x" });
    await metadata({ sessionKey: "x" });
    assert.deepEqual(calls, [
      ["models.list", { agentId: "ops" }, { principal: "p" }],
      ["models.list", { agentId: "main" }, { principal: "p" }],
    ]);
  });
});
