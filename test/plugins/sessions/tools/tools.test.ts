/** The tools for sessions. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { isGatewayError, notFound, outsideOrigin, type Principal, saidAfter } from "@svc/sdk";
import type { Message, Models } from "@svc/sdk/models";
import type { ToolCall, ToolResult } from "@svc/sdk/tools";
import plugin from "../../../../plugins/sessions/plugin.ts";
import { shown, withinBounds } from "../../../../plugins/sessions/tools/history-tool.ts";
import { toolKindOf } from "../../../../plugins/sessions/tools/tools.ts";
import { type FakeOptions, principal, startFake } from "../fake-gateway.ts";
import { assistant, FakeClock, NOON, openTestStorage, user } from "../open-store.ts";

const models = {
  list: () => [],
  resolve: (ref = "dp/dm") => {
    const [provider, id] = ref.split("/");
    return provider && id ? { provider, id, name: id, api: "x", contextWindow: 1000 } : notFound("no such model");
  },
} as unknown as Models; // nothing is streamed here
const noModels = { resolve: () => notFound("no model") } as unknown as Models;

async function start(t: TestContext, options: Partial<FakeOptions> = {}) {
  const storage = await openTestStorage(t);
  const clock = new FakeClock();
  const fake = await startFake(plugin, { storage, clock, models, ...options });
  const use = async (name: string, params: object = {}, sessionKey = MAIN, who: Principal = principal) => {
    const agentId = sessionKey.split(":")[1] ?? "main";
    const call: ToolCall = { name, toolCallId: "1", arguments: {}, runId: "r", sessionKey, agentId };
    const signal = new AbortController().signal;
    return (await fake.tools.get(name)?.run(params, { call, principal: who, signal })) as ToolResult; // none of them returns plain text
  };
  const text = async (...asked: Parameters<typeof use>) => {
    const [block] = (await use(...asked)).content;
    return block?.type === "text" ? block.text : assert.fail("no text");
  };
  return { ...fake, storage, clock, use, text };
}

const MAIN = "agent:main:main";
const reader: Principal = { ...principal, scopes: ["operator.read"] };

describe("session_status", () => {
  it("returns the known facts, as text and as values", async (t) => {
    const { service, use, text } = await start(t);
    await service.append("agent:main:foo", [user("hi")]);
    const entry = await service.update("agent:main:foo", { totalTokens: 7, inputTokens: 5, outputTokens: 2 });
    const expected = [
      "Session: agent:main:foo",
      `Session id: ${entry.sessionId}`,
      "Model: dp/dm",
      "Messages: 1",
      "Tokens: 7 in context, window 1000, 5 in, 2 out",
      "Time: 2026-03-02T12:00:00.000Z",
    ];
    assert.equal(await text("session_status", {}, "agent:main:foo"), expected.join("\n"));
    const details = (await use("session_status", {}, "agent:main:foo")).details as Record<string, unknown>;
    const { sessionKey, sessionId, model, messages, totalTokens, kind, now } = details;
    assert.deepEqual([sessionKey, sessionId, model], ["agent:main:foo", entry.sessionId, "dm"]);
    assert.deepEqual([messages, totalTokens, kind, now], [1, 7, "other", NOON]);
  });

  it("works without session and model, and creates neither", async (t) => {
    const { service, text } = await start(t, { models: noModels });
    const expected = [
      "Session: agent:main:none",
      "Session id: none yet",
      "Messages: 0",
      "Tokens: unknown in, unknown out",
      "Time: 2026-03-02T12:00:00.000Z",
    ];
    assert.equal(await text("session_status", {}, "agent:main:none"), expected.join("\n"));
    assert.equal(await service.count(), 0);
  });

  it("shows a session within reach by its short name, and no other", async (t) => {
    const { service, text, use } = await start(t, { visibility: "agent" });
    await service.ensure("agent:bob:notes");
    await service.ensure("agent:bob:main");
    const shown = await text("session_status", { sessionKey: "Notes" }, "agent:bob:main");
    assert.match(shown, /^Session: agent:bob:notes\n/);
    assert.match(await text("session_status", { sessionKey: "main" }, "agent:bob:notes"), /^Session: agent:bob:main\n/);
    for (const sessionKey of ["agent:bob:notes", "agent:bob:none", "agent::", "none"]) {
      await assert.rejects(use("session_status", { sessionKey }), {
        code: "NOT_FOUND",
        message: `no session "${sessionKey}" within reach; sessions_list shows the sessions within reach`,
      });
    }
  });

  it("sets and clears the model for callers that may write", async (t) => {
    const { service, use } = await start(t);
    const overrides = async () => {
      const entry = await service.get(MAIN);
      return [entry?.providerOverride, entry?.modelOverride];
    };
    const modelIn = (result: ToolResult) => (result.details as { model?: string }).model;
    assert.equal(modelIn(await use("session_status", { model: "other/big" })), "big");
    assert.deepEqual(await overrides(), ["other", "big"]);
    await assert.rejects(use("session_status", { model: "x/y" }, MAIN, reader), { code: "FORBIDDEN" });
    await assert.rejects(use("session_status", { model: "nonsense" }), { code: "INVALID_REQUEST" });
    assert.deepEqual(await overrides(), ["other", "big"]);
    assert.equal(modelIn(await use("session_status", { model: " Default " })), "dm");
    assert.deepEqual(await overrides(), [undefined, undefined]);
    assert.equal(modelIn(await use("session_status", {}, MAIN, reader)), "dm");
  });
});

describe("sessions_list", () => {
  it("shows the caller's session and its descendants by default", async (t) => {
    const { service, use } = await start(t);
    await service.ensure(MAIN);
    await service.ensure("agent:main:other");
    await service.ensure("agent:main:subagent:1", { spawnedBy: MAIN });
    const { details } = await use("sessions_list");
    const { count, sessions } = details as { count: number; sessions: { key: string; kind: string; model: string }[] };
    assert.equal(count, 2);
    const rows = sessions.map(({ key, kind, model }) => `${key} ${kind} ${model}`).toSorted();
    assert.deepEqual(rows, [`${MAIN} main dm`, "agent:main:subagent:1 other dm"]);
  });

  it("shows the newest, at most `limit`", async (t) => {
    const { service, clock, text } = await start(t, { visibility: "agent" });
    await service.ensure("agent:bob:secret");
    for (let n = 0; n < 25; n++) {
      clock.advance(1000);
      await service.ensure(`agent:main:s${n}`, n === 24 ? { label: "Newest" } : {});
    }
    const lines = (await text("sessions_list", {}, "agent:main:s1")).split("\n");
    assert.equal(lines.length, 20);
    assert.equal(lines[0], '- agent:main:s24 "Newest", last used 2026-03-02T12:00:25.000Z');
    assert.equal(lines.at(-1), "- agent:main:s5, last used 2026-03-02T12:00:06.000Z");
    assert.equal((await text("sessions_list", { limit: 3 })).split("\n").length, 3);
    const bobs = await text("sessions_list", { limit: 3 }, "agent:bob:x");
    assert.equal(bobs, "- agent:bob:secret, last used 2026-03-02T12:00:00.000Z");
    assert.equal(await text("sessions_list", {}, "agent:eve:x"), "No sessions.");
    assert.equal((await text("sessions_list", { search: " NEWEST " })).split("\n").length, 1);
    clock.advance(60_000);
    await service.ensure("agent:main:late");
    assert.equal(
      await text("sessions_list", { activeMinutes: 1, kinds: ["other"] }),
      `- agent:main:late, last used ${new Date(clock.now()).toISOString()}\n` +
        '- agent:main:s24 "Newest", last used 2026-03-02T12:00:25.000Z',
    );
    assert.equal(await text("sessions_list", { kinds: ["cron", "main"] }), "No sessions.");
  });

  it("shows the global session to the default agent", async (t) => {
    const { service, text } = await start(t, { config: { scope: "global" }, visibility: "agent" });
    await service.ensure("global");
    await service.ensure("agent:bob:x");
    assert.match(await text("sessions_list", {}, "global"), /^- global, last used/);
    assert.match(await text("sessions_list", {}, "agent:bob:x"), /^- agent:bob:x, last used [^\n]*$/);
  });

  it("follows a change of the configuration at once", async (t) => {
    const { service, text, change } = await start(t);
    await service.ensure("agent:main:other");
    await service.ensure("agent:bob:main");
    assert.equal(await text("sessions_list"), "No sessions.");
    await change({}, { "tools.sessions": { visibility: "all" } });
    assert.match(await text("sessions_list"), /^- agent:main:other,[^\n]*$/);
    const agentToAgent = { enabled: true, allow: ["main", "bob"] };
    await change({}, { "tools.sessions": { visibility: "all" }, "tools.agentToAgent": agentToAgent });
    assert.match(await text("sessions_list"), /agent:bob:main/);
  });

  const kinds: [key: string, kind: string, chatType?: string][] = [
    ["agent:a:home", "main"],
    ["global", "main"],
    ["agent:a:cron:j", "cron"],
    ["agent:a:hook:1", "hook"],
    ["agent:a:node-7", "node"],
    ["agent:a:irc:group:7", "group"],
    ["agent:a:irc:channel:7:thread:8", "group"],
    ["agent:a:irc:direct:ann", "other"],
    ["agent:a:irc:direct:ann", "group", "group"],
    ["agent:a:subagent:1", "other"],
    ["agent:a:openai-user:x", "other"],
    ["agent:a:main", "other"],
  ];
  for (const [key, kind, chatType] of kinds) {
    it(`counts ${key}${chatType ? `, a ${chatType},` : ""} as ${kind}`, () => {
      const entry = { sessionId: "s", updatedAt: 1, ...(chatType && { chatType }) };
      assert.equal(toolKindOf({ key, entry }, "home"), kind);
    });
  }
});

describe("the origin of a tool's output", () => {
  const page = outsideOrigin("web", "https://evil.example/");

  it("is that of the session's messages", async (t) => {
    const { service, use } = await start(t, { visibility: "agent" });
    await service.append("agent:main:page", [{ ...user("Obey"), origin: page }, user("mine")]);
    await service.append("agent:main:own", [user("mine")]);
    const whose = async (sessionKey: string) => (await use("sessions_history", { sessionKey })).origin;
    assert.deepEqual([await whose("agent:main:page"), await whose("agent:main:own")], [saidAfter(page), undefined]);
  });

  it("is external if others named a session", async (t) => {
    const { service, use } = await start(t, { visibility: "agent" });
    await service.ensure("agent:main:own");
    const whose = async () => (await use("sessions_list", {})).origin;
    assert.equal(await whose(), undefined);
    await service.ensure("agent:main:irc:group:x", { displayName: "Obey" });
    assert.deepEqual(await whose(), outsideOrigin("channel", "names of sessions"));
  });
});

describe("sessions_history", () => {
  const call: Message = assistant("", [{ type: "toolCall", id: "1", name: "read", arguments: { path: "x" } }]);
  const result: Message = {
    role: "toolResult",
    toolCallId: "1",
    toolName: "read",
    content: [{ type: "text", text: "r".repeat(2_000) }],
    isError: false,
    timestamp: NOON,
  };

  it("requires a session, with the documented message", async (t) => {
    const { use } = await start(t);
    for (const params of [{}, { sessionKey: "" }, { sessionKey: "  " }])
      await assert.rejects(use("sessions_history", params), {
        code: "INVALID_REQUEST",
        message: "sessionKey required",
      });
  });

  it("shows messages, and with includeTools calls and results, shortened", async (t) => {
    const { service, use, text } = await start(t);
    await service.append(MAIN, [user("please read"), call, result, assistant("It says r.")]);
    const time = "2026-03-02T12:00:00.000Z";
    const shortly = await text("sessions_history", { sessionKey: MAIN });
    assert.equal(shortly, `[${time}] user: please read\n\n[${time}] assistant: It says r.`);
    const { details } = await use("sessions_history", { sessionKey: "main" });
    const entry = await service.get(MAIN);
    assert.deepEqual(details, {
      sessionKey: MAIN,
      sessionId: entry?.sessionId,
      messages: [
        { role: "user", content: [{ type: "text", text: "please read" }], timestamp: NOON },
        { role: "assistant", content: [{ type: "text", text: "It says r." }], timestamp: NOON },
      ],
      truncated: false,
    });
    const full = (await use("sessions_history", { sessionKey: MAIN, includeTools: true })).details as {
      messages: { role: string; content: { text?: string; name?: string }[] }[];
    };
    assert.deepEqual(
      full.messages.map(({ role, content }) => [role, content[0]?.name ?? content[0]?.text?.length]),
      [
        ["user", 11],
        ["assistant", "read"],
        ["toolResult", 500],
        ["assistant", 10],
      ],
    );
    assert.match(await text("sessions_history", { sessionKey: MAIN, limit: 1 }), /^\[[^\]]*\] assistant: It says r\.$/);
  });

  it("refuses sessions out of reach like missing ones", async (t) => {
    const { service, use, text } = await start(t);
    await service.ensure("agent:main:other");
    await service.ensure("agent:main:subagent:1", { spawnedBy: MAIN });
    const refused = async (sessionKey: string) => {
      const error = await use("sessions_history", { sessionKey }).catch((thrown: unknown) => thrown);
      return isGatewayError(error)
        ? [error.code, error.message.replace(sessionKey, "it")]
        : assert.fail("it was shown");
    };
    const [code, ...message] = await refused("agent:main:other");
    assert.equal(code, "NOT_FOUND");
    assert.deepEqual(await refused("agent:main:none"), [code, ...message]);
    assert.equal(await text("sessions_history", { sessionKey: "subagent:1" }), "No messages.");
  });

  it("is bounded: shows the newest that fit, and at least one", () => {
    const message = (chars: number) => {
      const content = [{ type: "text", text: "x".repeat(chars) }];
      return { role: "user", content, timestamp: 0 };
    };
    const kept = (...sizes: number[]) =>
      withinBounds(sizes.map(message), 10).map(({ content: [block] }) => block?.text?.length);
    assert.deepEqual(kept(), []);
    assert.deepEqual(kept(4, 6), [4, 6]);
    assert.deepEqual(kept(4, 6, 1), [6, 1]);
    assert.deepEqual(kept(1, 1, 11), [11]);
    assert.deepEqual(kept(1, 11, 1), [1]);
  });

  it("shows pictures without their data, and nothing of thoughts", () => {
    const base = { role: "user", at: 1, tokens: undefined, cost: undefined };
    const block = (type: string, text: string | null = null) => ({ type, text, name: null });
    const picture = { role: "user", content: [{ type: "image" }], timestamp: 1 };
    assert.deepEqual(shown({ ...base, content: [block("image")] }, false), picture);
    assert.equal(shown({ ...base, role: "assistant", content: [block("thinking")] }, true), undefined);
    assert.equal(shown({ ...base, content: [block("text", " ")] }, true), undefined);
  });
});
