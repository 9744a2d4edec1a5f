import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { RunOutcome, RunState } from "@svc/sdk/agents";
import { chat } from "@svc/sdk/chat";
import type { AssistantMessage, Message, UserMessage } from "@svc/sdk/models";
import { matches, type ParamsOf } from "@svc/sdk";
import type { TranscriptItem, TranscriptPage } from "@svc/sdk/sessions";
import { publishedViolations } from "../../published.ts";
import * as history from "../../../plugins/chat/history.ts";
import { createHistory } from "../../../plugins/chat/reading.ts";

const user: UserMessage = { role: "user", content: [{ type: "text", text: "hi" }], timestamp: 1 };
const assistant: AssistantMessage = {
  role: "assistant",
  content: [{ type: "text", text: "hello" }],
  api: "a",
  provider: "p",
  model: "m",
  usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2 },
  stopReason: "stop",
  timestamp: 2,
};
const saying = (text: string): AssistantMessage => ({ ...assistant, content: [{ type: "text", text }] });
const items = (...messages: Message[]) => messages.map((message, index) => ({ id: String(index), message }));
const shownList = (list: readonly TranscriptItem[], view?: history.View, firstKept: readonly string[] = []) =>
  history.shownPage({ items: list, hasMore: false, firstKept }, view).messages;
const shown = (message: Message) => shownList(items(message))[0];
/** Rows without their identity. */
const plain = (rows: readonly Record<string, unknown>[]) => rows.map(({ __svc, ...row }) => row);
const shownContent = (message: Message) => shown(message)?.["content"];
const long = "x".repeat(history.MAX_TEXT_CHARS + 1);
const cut = "x".repeat(history.MAX_TEXT_CHARS) + history.TRUNCATION_MARKER;

describe("chat.history", () => {
  it("shows messages oldest first without usage, cost, details and thinkingSignature", () => {
    const thinking = { type: "thinking", thinking: "hm", thinkingSignature: "s" } as const;
    const stored = { ...assistant, content: [thinking], cost: 1, details: {} };
    const { usage: _usage, ...rest } = assistant;
    const expected = [user, { ...rest, content: [{ type: "thinking", thinking: "hm" }] }];
    assert.deepEqual(plain(shownList(items(user, stored))), expected);
  });

  it("cuts text, thinking, arguments and partial JSON at 12000 characters with a marker", () => {
    const args = { path: "a", lines: [long] };
    const call = { type: "toolCall", id: "1", name: "write", arguments: args, partialJson: long } as const;
    const content = [{ type: "text", text: long }, { type: "thinking", thinking: long }, call] as const;
    assert.deepEqual(shownContent({ ...assistant, content }), [
      { type: "text", text: cut },
      { type: "thinking", thinking: cut },
      { ...call, arguments: { path: "a", lines: [cut] }, partialJson: cut },
    ]);
    assert.deepEqual(shownContent(saying("x".repeat(12_000))), [{ type: "text", text: "x".repeat(12_000) }]);
  });

  it("drops the data of images and reports its length", () => {
    const content = [{ type: "image", data: "aGVsbG8=", mimeType: "image/png" }] as const;
    assert.deepEqual(shownContent({ ...user, content }), [
      { type: "image", mimeType: "image/png", omitted: true, bytes: 8 },
    ]);
  });

  it("drops assistant messages that are only NO_REPLY, and no others", () => {
    const call = { type: "toolCall", id: "1", name: "t", arguments: {} } as const;
    const withCall = { ...assistant, content: [{ type: "text", text: "NO_REPLY" }, call] as const };
    const asked = { ...user, content: [{ type: "text", text: "NO_REPLY" }] as const };
    const kept = shownList(items(saying(" NO_REPLY "), withCall, asked, saying("NO_REPLY needed")));
    const roles = kept.map(({ role }) => role);
    assert.deepEqual(roles, ["assistant", "user", "assistant"]);
  });

  it("removes directive tags, and the time stamp before a user's text", () => {
    assert.deepEqual(shownContent(saying("[[reply_to_current]] ok")), [{ type: "text", text: "ok" }]);
    const stamped = { ...user, content: [{ type: "text", text: "[Mon 2026-03-02 09:15 GMT+1] hi" }] as const };
    assert.deepEqual(shownContent(stamped), [{ type: "text", text: "hi" }]);
  });

  it("replaces a message of more than 131072 bytes", () => {
    const content = Array.from({ length: 12 }, () => ({ type: "text", text: "y".repeat(11_990) }) as const);
    const placeholder = [{ type: "text", text: history.OVERSIZED_TEXT }];
    const __svc = { truncated: true, reason: "oversized", id: "0" };
    const expected = { role: "assistant", timestamp: 2, content: placeholder, __svc };
    assert.deepEqual(shown({ ...assistant, content }), expected);
    assert.notDeepEqual(shownContent({ ...assistant, content: content.slice(0, 10) }), placeholder);
  });

  it("drops the oldest until the list fits into 6291456 bytes", () => {
    const content = Array.from({ length: 10 }, () => ({ type: "text", text: "z".repeat(12_000) }) as const);
    const messages = Array.from({ length: 80 }, (_, index) => ({ ...user, content, timestamp: index }));
    const kept = shownList(items(...messages));
    assert.ok(Buffer.byteLength(JSON.stringify(kept)) <= history.MAX_LIST_BYTES);
    assert.ok(kept.length > 40 && kept.length < 80, `${kept.length} messages`);
    assert.equal(kept.at(-1)?.["timestamp"], 79);
  });

  it("marks the last compaction if it is in the shown part", () => {
    const talk = items(user, assistant, user, assistant);
    const content = [{ type: "text", text: "Compaction" }];
    const mark = { role: "system", content, timestamp: 1, __svc: { kind: "compaction", id: "compaction-2" } };
    const marks = (...firstKept: string[]) =>
      shownList(talk, { marksLast: true }, firstKept).filter(({ role }) => role === "system");
    assert.deepEqual(marks("2"), [mark]);
    assert.deepEqual(marks("1", "2"), [mark]);
    assert.deepEqual(marks("0"), [], "it lies before what is shown");
    assert.deepEqual(marks(), []);
  });

  it("gives each row its identity, under each name of the product", () => {
    const asked = { ...user, idempotencyKey: "r1:user" };
    const svcAbort = { aborted: true, origin: "rpc", runId: "r1" } as const;
    const view = { aliases: ["openclaw", "other"] };
    const row = history.historyRow({ id: "a", seq: 7, message: asked }, view);
    const identity = { id: "a", seq: 7 };
    assert.deepEqual(row, { ...asked, __svc: identity, __openclaw: identity, __other: identity });
    assert.deepEqual(history.historyRow({ id: "b", seq: 8, message: { ...assistant, svcAbort } })?.["__svc"], {
      id: "b",
      seq: 8,
      runId: "r1",
      runTerminal: true,
    });
    const step = history.historyRow({ id: "d", seq: 9, message: { ...assistant, runId: "r2", stopReason: "toolUse" } });
    assert.deepEqual([step?.["__svc"], step?.["runId"]], [{ id: "d", seq: 9, runId: "r2" }, undefined]);
    assert.equal(history.historyRow({ id: "c", message: saying("NO_REPLY") }), undefined);
    const [mark] = shownList([{ id: "a", message: user }], view, ["a"]);
    assert.deepEqual(mark?.["__openclaw"], { kind: "compaction", id: "compaction-a" });
  });

  it("keeps the key of a message that is too large", () => {
    const content = Array.from({ length: 12 }, () => ({ type: "text", text: long }) as const);
    const row = shown({ ...user, content, idempotencyKey: "r1:user" });
    assert.equal(row?.["idempotencyKey"], "r1:user");
  });

  it("drops the oldest until the list fits into fewer bytes, but never the last", () => {
    const talk = items(...Array.from({ length: 20 }, () => saying("x".repeat(300))), saying("y".repeat(9_000)));
    for (const maxBytes of [1024, 4_000, 12_000]) {
      const list = shownList(talk, { maxBytes, aliases: ["openclaw"] });
      const bytes = Buffer.byteLength(JSON.stringify(list));
      assert.ok(list.length > 0 && list.length < talk.length && bytes <= maxBytes, `${list.length} in ${bytes} bytes`);
    }
  });
});

describe("a page of chat.history", () => {
  const page = (messages: readonly Message[], firstKept: readonly string[] = []) =>
    history.shownPage({ items: items(...messages), hasMore: false, firstKept });

  it("has ids, and a mark at every compaction", () => {
    const { messages, isCut } = page([user, assistant, user], ["1", "2"]);
    const ids = messages.map(({ role, __svc }) => [role, Object(__svc).id]);
    assert.deepEqual(ids, [
      ["user", "0"],
      ["system", "compaction-1"],
      ["assistant", "1"],
      ["system", "compaction-2"],
      ["user", "2"],
    ]);
    assert.equal(isCut, false);
  });

  it("names the first message that fits, and keeps the id of one that is too large", () => {
    const large = { ...user, content: Array.from({ length: 12 }, () => ({ type: "text", text: long }) as const) };
    assert.deepEqual(page([large]).messages[0]?.["__svc"], { truncated: true, reason: "oversized", id: "0" });
    const many = Array.from({ length: 60 }, () => ({ ...large, content: large.content.slice(0, 10) }));
    const { isCut, firstShown, messages } = page(many);
    assert.equal(isCut, true);
    assert.equal(firstShown, String(60 - messages.length));
  });

  it("cuts texts where the caller wants", () => {
    const item = { items: items(saying(long)), hasMore: false, firstKept: [] };
    const [message] = history.shownPage(item, { maxChars: 20_000 }).messages;
    assert.deepEqual(message?.["content"], [{ type: "text", text: long }]);
  });
});

describe("reading a conversation", () => {
  const SESSION = {
    key: "agent:main:main",
    kind: "direct",
    sessionId: "s1",
    updatedAt: 1,
    totalTokensFresh: false,
  } as const;

  /** A session with `page`, and what it was asked for. */
  function open(page: Partial<TranscriptPage> = {}, states: readonly RunState[] = []) {
    const asked: object[] = [];
    const outcomes: Record<string, Partial<RunOutcome>> = {};
    const { history: ask, startup } = createHistory({
      sessions: {
        canonicalKey: (key) => (key.includes(":") || key === "global" ? key : `agent:main:${key}`),
        agentOf: (key) => key.split(":")[1] ?? "main",
        row: async (key) =>
          key === SESSION.key ? { ...SESSION, thinkingLevel: "low", verboseLevel: "full" } : undefined,
        async page(_key, options) {
          asked.push(options);
          return { items: items(user), oldestId: "0", hasMore: false, firstKept: [], offset: 0, lastSeq: 9, ...page };
        },
      },
      runs: {
        active: () => [{ runId: "r", sessionKey: "main", source: "chat", status: "running", startedAt: 7 }],
        state: async (runId) => states.find((state) => state.runId === runId),
        wait: async (runId) => outcomes[runId] as RunOutcome | undefined,
      },
      models: { get: () => undefined },
      info: { aliases: ["openclaw"] },
    });
    const call = (params: object) => ({ params }) as unknown as Parameters<typeof ask>[0]; // the field that is read
    return {
      asked,
      outcomes,
      history: async (params: Partial<ParamsOf<typeof chat.history>> = {}) =>
        ask(call({ sessionKey: "main", ...params })),
      startup: async (params: object = {}) => startup(call({ sessionKey: "main", ...params })),
    };
  }

  it("says how to read on, and what the session is", async () => {
    const { history, asked } = open({ hasMore: true });
    const result = await history({ limit: 1 });
    assert.deepEqual(Object.keys(result), [
      "sessionKey",
      "sessionId",
      "messages",
      "hasMore",
      "nextOffset",
      "totalMessages",
      "thinkingLevel",
      "verboseLevel",
      "defaults",
      "sessionInfo",
    ]);
    assert.deepEqual([result.nextOffset, result.totalMessages, result.thinkingLevel], [1, 9, "low"]);
    assert.deepEqual(result.defaults, { modelProvider: null, model: null, contextTokens: null });
    assert.deepEqual(publishedViolations("SessionRow", result.sessionInfo), []);
    assert.ok(matches(chat.history.result, result));
    assert.deepEqual(asked, [{ limit: 1 }]);
  });

  it("has active runs and the oldest id with `ids`, `before` and in chat.startup", async () => {
    const { history, startup, asked } = open({ hasMore: true });
    const results = [await history({ ids: true }), await history({ before: "1" }), await startup()];
    for (const { hasMore, oldestId, activeRuns } of results)
      assert.deepEqual([hasMore, oldestId, activeRuns], [true, "0", [{ runId: "r", startedAt: 7 }]]);
    assert.ok(matches(chat.startup.result, results[2]));
    assert.deepEqual(asked, [{ limit: 200 }, { limit: 200, before: "1" }, { limit: 200 }]);
  });

  it("begins at an offset or around a message, and counts on from there", async () => {
    const { history, asked } = open({ hasMore: true, offset: 40 });
    const { offset, nextOffset } = await history({ offset: 40, limit: 20 });
    assert.deepEqual([offset, nextOffset], [40, 60]);
    assert.equal((await history({ messageId: "x", limit: 20 })).offset, 40);
    assert.deepEqual(asked, [
      { limit: 20, offset: 40 },
      { limit: 20, around: "x" },
    ]);
    await assert.rejects(history({ offset: 1, before: "x" }), { code: "INVALID_REQUEST" });
  });

  it("counts only what was shown of a page that was too large", async () => {
    const texts = Array.from({ length: 30 }, () => saying("x".repeat(300)));
    const { history } = open({ items: items(...texts), offset: 5 });
    const { messages, hasMore, nextOffset } = await history({ offset: 5, maxBytes: 4_000 });
    assert.ok(messages.length > 1 && messages.length < 30);
    assert.deepEqual([hasMore, nextOffset], [true, 5 + messages.length]);
  });

  it("refuses another agent and another conversation", async () => {
    const { history } = open();
    await assert.rejects(history({ agentId: "other" }), { code: "INVALID_REQUEST" });
    await assert.rejects(history({ sessionId: "s0" }), { code: "NOT_FOUND" });
    assert.equal((await history({ agentId: "Main", sessionId: "s1" })).sessionId, "s1");
    assert.deepEqual((await history({ sessionKey: "global", agentId: "other" })).messages.length, 1);
  });

  it("tells what became of messages: stored, merged, waiting, or nothing", async () => {
    const state = (runId: string, status: RunState["status"], sessionKey: string = SESSION.key) =>
      ({ runId, status, sessionKey, source: "chat" }) as const;
    const states = [
      state("r2", "aborted"),
      state("r3", "accepted"),
      state("r4", "ok"),
      state("r5", "accepted", "agent:main:other"),
    ];
    const { history, outcomes } = open({ items: items({ ...user, idempotencyKey: "r1:user" }) }, states);
    outcomes["r2"] = { mergedInto: "r1" };
    const inputRunIds = ["r1", "r2", "r3", "r4", "r5", "r6"];
    assert.deepEqual((await history({ inputRunIds })).inputReceipts, [
      { runId: "r1", state: "consumed", consumedByEventId: "0" },
      { runId: "r2", state: "consumed", consumedByEventId: "0" },
      { runId: "r3", state: "pending" },
    ]);
  });
});
