import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { outsideOrigin } from "@svc/sdk";
import type { TranscriptItem } from "@svc/sdk/sessions";
import type { Storage } from "@svc/sdk/storage";
import { listSessions } from "../../../../plugins/sessions/finding/listing.ts";
import { previewSessions } from "../../../../plugins/sessions/finding/previews.ts";
import { assistant, NOON, openStore, user } from "../open-store.ts";

const KEY = "agent:main:foo";
const texts = (items: readonly TranscriptItem[]) =>
  items.map(({ message }) => message.content.map((block) => ("text" in block ? block.text : "")).join(""));

/** Rows that a torn write or another program may leave. */
function damage(storage: Storage, seq: number, body: string) {
  return storage.transaction([
    { sql: "update transcript set body = ? where seq = ?", params: [body, seq], expectChanges: 1 },
  ]);
}

async function conversation(t: TestContext) {
  const opened = await openStore(t);
  const { ids } = await opened.store.append(KEY, [user("1"), assistant("2"), user("3"), assistant("4")]);
  return { ...opened, ids };
}

describe("the context for a model", () => {
  it("is the last messages without a compaction", async (t) => {
    const { transcripts } = await conversation(t);
    const { summary, items } = await transcripts.context(KEY, 3);
    assert.equal(summary, undefined);
    assert.deepEqual(texts(items), ["2", "3", "4"]);
    assert.deepEqual(await transcripts.context("agent:main:none", 3), { summary: undefined, items: [] });
  });

  it("is the newest summary and the messages since", async (t) => {
    const { store, transcripts, ids } = await conversation(t);
    const compaction = { summary: "so far", firstKeptId: ids[2] ?? "", tokensBefore: 900 };
    await transcripts.addCompaction(KEY, compaction);
    assert.equal((await store.get(KEY))?.["compactionCount"], 1);
    await store.append(KEY, [user("5")]);
    const first = await transcripts.context(KEY, 10);
    assert.deepEqual([first.summary, ...texts(first.items)], ["so far", "3", "4", "5"]);
    assert.deepEqual(texts((await transcripts.context(KEY, 1)).items), ["5"]);
    assert.deepEqual(await transcripts.context(KEY, 0), { summary: "so far", items: [] });

    await transcripts.addCompaction(KEY, { ...compaction, summary: "further", firstKeptId: ids[3] ?? "" });
    const second = await transcripts.context(KEY, 10);
    assert.deepEqual([second.summary, ...texts(second.items)], ["further", "4", "5"]);
    assert.equal((await store.get(KEY))?.["compactionCount"], 2);
    assert.deepEqual(texts(await transcripts.last(KEY, 10)), ["1", "2", "3", "4", "5"], "the messages stay");
  });

  it("begins anew with the session, including its origins", async (t) => {
    const { store, transcripts, ids } = await conversation(t);
    const origin = outsideOrigin("web");
    await transcripts.addCompaction(KEY, { summary: "old", firstKeptId: ids[2] ?? "", tokensBefore: 1, origin });
    await store.restart(KEY, () => ({ sessionId: "new", updatedAt: NOON }));
    assert.deepEqual(await transcripts.context(KEY, 10), { summary: undefined, items: [] });
  });

  it("has the origins of its summary and messages, until the owner trusts them", async (t) => {
    const { storage, store, transcripts, ids } = await conversation(t);
    const origin = outsideOrigin("web", "https://evil.example/");
    const compaction = { summary: "so far", firstKeptId: ids[3] ?? "", tokensBefore: 9, origin };
    await transcripts.addCompaction(KEY, compaction);
    await store.append(KEY, [{ ...user("page"), origin }]);
    const whose = async () => {
      const context = await transcripts.context(KEY, 10);
      return [context.origin, ...context.items.map(({ message }) => message.origin)];
    };
    assert.deepEqual(await whose(), [origin, undefined, origin]);
    await storage.transaction([{ sql: "update compactions set origin = '{torn'" }]);
    assert.deepEqual((await whose())[0], outsideOrigin("gateway", "a damaged summary"));
    await store.update(KEY, { trustedAt: NOON });
    assert.deepEqual(await whose(), [undefined, undefined, undefined]);
  });

  it("survives a cut that removes the first kept message", async (t) => {
    const { transcripts, ids } = await conversation(t);
    await transcripts.addCompaction(KEY, { summary: "so far", firstKeptId: ids[1] ?? "", tokensBefore: 1 });
    await transcripts.cut(KEY, 2);
    const { summary, items } = await transcripts.context(KEY, 10);
    assert.deepEqual([summary, ...texts(items)], ["so far", "3", "4"]);
  });

  it("refuses a compaction with an unknown message, and does not count it", async (t) => {
    const { store, transcripts } = await conversation(t);
    for (const key of [KEY, "agent:main:none"]) {
      const compaction = { summary: "s", firstKeptId: "ffffffff", tokensBefore: 1 };
      await assert.rejects(transcripts.addCompaction(key, compaction), { code: "NOT_FOUND" });
    }
    assert.equal((await store.get(KEY))?.["compactionCount"], undefined);
  });
});

describe("cutting a transcript", () => {
  it("keeps the last messages, their order and seqs, and archives the others", async (t) => {
    const { store, transcripts, storage } = await conversation(t);
    await store.update(KEY, { totalTokens: 9, inputTokens: 5, outputTokens: 4, totalTokensFresh: true, label: "l" });
    const { sessionId } = (await store.get(KEY)) ?? assert.fail();
    const partId = `${sessionId}.bak.2026-03-02T12-00-00.000Z`;
    assert.deepEqual(await transcripts.cut(KEY, 1), { partId, at: NOON, kept: 1 });
    assert.deepEqual(texts(await transcripts.last(KEY, 9)), ["4"]);
    assert.deepEqual(await store.get(KEY), { sessionId, updatedAt: NOON, label: "l" });
    const parts = await storage.all("select session_id, key, reason, part_of from archives");
    assert.deepEqual(parts, [{ session_id: partId, key: KEY, reason: "bak", part_of: sessionId }]);
    const moved = await storage.all("select id from transcript where session_id = ?", [partId]);
    assert.equal(moved.length, 3);

    await store.append(KEY, [user("5")]);
    assert.deepEqual(texts(await transcripts.last(KEY, 9)), ["4", "5"]);
  });

  it("leaves short and empty ones unchanged", async (t) => {
    const { store, transcripts, storage } = await conversation(t);
    assert.deepEqual(await transcripts.cut(KEY, 4), { at: NOON, kept: 4 });
    await store.ensure("agent:main:silent");
    assert.equal(await transcripts.cut("agent:main:silent", 1), undefined);
    assert.deepEqual(await storage.all("select * from archives"), []);
  });

  it("loses no message appended meanwhile", async (t) => {
    const { store, transcripts, storage } = await conversation(t);
    const appends = Array.from({ length: 20 }, (_, n) => store.append(KEY, [user(`m${n}`)]));
    const [cut] = await Promise.all([transcripts.cut(KEY, 2), ...appends]);
    const { sessionId } = (await store.get(KEY)) ?? assert.fail();
    const places = async (id: string) => {
      const sql = "select seq from transcript where session_id = ? order by seq";
      return (await storage.all<{ seq: number }>(sql, [id])).map(({ seq }) => seq);
    };
    const [gone, kept] = [await places(cut?.partId ?? ""), await places(sessionId)];
    const all = Array.from({ length: 24 }, (_, n) => n + 1);
    assert.deepEqual([...gone, ...kept], all, "one end is removed, the other stays");
    assert.ok(gone.length > 0 && kept.length >= 2);
  });
});

describe("rows that cannot be read", () => {
  it("are skipped in a transcript, counted, and logged once", async (t) => {
    const { store, transcripts, storage, damage: log, damaged } = await conversation(t);
    const { sessionId } = (await store.get(KEY)) ?? assert.fail();
    await damage(storage, 2, '{"role":"assistant","content":[{"ty');
    await damage(storage, 3, "null");
    for (let n = 0; n < 3; n++) assert.deepEqual(texts(await transcripts.last(KEY, 9)), ["1", "4"]);
    assert.deepEqual(texts((await transcripts.context(KEY, 9)).items), ["1", "4"]);
    assert.equal(log.count, 2);
    assert.deepEqual(damaged, [
      { sessionId, seq: 2, damaged: 1 },
      { sessionId, seq: 3, damaged: 2 },
    ]);
    const raw = await storage.all("select body from transcript where seq = 2");
    assert.deepEqual(raw, [{ body: '{"role":"assistant","content":[{"ty' }], "reading repairs nothing");
  });

  it("leave previews, lists and cuts working", async (t) => {
    const { store, transcripts, storage, clock } = await conversation(t);
    for (const seq of [1, 4]) await damage(storage, seq, "{torn");
    const context = { now: NOON, canonicalKey: (key: string) => key };
    const { previews } = await previewSessions(transcripts, { keys: [KEY] }, context);
    const items = [
      { role: "assistant", text: "2" },
      { role: "user", text: "3" },
    ];
    assert.deepEqual(previews, [{ key: KEY, status: "ok", items, damaged: 2 }]);
    const defaults = { modelProvider: null, model: null, contextTokens: null };
    const wanted = { includeDerivedTitles: true, includeLastMessage: true };
    const listed = await listSessions({ store, transcripts }, wanted, {
      now: clock.now(),
      modelDefaults: () => defaults,
      rules: { defaultAgentId: "main", mainKey: "main", scope: "per-sender" },
    });
    const [row] = listed.sessions;
    assert.deepEqual([row?.derivedTitle, row?.lastMessagePreview], ["3", "3"]);
    assert.equal((await transcripts.cut(KEY, 2))?.kept, 2);
    await store.append(KEY, [user("5")]);
    assert.deepEqual(texts(await transcripts.last(KEY, 9)), ["3", "5"]);
  });

  it("of an entry lose only its settings, until the next change", async (t) => {
    const { store, storage, transcripts, damaged } = await conversation(t);
    await store.update(KEY, { label: "l", thinkingLevel: "high" });
    const { sessionId } = (await store.get(KEY)) ?? assert.fail();
    await storage.transaction([{ sql: "update sessions set entry = '{\"thin' where key = ?", params: [KEY] }]);
    assert.deepEqual(await store.get(KEY), { sessionId, updatedAt: NOON, label: "l" });
    assert.deepEqual(damaged, [{ key: KEY, damaged: 1 }]);
    assert.equal((await store.page({}, 5)).length, 1);
    assert.deepEqual(await store.page({ spawnedBy: "x" }, 5), []);
    assert.equal((await transcripts.last(KEY, 9)).length, 4);
    const expected = { sessionId, updatedAt: NOON, label: "l", verboseLevel: "on" };
    assert.deepEqual(await store.update(KEY, { verboseLevel: "on" }), expected);
    assert.deepEqual((await store.restart(KEY, () => ({ sessionId: "n", updatedAt: NOON }))).old?.verboseLevel, "on");
  });
});

describe("a page of a transcript", () => {
  it("ends before a message, and says whether there are older ones", async (t) => {
    const { store, transcripts, ids, storage, damaged } = await conversation(t);
    const last = await transcripts.page(KEY, { limit: 3 });
    assert.deepEqual([texts(last.items), last.hasMore, last.oldestId], [["2", "3", "4"], true, ids[1]]);
    const first = await transcripts.page(KEY, { limit: 3, before: last.oldestId ?? "" });
    assert.deepEqual([texts(first.items), first.hasMore, first.oldestId], [["1"], false, ids[0]]);
    const none = await transcripts.page("agent:main:none", { limit: 3 });
    assert.deepEqual(none, { items: [], hasMore: false, firstKept: [], offset: 0 });
    await assert.rejects(transcripts.page(KEY, { limit: 3, before: "ffffffff" }), { code: "NOT_FOUND" });

    await transcripts.addCompaction(KEY, { summary: "s", firstKeptId: ids[2] ?? "", tokensBefore: 1 });
    await transcripts.addCompaction(KEY, { summary: "t", firstKeptId: ids[3] ?? "", tokensBefore: 1 });
    assert.deepEqual((await transcripts.page(KEY, { limit: 9 })).firstKept, [ids[2], ids[3]]);
    await damage(storage, 1, "{torn");
    const whole = await transcripts.page(KEY, { limit: 4 });
    assert.deepEqual([texts(whole.items), whole.oldestId], [["2", "3", "4"], ids[0]], "paging gets past it");
    assert.equal(damaged.length > 0, true);
    await store.restart(KEY, () => ({ sessionId: "new", updatedAt: NOON }));
    await assert.rejects(transcripts.page(KEY, { limit: 3, before: ids[2] ?? "" }), { code: "NOT_FOUND" });
  });

  it("leaves out the newest messages, or has one in its middle; messages keep their numbers", async (t) => {
    const { transcripts, ids } = await conversation(t);
    const read = async (options: object, limit = 2) => {
      const { items, hasMore, offset, lastSeq } = await transcripts.page(KEY, { limit, ...options });
      return [items.map(({ seq }) => seq), hasMore, offset, lastSeq];
    };
    assert.deepEqual(await read({ offset: 1 }), [[2, 3], true, 1, 4]);
    assert.deepEqual(await read({ offset: 2 }), [[1, 2], false, 2, 4]);
    assert.deepEqual(await read({ offset: 9 }), [[], false, 9, undefined]);
    assert.deepEqual(await read({ around: ids[1] }, 3), [[1, 2, 3], false, 1, 4]);
    assert.deepEqual(await read({ around: ids[3] }), [[3, 4], true, 0, 4]);
    await assert.rejects(read({ around: "ffffffff" }), { code: "NOT_FOUND" });
    await transcripts.cut(KEY, 2);
    assert.deepEqual(await read({}, 9), [[3, 4], false, 0, 4]);
  });
});

describe("going back to a message", () => {
  it("archives it and all later ones, and goes on from there", async (t) => {
    const { store, transcripts, storage, ids } = await conversation(t);
    await store.update(KEY, { totalTokens: 9, totalTokensFresh: true });
    assert.deepEqual(await transcripts.message(KEY, ids[2] ?? ""), user("3"));
    await transcripts.rewind(KEY, ids[2] ?? "");
    assert.deepEqual(texts(await transcripts.last(KEY, 9)), ["1", "2"]);
    assert.equal((await store.get(KEY))?.totalTokens, undefined);
    const { sessionId } = (await store.get(KEY)) ?? assert.fail();
    const gone = await storage.all(
      `select t.id from archives a join transcript t on t.session_id = a.session_id
        where a.part_of = ? and a.reason = 'bak' order by t.seq`,
      [sessionId],
    );
    assert.deepEqual(
      gone.map(({ id }) => id),
      ids.slice(2),
    );
    await store.append(KEY, [user("5")]);
    assert.deepEqual(texts((await transcripts.context(KEY, 9)).items), ["1", "2", "5"]);
    assert.equal(await transcripts.message(KEY, ids[2] ?? ""), undefined);
    await assert.rejects(transcripts.rewind(KEY, ids[2] ?? ""), { code: "NOT_FOUND" });
  });

  it("forgets summaries of what left the conversation, and shows the model what is said next", async (t) => {
    const { store, transcripts, ids } = await conversation(t);
    await transcripts.addCompaction(KEY, { summary: "of 1", firstKeptId: ids[2] ?? "", tokensBefore: 1 });
    await transcripts.addCompaction(KEY, { summary: "of 1 to 3", firstKeptId: ids[3] ?? "", tokensBefore: 1 });
    await store.withdraw(KEY, [ids[1] ?? ""], undefined);
    await transcripts.rewind(KEY, ids[2] ?? "");
    await store.append(KEY, [user("5")]);
    const { summary, items } = await transcripts.context(KEY, 9);
    assert.deepEqual([summary, ...texts(items)], ["of 1", "5"]);
  });
});

describe("withdrawn messages", () => {
  const at = async ({ store }: Awaited<ReturnType<typeof conversation>>) => (await store.get(KEY))?.updatedAt;

  it("are removed, the time of last use is restored, and their usage stays counted", async (t) => {
    const opened = await conversation(t);
    const { store, transcripts, storage, clock } = opened;
    for (const text of ["beat", "again"]) {
      clock.advance(60_000);
      const { ids } = await store.append(KEY, [user(text), assistant("well")]);
      const mark = { sql: "update sessions set label = ? where key = ?", params: [text, KEY] };
      await store.withdraw(KEY, ids, NOON, [mark]);
      assert.deepEqual(texts(await transcripts.last(KEY, 10)), ["1", "2", "3", "4"]);
      assert.equal(await at(opened), NOON);
      assert.equal((await store.get(KEY))?.label, text);
    }
    await store.append(KEY, [user("5")]);
    assert.deepEqual(texts(await transcripts.last(KEY, 10)), ["1", "2", "3", "4", "5"]);
    const facts = await storage.all<{ part: string; n: number }>(
      `select coalesce(a.part_of, 'own') as part, count(*) as n from message_facts f
        left join archives a on a.session_id = f.session_id group by part order by n`,
    );
    const { sessionId } = (await store.get(KEY)) ?? assert.fail("no session");
    assert.deepEqual(facts, [
      { part: sessionId, n: 4 },
      { part: "own", n: 5 },
    ]);
  });

  it("leave the time of last use if there is a newer message", async (t) => {
    const opened = await conversation(t);
    const { store, transcripts, clock } = opened;
    clock.advance(60_000);
    const { ids } = await store.append(KEY, [user("beat")]);
    clock.advance(1_000);
    await store.append(KEY, [user("me too")]);
    await store.withdraw(KEY, ids, NOON);
    assert.deepEqual(texts(await transcripts.last(KEY, 2)), ["4", "me too"]);
    assert.equal(await at(opened), NOON + 61_000);
  });

  it("stay if the rest of the transaction conflicts", async (t) => {
    const { store, transcripts, ids } = await conversation(t);
    const conflict = { sql: "update sessions set label = 'x' where key = 'nobody'", params: [], expectChanges: 1 };
    await assert.rejects(store.withdraw(KEY, ids, 1, [conflict]), { code: "CONFLICT" });
    assert.equal((await transcripts.last(KEY, 10)).length, 4);
  });
});
