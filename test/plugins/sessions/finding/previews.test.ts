import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { previewItem, previewSessions } from "../../../../plugins/sessions/finding/previews.ts";
import { canonicalKey as canonical } from "../../../../plugins/sessions/keys-routing/keys.ts";
import type { Excerpt, Transcripts } from "../../../../plugins/sessions/transcripts/transcripts.ts";
import { assistant, NOON, openStore, user } from "../open-store.ts";

const rules = { defaultAgentId: "main", mainKey: "main", scope: "per-sender" } as const;
const context = { now: NOON, canonicalKey: (key: string) => canonical(key, rules) };

const text = (text: string) => ({ type: "text", text, name: null });
const tool = (name: string) => ({ type: "toolCall", text: null, name });
const image = { type: "image", text: null, name: null };
const item = (role: string, ...content: Excerpt["content"]) => previewItem({ role, content }, 20);

describe("previewSessions", () => {
  it("has a preview for every key in order, valid or not", async (t) => {
    const { store, transcripts } = await openStore(t);
    await store.append("agent:main:foo", [user("hi"), assistant("hello")]);
    await store.ensure("agent:main:silent");
    const keys = ["none", "Foo", " ", "agent:broken", "silent", "x".repeat(600)];
    const { ts, previews } = await previewSessions(transcripts, { keys }, context);
    assert.equal(ts, NOON);
    const items = [
      { role: "user", text: "hi" },
      { role: "assistant", text: "hello" },
    ];
    assert.deepEqual(previews, [
      { key: "none", status: "missing", items: [] },
      { key: "Foo", status: "ok", items },
      { key: "agent:broken", status: "missing", items: [] },
      { key: "silent", status: "empty", items: [] },
      { key: "x".repeat(600), status: "missing", items: [] },
    ]);
  });

  it("reports a session that cannot be read, and still shows the others", async (t) => {
    const { store, transcripts } = await openStore(t);
    await store.append("agent:main:foo", [user("hi")]);
    const excerpts: Transcripts["excerpts"] = (key, limit, maxChars) =>
      key === "agent:main:bad" ? Promise.reject(new Error("disk")) : transcripts.excerpts(key, limit, maxChars);
    const broken = Object.create(transcripts, { excerpts: { value: excerpts } }) as Transcripts;
    const { previews } = await previewSessions(broken, { keys: ["bad", "foo"] }, context);
    assert.deepEqual([previews.length, previews[0]?.status, previews[1]?.status], [2, "error", "ok"]);
  });

  it("shows 12 messages, at most 50, and cuts texts to 240, at most 2000", async (t) => {
    const { store, transcripts } = await openStore(t);
    const many = Array.from({ length: 60 }, () => user("y".repeat(3000)));
    await store.append("agent:main:foo", many);
    const items = async (params: object) =>
      (await previewSessions(transcripts, { keys: ["foo"], ...params }, context)).previews[0]?.items ?? [];
    const sizes = async (params: object) => {
      const shown = await items(params);
      return [shown.length, shown[0]?.text.length];
    };
    assert.deepEqual(await sizes({}), [12, 240]);
    assert.deepEqual(await sizes({ limit: 2, maxChars: 20 }), [2, 20]);
    assert.deepEqual(await sizes({ limit: 500, maxChars: 5000 }), [50, 2000]);
    assert.ok((await items({}))[0]?.text.endsWith("y…"));
  });

  it("uses the first 64 keys", async (t) => {
    const { transcripts } = await openStore(t);
    const keys = Array.from({ length: 70 }, (_, n) => `k${n}`);
    const { previews } = await previewSessions(transcripts, { keys: [" ", ...keys] }, context);
    const shown = previews.map(({ key }) => key);
    assert.deepEqual(shown, keys.slice(0, 64));
  });
});

describe("previewItem", () => {
  const rows: [what: string, item: object | undefined, expected: object | undefined][] = [
    ["the texts of a message", item("user", text(" a"), image, text("b ")), { role: "user", text: "ab" }],
    ["a tool result as tool", item("toolResult", text("out")), { role: "tool", text: "out" }],
    ["a system message", item("system", text("s")), { role: "system", text: "s" }],
    ["any other role as other", item("weird", text("s")), { role: "other", text: "s" }],
    ["tool calls", item("assistant", tool("a"), tool("b"), tool("c")), { role: "assistant", text: "call a, b +1" }],
    ["one image", item("user", image), { role: "user", text: "[image]" }],
    ["images", item("user", image, image), { role: "user", text: "[2 images]" }],
    ["cut texts", item("user", text("x".repeat(30))), { role: "user", text: `${"x".repeat(19)}…` }],
    ["no thoughts", item("assistant", { type: "thinking", text: null, name: null }), undefined],
  ];
  for (const [what, item, expected] of rows) it(`shows ${what}`, () => assert.deepEqual(item, expected));
});
