import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { matches } from "@svc/sdk";
import type { RunState } from "@svc/sdk/agents";
import { type SessionEntry, SessionRow } from "@svc/sdk/sessions";
import { derivedTitle, listSessions, type ListParams, rowOf } from "../../../../plugins/sessions/finding/listing.ts";
import { publishedViolations } from "../../../published.ts";
import { assistant, NOON, openStore, user } from "../open-store.ts";

const defaults = { modelProvider: "dp", model: "dm", contextTokens: 1000 };
const rules = { defaultAgentId: "main", mainKey: "main", scope: "per-sender" } as const;
const MINUTE = 60_000;

/** Seven listed sessions, one minute apart, the last one newest, and a run of a job. */
const SEED: readonly (readonly [key: string, patch: Partial<SessionEntry>])[] = [
  ["agent:main:main", {}],
  ["agent:main:old", { label: "Projekt Ärger", sessionId: "11111111-aaaa" }],
  ["agent:bob:main", { displayName: "Bob's Desk" }],
  ["global", {}],
  ["unknown", {}],
  ["agent:main:cron:j:run:r", {}],
  ["agent:main:subagent:1", { spawnedBy: "agent:main:main", subject: "Digging" }],
  ["agent:main:irc:group:7", {}],
];

async function seeded(t: TestContext) {
  const { store, transcripts, clock } = await openStore(t);
  for (const [key, patch] of SEED) {
    clock.advance(MINUTE);
    await store.ensure(key, patch);
  }
  const list = (params: ListParams) =>
    listSessions({ store, transcripts }, params, { now: clock.now(), modelDefaults: () => defaults, rules });
  return { store, clock, list };
}

describe("listSessions", () => {
  const bob = "agent:bob:main";
  const base = ["agent:main:irc:group:7", "agent:main:subagent:1", bob, "agent:main:old", "agent:main:main"];
  const rows: [what: string, params: ListParams, keys: string[]][] = [
    ["all but special keys and runs of jobs, newest first", {}, base],
    ["the first few", { limit: 2 }, base.slice(0, 2)],
    ["those used lately", { activeMinutes: 1 }, base.slice(0, 2)],
    ["all of a window without end", { activeMinutes: 1e300 }, base],
    ["global on request", { includeGlobal: true }, [...base.slice(0, 2), "global", ...base.slice(2)]],
    ["unknown on request", { includeUnknown: true }, [...base.slice(0, 2), "unknown", ...base.slice(2)]],
    ["exactly one by its key", { key: "agent:main:main" }, ["agent:main:main"]],
    ["the run of a job by its key", { key: "agent:main:cron:j:run:r" }, ["agent:main:cron:j:run:r"]],
    ["none by a part of a key", { key: "agent:main" }, []],
    ["those of one agent", { agentId: " Bob " }, ["agent:bob:main"]],
    ["no special keys with an agent", { agentId: "bob", includeGlobal: true, includeUnknown: true }, [bob]],
    ["none of an unknown agent", { agentId: "eve" }, []],
    ["a label", { label: "Projekt Ärger" }, ["agent:main:old"]],
    ["no part of a label", { label: "Projekt" }, []],
    ["those spawned by a session", { spawnedBy: "agent:main:main" }, ["agent:main:subagent:1"]],
    ["a search in the label, whatever the case", { search: "äRGER" }, ["agent:main:old"]],
    ["a search in the display name", { search: "DESK" }, ["agent:bob:main"]],
    ["a search in the subject", { search: "digg" }, ["agent:main:subagent:1"]],
    ["a search in the session id", { search: "11111111-A" }, ["agent:main:old"]],
    ["a search in the key", { search: "IRC:" }, ["agent:main:irc:group:7"]],
    ["everything for a blank search", { search: "  " }, base],
    ["those after an offset", { offset: 1, limit: 2 }, base.slice(1, 3)],
    ["none after the last one", { offset: 9 }, []],
    ["what a search finds after an offset", { search: "agent:", offset: 3 }, base.slice(3)],
    ["no archived ones on request", { archived: true }, []],
    ["a search before the limit", { search: "main:main", limit: 1 }, ["agent:main:main"]],
  ];
  it("lists what was asked for", async (t) => {
    const { list } = await seeded(t);
    for (const [what, params, keys] of rows) {
      const { sessions, count } = await list(params);
      const listed = sessions.map(({ key }) => key);
      assert.deepEqual([listed, count], [keys, keys.length], what);
      for (const row of sessions) assert.ok(matches(SessionRow, row), what);
    }
  });

  it("returns time, location and defaults", async (t) => {
    const { list, store, clock } = await seeded(t);
    const { ts, path, defaults: told } = await list({});
    assert.deepEqual([ts, path, told], [clock.now(), store.location, defaults]);
    assert.match(path, /state\.db$/);
  });

  it("adds titles and last messages only on request", async (t) => {
    const { list, store } = await seeded(t);
    await store.append("agent:main:main", [user("What  is\nthis?"), assistant("  It is\na test. ")]);
    const find = async (params: ListParams) =>
      (await list(params)).sessions.find(({ key }) => key === "agent:main:main");
    const plain = await find({});
    assert.deepEqual([plain?.derivedTitle, plain?.lastMessagePreview], [undefined, undefined]);
    const full = await find({ includeDerivedTitles: true, includeLastMessage: true });
    assert.deepEqual([full?.derivedTitle, full?.lastMessagePreview], ["What is this?", "It is a test."]);
  });

  it("lists and searches more sessions than are read at a time", async (t) => {
    const { store, transcripts, clock } = await openStore(t);
    const keys = Array.from({ length: 1101 }, (_, n) => `agent:main:s${String(n).padStart(4, "0")}`);
    await Promise.all(keys.map((key) => store.ensure(key))); // all in the same millisecond
    const list = (params: ListParams) =>
      listSessions({ store, transcripts }, params, { now: clock.now(), modelDefaults: () => defaults, rules });
    const { sessions: all } = await list({ includeDerivedTitles: true });
    const listed = all.map(({ key }) => key);
    assert.deepEqual(listed, keys.toReversed());
    assert.ok(all.every(({ derivedTitle }) => derivedTitle !== undefined));
    const { sessions: found } = await list({ search: "s000", limit: 2 });
    assert.deepEqual([found.length, found[0]?.key, found[1]?.key], [2, "agent:main:s0009", "agent:main:s0008"]);

    for (const more of [{}, { search: "s0" }]) {
      const paged: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await list({ limit: 300, ...more, ...(cursor === undefined ? {} : { cursor }) });
        paged.push(...page.sessions.map(({ key }) => key));
        cursor = page.nextCursor;
      } while (cursor !== undefined);
      assert.deepEqual(paged, "search" in more ? keys.slice(0, 1000).toReversed() : keys.toReversed());
    }
    await assert.rejects(list({ cursor: "nonsense" }), { code: "INVALID_REQUEST" });
  });
});

const row = (entry: object = {}, key = "agent:main:foo") =>
  rowOf({ key, entry: { sessionId: "s", updatedAt: NOON, ...entry } }, defaults);

describe("rowOf", () => {
  const model = { modelProvider: "dp", model: "dm" };
  const facts = { key: "agent:main:foo", sessionId: "s", updatedAt: NOON };
  const least = { ...facts, ...model, kind: "direct", totalTokensFresh: false };
  const route = { thinkingLevel: "low", inputTokens: 0, abortedLastRun: false, deliveryContext: { to: "x" } };
  const group = { key: "agent:main:irc:group:7", kind: "group", channel: "irc", chatType: "group" };
  const slack = { channel: "slack", chatType: "channel" };

  const rows: [what: string, row: object, expected: object][] = [
    ["little of a new session", row(), least],
    ["total tokens when they are fresh", row({ totalTokens: 5 }), { ...least, totalTokens: 5, totalTokensFresh: true }],
    ["no stale total tokens", row({ totalTokens: 5, totalTokensFresh: false }), least],
    ["the session's own model", row({ model: "m", modelProvider: "p" }), { ...least, model: "m", modelProvider: "p" }],
    ["channel and chat type of the key", row({}, group.key), { ...least, ...group }],
    ["channel and chat type of the entry first", row(slack), { ...least, kind: "group", ...slack }],
    ["no value of an unexpected type", row({ label: 5, inputTokens: "many", origin: "x", systemSent: 1 }), least],
    ["no field that is not for lists", row({ skillsSnapshot: {}, systemPromptReport: {} }), least],
    ["levels, counts and routes", row(route), { ...least, ...route }],
  ];
  for (const [what, row, expected] of rows) it(`shows ${what}`, () => assert.deepEqual(row, expected));
});

const entry = (fields: object = {}) => ({ sessionId: "12345678-9", updatedAt: NOON, ...fields });

describe("derivedTitle", () => {
  const rows: [what: string, title: string, expected: string][] = [
    ["the display name first", derivedTitle(entry({ displayName: "D", subject: "S" }), "U"), "D"],
    ["else the subject", derivedTitle(entry({ displayName: " ", subject: "S" }), "U"), "S"],
    ["else the user's first text", derivedTitle(entry(), " U\n v"), "U v"],
    ["else id and day", derivedTitle(entry()), "12345678 (2026-03-02)"],
    [
      "at most 60 characters, with at least half of them",
      derivedTitle(entry(), `a ${"x".repeat(70)}`),
      `a ${"x".repeat(57)}…`,
    ],
    ["at most 60 characters, cut at a word", derivedTitle(entry(), "word ".repeat(20)), `${"word ".repeat(11)}word…`],
  ];
  for (const [what, title, expected] of rows) {
    it(`is ${what}`, () => {
      assert.equal(title, expected);
      assert.ok(title.length <= 60);
    });
  }
});

describe("pages of listSessions", () => {
  it("tell how many sessions there are, and where the next page begins", async (t) => {
    const { list } = await seeded(t);
    const facts = async (params: ListParams) => {
      const { count, hasMore, nextOffset, offset, limitApplied, totalCount, nextCursor } = await list(params);
      return [count, hasMore, nextOffset, offset, limitApplied, totalCount, nextCursor !== undefined];
    };
    assert.deepEqual(await facts({}), [5, false, null, undefined, undefined, 5, false]);
    assert.deepEqual(await facts({ limit: 2 }), [2, true, 2, undefined, 2, undefined, true]);
    assert.deepEqual(await facts({ limit: 2, offset: 3 }), [2, false, null, 3, 2, 5, false]);
    assert.deepEqual(await facts({ limit: 2, offset: 9 }), [0, false, null, 9, 2, 5, false]);
    assert.deepEqual(await facts({ limit: 1, search: "main" }), [1, true, 1, undefined, 1, undefined, true]);
    assert.deepEqual(await facts({ limit: 1, agentId: "bob" }), [1, false, null, undefined, 1, 1, false]);
  });

  it("leave out archived sessions until they are used again", async (t) => {
    const { store, clock, list } = await seeded(t);
    const keys = async (params: ListParams = {}) => (await list(params)).sessions.map(({ key }) => key);
    const key = "agent:main:old";
    const { updatedAt = 0 } = (await store.get(key)) ?? {};
    await store.update(key, { archivedAt: updatedAt, updatedAt });
    assert.equal((await keys()).includes(key), false);
    assert.equal((await list({ limit: 9 })).count, 4);
    assert.deepEqual(await keys({ archived: true }), [key]);
    assert.equal((await list({ limit: 1, archived: true, agentId: "main" })).totalCount, 1);
    assert.equal((await keys({ archived: "all" })).includes(key), true);
    const [row] = (await list({ key })).sessions;
    assert.deepEqual([row?.archived, row?.archivedAt], [true, updatedAt], "a list of one session shows it");
    clock.advance(1);
    await store.append(key, [user("hi")]);
    assert.equal((await keys())[0], key);
    await store.update(key, { archivedAt: "yesterday" } as object);
    assert.equal((await keys())[0], key, "a value that is no time hides nothing");
    assert.deepEqual(await keys({ archived: true }), []);
  });
});

describe("rows for the newest clients", () => {
  it("name agent, place, marks and active runs, and match the published schema", async (t) => {
    const { store, transcripts, clock } = await openStore(t);
    await store.ensure("agent:bob:main", { pinnedAt: 5, lastReadAt: NOON - 1, spawnedBy: "x", abortedLastRun: true });
    await store.ensure("agent:bob:other", { parentSessionKey: "agent:bob:main", category: "Work", markedUnreadAt: 7 });
    const runs: RunState[] = [
      { runId: "r1", sessionKey: "k", source: "chat", status: "running", startedAt: 3 },
      { runId: "r2", sessionKey: "k", source: "chat", status: "accepted" },
    ];
    const { sessions: found } = await listSessions(
      { store, transcripts },
      {},
      {
        now: clock.now(),
        modelDefaults: () => defaults,
        rules,
        activeRuns: (key) => (key === "agent:bob:other" ? runs : []),
      },
    );
    const [other, main] = found;
    for (const row of found) {
      assert.deepEqual(publishedViolations("SessionRow", row), []);
      assert.ok(matches(SessionRow, row));
    }
    assert.deepEqual(
      [
        main?.agentId,
        main?.isMain,
        main?.pinned,
        main?.archived,
        main?.unread,
        main?.status,
        main?.spawnedBy,
        main?.snapshotAt,
      ],
      ["bob", true, true, false, true, "killed", "x", NOON],
    );
    assert.deepEqual(
      [other?.isMain, other?.pinned, other?.unread, other?.parentSessionKey],
      [false, false, true, "agent:bob:main"],
    );
    assert.deepEqual(
      [other?.hasActiveRun, other?.activeRunIds, other?.startedAt, other?.status],
      [true, ["r1", "r2"], 3, "running"],
    );
  });
});
