import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { GatewayError } from "@svc/sdk";
import type { SessionEntry } from "@svc/sdk/sessions";
import type { Storage } from "@svc/sdk/storage";
import { createDamageLog } from "../../../../plugins/sessions/store/damage.ts";
import { SessionStore } from "../../../../plugins/sessions/store/store.ts";
import { assistant, NOON, openStore, openTestStorage, user } from "../open-store.ts";

const KEY = "agent:main:foo";
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const removing = (...fields: string[]): Partial<SessionEntry> =>
  Object.fromEntries(fields.map((field) => [field, undefined]));
const fresh = (sessionId: string) => (old: SessionEntry | undefined) => ({
  sessionId,
  updatedAt: NOON,
  ...(old?.label !== undefined && { label: old.label }),
});

const archives = (storage: Storage) =>
  storage.all("select session_id, key, reason, archived_at from archives order by session_id");

describe("SessionStore entries", () => {
  it("creates a missing session once, with a random id", async (t) => {
    const { store } = await openStore(t);
    assert.equal(await store.get(KEY), undefined);
    const { entry, created } = await store.ensure(KEY, { label: "l", origin: { label: "o" } });
    assert.equal(created, true);
    assert.match(entry.sessionId, UUID);
    assert.deepEqual(entry, { sessionId: entry.sessionId, updatedAt: NOON, label: "l", origin: { label: "o" } });
    assert.deepEqual(await store.ensure(KEY), { entry, created: false });
    assert.deepEqual(await store.get(KEY), entry);
  });

  it("creates one session for concurrent calls", async (t) => {
    const { store } = await openStore(t);
    const all = await Promise.all(Array.from({ length: 20 }, (_, n) => store.ensure(KEY, { [`field${n}`]: n })));
    assert.equal(all.filter(({ created }) => created).length, 1);
    assert.equal(new Set(all.map(({ entry }) => entry.sessionId)).size, 1);
    const entry = await store.get(KEY);
    for (let n = 0; n < 20; n++) assert.equal(entry?.[`field${n}`], n);
  });

  it("merges concurrent patches, removes undefined and replaces objects as a whole", async (t) => {
    const { store, clock } = await openStore(t);
    await store.ensure(KEY, { label: "l", thinkingLevel: "high", deliveryContext: { channel: "irc", to: "bob" } });
    clock.advance(10);
    await Promise.all([
      store.update(KEY, { inputTokens: 3, ...removing("label") }),
      store.update(KEY, { abortedLastRun: false, ...removing("thinkingLevel") }),
      store.update(KEY, { deliveryContext: { channel: "slack" } }),
    ]);
    const { sessionId, ...entry } = (await store.get(KEY)) ?? assert.fail();
    assert.match(sessionId, UUID);
    const expected = { inputTokens: 3, abortedLastRun: false, deliveryContext: { channel: "slack" } };
    assert.deepEqual(entry, { updatedAt: NOON + 10, ...expected });
  });

  it("keeps the columns in step with the entry", async (t) => {
    const { store } = await openStore(t);
    await store.ensure(KEY, { label: "one" });
    await store.update(KEY, { label: "two" });
    assert.deepEqual(await store.page({ label: "one" }, 5), []);
    assert.equal((await store.page({ label: "two" }, 5)).length, 1);
    assert.equal((await store.update(KEY, { updatedAt: 5 })).updatedAt, 5);
  });

  it("treats a session id in a patch as a condition, and updates no missing session", async (t) => {
    const { store } = await openStore(t);
    await store.ensure(KEY, { sessionId: "s1" });
    assert.equal((await store.update(KEY, { sessionId: "s1", inputTokens: 1 })).inputTokens, 1);
    await assert.rejects(store.update("agent:main:none", { inputTokens: 1 }), { code: "NOT_FOUND" });
    await assert.rejects(store.update(KEY, { sessionId: "s2", inputTokens: 2 }), { code: "CONFLICT" });
    await assert.rejects(store.ensure(KEY, { sessionId: "s2", inputTokens: 2 }), { code: "CONFLICT" });
    assert.equal((await store.get(KEY))?.inputTokens, 1);
  });

  it("counts and lists all, or those of one agent, without runs of jobs", async (t) => {
    const { store, clock } = await openStore(t);
    for (const key of ["agent:a:one", "agent:b:two", "global", "agent:a:cron:j:run:r", "agent:a:three"]) {
      clock.advance(1);
      await store.ensure(key);
    }
    assert.equal(await store.count(), 4);
    assert.equal(await store.count("a"), 2);
    const keys = async (filter: object, limit = 9) => (await store.page(filter, limit)).map(({ key }) => key);
    assert.deepEqual(await keys({ agentId: "a" }), ["agent:a:three", "agent:a:one"]);
    assert.deepEqual(await keys({ includeGlobal: true }, 2), ["agent:a:three", "global"]);
    assert.deepEqual(await keys({}, 0), []);
    assert.deepEqual(await keys({ label: "x\0" }), []);
  });

  it("moves sessions under the alias main to the configured main key, unless that already exists", async (t) => {
    const { store } = await openStore(t);
    await store.ensure("agent:a:main", { label: "moved" });
    await store.ensure("agent:b:main", { label: "stays" });
    await store.ensure("agent:b:home", { label: "was there" });
    await store.open("home");
    const label = async (key: string) => (await store.get(key))?.label;
    assert.deepEqual([await label("agent:a:home"), await label("agent:a:main")], ["moved", undefined]);
    assert.deepEqual([await label("agent:b:home"), await label("agent:b:main")], ["was there", "stays"]);
  });

  it("finds everything after it was closed and reopened", async (t) => {
    const { store, storage, clock, transcripts, damage } = await openStore(t);
    const ids = await store.append(KEY, [user("hi")]);
    const again = new SessionStore({ storage: () => storage, clock, damage });
    await again.open("main");
    assert.deepEqual(await transcripts.last(KEY, 9), [{ id: ids.ids[0], seq: 1, message: user("hi") }]);
  });
});

describe("SessionStore transcripts", () => {
  it("appends in order, creates the session, and returns the last messages oldest first", async (t) => {
    const { store, clock, transcripts } = await openStore(t);
    const first = await store.append(KEY, [user("1"), assistant("2")]);
    assert.equal(first.created, true);
    for (const id of first.ids) assert.match(id, /^[0-9a-f]{8}$/);
    clock.advance(5);
    const second = await store.append(KEY, [user("3")]);
    assert.deepEqual([second.created, second.entry.updatedAt], [false, NOON + 5]);
    const items = await transcripts.last(KEY, 2);
    assert.deepEqual(items, [
      { id: first.ids[1], seq: 2, message: assistant("2") },
      { id: second.ids[0], seq: 3, message: user("3") },
    ]);
    assert.equal(await transcripts.count(KEY), 3);
    assert.deepEqual(await transcripts.last(KEY, 0), []);
    assert.deepEqual(await transcripts.last("agent:main:none", 5), []);
  });

  it("keeps all of 100 parallel appends to one session, each with its own seq", async (t) => {
    const { store, storage, transcripts } = await openStore(t);
    const texts = Array.from({ length: 100 }, (_, n) => `message ${n}`);
    const all = await Promise.all(texts.map((text) => store.append(KEY, [user(text), assistant(text)])));
    assert.equal(all.filter(({ created }) => created).length, 1);
    const rows = await storage.all<{ seq: number; body: string }>("select seq, body from transcript order by seq");
    const seqs = rows.map(({ seq }) => seq);
    const expected = Array.from({ length: 200 }, (_, n) => n + 1);
    assert.deepEqual(seqs, expected);
    const items = await transcripts.last(KEY, 1000);
    const asked = items.filter((_, at) => at % 2 === 0).map(({ message }) => message.content);
    const answered = items.filter((_, at) => at % 2 === 1).map(({ message }) => message.content);
    assert.deepEqual(asked, answered, "question and answer of one call stand together");
    assert.equal(new Set(asked.map((content) => JSON.stringify(content))).size, 100);
  });

  it("runs statements alongside, in the same transaction", async (t) => {
    const { store, storage, transcripts } = await openStore(t);
    await storage.migrate("test", ["create table notes (body text not null)"]);
    await store.append(KEY, [user("hi")], [{ sql: "insert into notes (body) values (?)", params: ["with it"] }]);
    assert.deepEqual(await storage.all<{ body: string }>("select body from notes"), [{ body: "with it" }]);

    const impossible = { sql: "delete from notes where body = ?", params: ["absent"], expectChanges: 1 };
    await assert.rejects(store.append("agent:main:other", [user("lost")], [impossible]), { code: "CONFLICT" });
    assert.equal(await store.get("agent:main:other"), undefined);
    assert.equal(await transcripts.count("agent:main:other"), 0);
  });

  it("stores every message under the current session id during resets", async (t) => {
    const { store, storage } = await openStore(t);
    await store.append(KEY, [user("first")]);
    const appends = Array.from({ length: 40 }, (_, n) => store.append(KEY, [user(`m${n}`)]));
    const resets = Array.from({ length: 4 }, (_, n) => store.restart(KEY, fresh(`reset-${n}`)));
    const [written] = await Promise.all([Promise.all(appends), Promise.all(resets)]);
    const rows = await storage.all<{ id: string; session_id: string }>("select id, session_id from transcript");
    assert.equal(rows.length, 41);
    const filed = new Map(rows.map(({ id, session_id }) => [id, session_id]));
    for (const { ids, entry } of written) assert.equal(filed.get(ids[0] ?? ""), entry.sessionId);
  });

  it("returns excerpts without image data and with cut texts", async (t) => {
    const { store, transcripts } = await openStore(t);
    const image = { type: "image", data: "A".repeat(10_000), mimeType: "image/png" } as const;
    await store.append(KEY, [{ role: "user", content: [image, { type: "text", text: "abcdef" }], timestamp: 1 }]);
    const { excerpts, damaged } = (await transcripts.excerpts(KEY, 5, 3)) ?? assert.fail();
    assert.equal(damaged, 0);
    const [{ role, content } = assert.fail(), ...more] = excerpts;
    assert.deepEqual([role, more], ["user", []]);
    assert.deepEqual(content, [
      { type: "image", text: null, name: null },
      { type: "text", text: "abc", name: null },
    ]);
    await store.ensure("agent:main:silent");
    assert.deepEqual((await transcripts.excerpts("agent:main:silent", 5, 3))?.excerpts, []);
    assert.equal(await transcripts.excerpts("agent:main:none", 5, 3), undefined);
  });

  it("finds the first user text and the last text that is not blank", async (t) => {
    const { store, transcripts } = await openStore(t);
    const call = assistant("", [{ type: "toolCall", id: "c", name: "read", arguments: {} }]);
    await store.append(KEY, [assistant("welcome"), user("first"), user("second"), assistant("done"), call]);
    const id = (await store.get(KEY))?.sessionId ?? assert.fail();
    assert.deepEqual([...(await transcripts.firstUserTexts([id, "none"], 4))], [[id, "firs"]]);
    assert.deepEqual([...(await transcripts.lastTexts([id, "none"], 9))], [[id, "done"]]);
  });
});

describe("SessionStore.restart and remove", () => {
  /** A session with one message. */
  async function spoken(t: TestContext) {
    const opened = await openStore(t);
    await opened.store.ensure(KEY, { sessionId: "old" });
    await opened.store.append(KEY, [user("hi")]);
    return opened;
  }

  it("begins a session with an id, once", async (t) => {
    const { store } = await openStore(t);
    assert.equal((await store.begin("agent:main:x", "mine")).entry.sessionId, "mine");
    const { entry, created } = await store.begin("agent:main:x", "other");
    assert.deepEqual([entry.sessionId, created], ["mine", false]);
  });

  it("refuses the id of a retired transcript for a new session", async (t) => {
    const { store } = await spoken(t);
    await store.remove(KEY, { archive: true });
    const refused = { code: "CONFLICT", message: /"old" belongs to a conversation that was reset or deleted/ };
    await assert.rejects(store.begin("agent:main:other", "old"), refused);
    assert.equal(await store.get("agent:main:other"), undefined);
  });

  it("creates a new session id and archives the messages under the old one", async (t) => {
    const { store, storage, transcripts } = await openStore(t);
    await store.ensure(KEY, { sessionId: "old", label: "kept", elevatedLevel: "full" });
    await store.append(KEY, [user("hi")]);
    const { old, entry } = await store.restart(KEY, fresh("new"));
    assert.equal(old?.sessionId, "old");
    assert.deepEqual(await store.get(KEY), entry);
    assert.deepEqual(entry, { sessionId: "new", updatedAt: NOON, label: "kept" });
    assert.deepEqual(await archives(storage), [{ session_id: "old", key: KEY, reason: "reset", archived_at: NOON }]);
    assert.deepEqual(await transcripts.last(KEY, 5), []);
    const kept = await storage.all("select session_id from transcript");
    assert.deepEqual(kept, [{ session_id: "old" }]);
  });

  it("creates a missing session, and archives no empty transcript", async (t) => {
    const { store, storage } = await openStore(t);
    assert.equal((await store.restart(KEY, fresh("one"))).old, undefined);
    assert.equal((await store.restart(KEY, fresh("two"))).old?.sessionId, "one");
    assert.deepEqual(await archives(storage), []);
  });

  it("loses no concurrent patch", async (t) => {
    const { store } = await openStore(t);
    await store.ensure(KEY, { label: "old" });
    let tries = 0;
    let merged: Promise<SessionEntry> | undefined;
    const { entry } = await store.restart(KEY, (old) => {
      tries += 1;
      merged ??= store.update(KEY, { label: "merged meanwhile" });
      return fresh("new")(old);
    });
    await merged;
    assert.deepEqual([tries, entry.label], [2, "merged meanwhile"]);
  });

  it("fails with UNAVAILABLE when the entry keeps changing", async (t) => {
    const storage = await openTestStorage(t);
    const busy: Storage = { ...storage, transaction: () => Promise.reject(new GatewayError("CONFLICT", "busy")) };
    const damage = createDamageLog({ error: () => {} });
    const store = new SessionStore({ storage: () => busy, clock: { now: () => NOON }, damage });
    await store.open("main");
    await assert.rejects(store.restart(KEY, fresh("x")), { code: "UNAVAILABLE", retryAfterMs: 1000 });
  });

  it("removes the entry and archives the messages on request", async (t) => {
    const { store, storage } = await spoken(t);
    const removed = await store.remove(KEY, { archive: true });
    assert.deepEqual([removed?.old.sessionId, removed?.archivedAt], ["old", NOON]);
    assert.equal(await store.get(KEY), undefined);
    assert.equal((await archives(storage)).length, 1);
    assert.equal((await storage.all("select id from transcript")).length, 1);
    assert.equal(await store.remove(KEY, { archive: true }), undefined);
  });

  it("records messages that are kept without an archive", async (t) => {
    const { store, storage } = await spoken(t);
    assert.equal((await store.remove(KEY, { archive: false }))?.archivedAt, undefined);
    assert.deepEqual(await archives(storage), [{ session_id: "old", key: KEY, reason: "kept", archived_at: NOON }]);
  });

  it("does not remove a session that was used since", async (t) => {
    const { store, clock } = await openStore(t);
    await store.ensure(KEY);
    clock.advance(1);
    await store.append(KEY, [user("hi")]);
    assert.equal(await store.remove(KEY, { archive: true, unusedSince: NOON }), undefined);
    assert.ok(await store.get(KEY));
    assert.ok(await store.remove(KEY, { archive: true, unusedSince: NOON + 1 }));
  });

  it("archives nothing when another session shows the transcript", async (t) => {
    const { store, storage } = await openStore(t);
    await store.ensure("agent:main:cron:j", { sessionId: "shared" });
    await store.ensure("agent:main:cron:j:run:shared", { sessionId: "shared" });
    await store.append("agent:main:cron:j", [user("hi")]);
    assert.equal((await store.remove("agent:main:cron:j", { archive: true }))?.archivedAt, undefined);
    assert.deepEqual(await archives(storage), []);
  });
});
