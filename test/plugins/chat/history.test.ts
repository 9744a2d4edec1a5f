import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AssistantMessage, Message, UserMessage } from "@svc/sdk/models";
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
const shown = (message: Message) => history.shownHistory(items(message))[0];
const shownContent = (message: Message) => shown(message)?.["content"];
const long = "x".repeat(history.MAX_TEXT_CHARS + 1);
const cut = "x".repeat(history.MAX_TEXT_CHARS) + history.TRUNCATION_MARKER;

describe("chat.history", () => {
  it("shows messages oldest first without usage, cost, details and thinkingSignature", () => {
    const thinking = { type: "thinking", thinking: "hm", thinkingSignature: "s" } as const;
    const stored = { ...assistant, content: [thinking], cost: 1, details: {} };
    const { usage: _usage, ...rest } = assistant;
    const expected = [user, { ...rest, content: [{ type: "thinking", thinking: "hm" }] }];
    assert.deepEqual(history.shownHistory(items(user, stored)), expected);
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
    const kept = history.shownHistory(items(saying(" NO_REPLY "), withCall, asked, saying("NO_REPLY needed")));
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
    const __svc = { truncated: true, reason: "oversized" };
    const expected = { role: "assistant", timestamp: 2, content: placeholder, __svc };
    assert.deepEqual(shown({ ...assistant, content }), expected);
    assert.notDeepEqual(shownContent({ ...assistant, content: content.slice(0, 10) }), placeholder);
  });

  it("drops the oldest until the list fits into 6291456 bytes", () => {
    const content = Array.from({ length: 10 }, () => ({ type: "text", text: "z".repeat(12_000) }) as const);
    const messages = Array.from({ length: 80 }, (_, index) => ({ ...user, content, timestamp: index }));
    const kept = history.shownHistory(items(...messages));
    assert.ok(Buffer.byteLength(JSON.stringify(kept)) <= history.MAX_LIST_BYTES);
    assert.ok(kept.length > 40 && kept.length < 80, `${kept.length} messages`);
    assert.equal(kept.at(-1)?.["timestamp"], 79);
  });

  it("marks the last compaction if it is in the shown part", () => {
    const talk = items(user, assistant, user, assistant);
    const context = { summary: "notes", items: talk.slice(2) };
    const content = [{ type: "text", text: "Compaction" }];
    const mark = { role: "system", content, timestamp: 1, __svc: { kind: "compaction", id: "compaction-2" } };
    const rows = history.shownHistory(talk, history.compactionIn(context, 200));
    assert.deepEqual([rows.length, rows[2]], [5, mark]);
    assert.equal(history.compactionIn(context, 2), undefined, "it lies before what is shown");
    assert.equal(history.compactionIn({ ...context, summary: undefined }, 200), undefined);
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
    const [message] = history.shownPage(item, 20_000).messages;
    assert.deepEqual(message?.["content"], [{ type: "text", text: long }]);
  });

  it("is read with `ids` or `before`; without both, the result has no new field", async () => {
    const asked: object[] = [];
    const read = createHistory({
      sessions: {
        canonicalKey: (key) => key,
        get: async () => undefined,
        context: async () => ({ items: items(user), summary: undefined }),
        transcript: async () => [],
        async page(_key, options) {
          asked.push(options);
          return { items: items(user), oldestId: "0", hasMore: true, firstKept: [] };
        },
      },
      runs: { active: () => [{ runId: "r", sessionKey: "main", source: "chat", status: "running", startedAt: 7 }] },
    });
    const ask = (params: object) =>
      read({ params: { sessionKey: "main", ...params } } as unknown as Parameters<typeof read>[0]); // the fields that are read
    assert.deepEqual(Object.keys(await ask({})), ["sessionKey", "messages", "thinkingLevel"]);
    for (const params of [{ ids: true }, { before: "1" }, { before: "1", ids: false }]) {
      const { hasMore, oldestId, activeRuns } = await ask(params);
      assert.deepEqual([hasMore, oldestId, activeRuns], [true, "0", [{ runId: "r", startedAt: 7 }]]);
    }
    assert.deepEqual(asked, [{ limit: 200 }, { limit: 200, before: "1" }, { limit: 200, before: "1" }]);
  });
});
