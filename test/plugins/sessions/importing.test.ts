/** Sessions, transcripts and archives that are imported and given. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import type { ArchiveRecord, ImportRecord, TranscriptRecord } from "@svc/sdk/import";
import { createImporters } from "../../../plugins/sessions/importing.ts";
import { openStore, user } from "./open-store.ts";

const KEY = "agent:main:main";
const rules = () => ({ defaultAgentId: "main", mainKey: "main", scope: "per-sender" }) as const;

async function open(t: TestContext) {
  const opened = await openStore(t);
  const { storage, damage } = opened;
  const importers = createImporters({ storage: () => storage, rules, damage });
  /** Outcomes as `<action> <added>`. */
  const take = async (
    kind: keyof typeof importers,
    ...records: readonly (ImportRecord | ArchiveRecord | TranscriptRecord)[]
  ) => (await importers[kind].take(records)).map(({ action, added }) => `${action} ${added ?? "-"}`);
  const all = async (kind: keyof typeof importers) => {
    const records: ImportRecord[] = [];
    let after: string | undefined;
    do {
      const page = await importers[kind].give?.(after);
      records.push(...(page?.records ?? []));
      after = page?.next;
    } while (after !== undefined);
    return records;
  };
  return { ...opened, importers, take, all };
}

const session = (id = KEY, sessionId = "s1") => ({
  id,
  sessionId,
  updatedAt: 5,
  entry: { label: "Trip", chatType: "direct" },
});
const transcript = (ids: string, more: Partial<TranscriptRecord> = {}): TranscriptRecord => ({
  id: "s1",
  messages: ids.split("").map((id, at) => ({
    id,
    at: 100 + at,
    message: { role: "user", content: [{ type: "text", text: id }] },
  })),
  ...more,
});

describe("importing sessions", () => {
  it("takes an entry with its id, time, label and other fields", async (t) => {
    const { take, store } = await open(t);
    assert.deepEqual(await take("session", session()), ["take -"]);
    assert.deepEqual(await store.get(KEY), { sessionId: "s1", updatedAt: 5, label: "Trip", chatType: "direct" });
  });

  it("skips the same session, and never changes it", async (t) => {
    const { take, store } = await open(t);
    await take("session", session());
    const changed = { ...session(), updatedAt: 9, entry: { label: "Other" } };
    assert.deepEqual(await take("session", changed), ["skip -"]);
    assert.equal((await store.get(KEY))?.label, "Trip");
  });

  it("keeps the session that is here under the key, and archives the imported messages", async (t) => {
    const { take, store, all } = await open(t);
    const here = await store.ensure(KEY);
    assert.deepEqual(await take("session", session()), ["keep 1"]);
    await take("transcript", transcript("ab"));
    assert.equal((await store.get(KEY))?.sessionId, here.entry.sessionId);
    assert.deepEqual(await all("archive"), [{ id: "s1", key: KEY, reason: "kept", archivedAt: 5 }]);
  });

  it("refuses a malformed key", async (t) => {
    const { importers } = await open(t);
    const [outcome] = await importers.session.take([{ ...session("agent:") }]);
    assert.equal(outcome?.action, "refuse");
    assert.match(String(outcome?.reason), /malformed/);
  });
});

describe("importing transcripts", () => {
  it("takes messages in order with their ids and times, in parts", async (t) => {
    const { take, transcripts, storage } = await open(t);
    await take("session", session());
    const parts = [transcript("abc"), transcript("de", { after: "c" })];
    assert.deepEqual(await take("transcript", ...parts), ["take 3", "take 2"]);
    assert.deepEqual(
      (await transcripts.last(KEY, 9)).map(({ id }) => id),
      ["a", "b", "c", "d", "e"],
    );
    const times = await storage.all<{ created_at: number }>("select created_at from transcript order by seq");
    assert.deepEqual(
      times.map((row) => row.created_at),
      [100, 101, 102, 100, 101],
    );
  });

  it("adds to a transcript that became longer only what is new", async (t) => {
    const { take, transcripts } = await open(t);
    await take("session", session());
    await take("transcript", transcript("ab"));
    assert.deepEqual(await take("transcript", transcript("ab")), ["skip -"]);
    assert.deepEqual(await take("transcript", transcript("abc")), ["take 1"]);
    assert.deepEqual(
      (await transcripts.last(KEY, 9)).map(({ id }) => id),
      ["a", "b", "c"],
    );
  });

  it("leaves a conversation alone that went on here", async (t) => {
    const { take, store, transcripts } = await open(t);
    await take("session", session());
    await take("transcript", transcript("ab"));
    await store.append(KEY, [user("here")]);
    assert.deepEqual(await take("transcript", transcript("abc")), ["keep -"]);
    assert.equal((await transcripts.last(KEY, 9)).length, 3);
  });

  it("takes a summary with the first message it keeps, once", async (t) => {
    const { take, transcripts } = await open(t);
    await take("session", session());
    const compactions = [{ summary: "short", firstKeptId: "b", tokensBefore: 7, at: 9 }];
    await take("transcript", transcript("ab", { compactions }));
    await take("transcript", transcript("ab", { compactions }));
    const { summary, items } = await transcripts.context(KEY, 9);
    assert.deepEqual([summary, items.map(({ id }) => id)], ["short", ["b"]]);
  });

  it("refuses a role that nothing here knows, and takes none of the record", async (t) => {
    const { importers } = await open(t);
    const record = transcript("a");
    const strange = {
      ...record,
      messages: [...record.messages, { id: "z", at: 1, message: { role: "ghost", content: [] } }],
    };
    const [outcome] = await importers.transcript.take([strange]);
    assert.match(String(outcome?.reason), /unknown role "ghost"/);
    assert.equal(await importers.transcript.count(), 0);
  });
});

describe("importing archives", () => {
  const archive = { id: "s1", key: KEY, reason: "reset", archivedAt: 8 } as const;

  it("takes one once, and none that a session shows", async (t) => {
    const { take } = await open(t);
    assert.deepEqual(await take("archive", archive), ["take -"]);
    assert.deepEqual(await take("archive", archive), ["skip -"]);
    await take("session", session("agent:main:x", "s2"));
    assert.deepEqual(await take("archive", { ...archive, id: "s2" }), ["skip -"]);
  });
});

describe("giving", () => {
  it("gives what another store takes, and that gives the same", async (t) => {
    const one = await open(t);
    const other = await open(t);
    await one.take("session", session(), session("agent:main:other", "s2"));
    const compactions = [{ summary: "short", firstKeptId: "b", tokensBefore: 7, at: 9 }];
    await one.take("transcript", transcript("abc", { compactions }), transcript("xy", { id: "old" }));
    await one.take("archive", { id: "old", key: KEY, reason: "reset", archivedAt: 8 });
    for (const kind of ["session", "transcript", "archive"] as const) await other.take(kind, ...(await one.all(kind)));
    for (const kind of ["session", "transcript", "archive"] as const)
      assert.deepEqual(await other.all(kind), await one.all(kind), kind);
    assert.deepEqual(
      (await one.all("transcript")).map(({ id }) => id),
      ["old", "s1"],
    );
    assert.deepEqual((await one.all("session"))[1], { ...session("agent:main:other", "s2") });
  });

  it("gives a long transcript in pages, each after the one before", async (t) => {
    const { take, all, importers } = await open(t);
    const ids = Array.from({ length: 450 }, (_, at) => `m${String(at).padStart(3, "0")}`);
    const messages = ids.map((id) => ({ id, at: 1, message: { role: "user", content: [] } }));
    await take("transcript", { ...transcript(""), messages });
    const pages = (await all("transcript")) as TranscriptRecord[];
    assert.deepEqual(
      pages.map(({ after, messages: { length } }) => [after, length]),
      [
        [undefined, 200],
        ["m199", 200],
        ["m399", 50],
      ],
    );
    assert.equal(await importers.transcript.count(), 450);
  });
});
