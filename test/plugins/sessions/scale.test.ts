/** Rows read with 10,000 sessions and 10,000 messages: query plans, not timings. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { checkedSql } from "@svc/kit/sql";
import type { Sql, SqlValue, Storage } from "@svc/sdk/storage";
import { LONGEST_UNUSED, OLDEST_RETIRED } from "../../../plugins/sessions/lifecycle/retention.ts";
import * as entries from "../../../plugins/sessions/store/statements.ts";
import * as transcripts from "../../../plugins/sessions/transcripts/statements.ts";
import * as usage from "../../../plugins/sessions/usage-facts/statements.ts";
import { assistant, NOON, openStore, user } from "./open-store.ts";

const KEY = "agent:main:foo";
const TABLES =
  /\b(?:SCAN|SEARCH) (?:sessions|transcript|message_facts|archives|compactions|[stfcapo])\b(?! VIRTUAL).*/g;

async function plan(storage: Storage, sql: Sql, params: readonly SqlValue[]): Promise<string[]> {
  const steps = await storage.all<{ detail: string }>(`explain query plan ${checkedSql(sql, "sqlite")}`, params);
  return steps.map(({ detail }) => detail);
}

type Asked = readonly [what: string, sql: Sql, params: readonly SqlValue[]];
const of = (what: string, statements: readonly { sql: Sql; params?: readonly SqlValue[] }[]): Asked[] =>
  statements.map(({ sql, params = [] }, at) => [`${what} ${at + 1}`, sql, params]);
const session = { key: KEY, entry: { sessionId: "s", updatedAt: 1 }, json: "{}" };
const ids = JSON.stringify(["s"]);
const sums = usage.usageSums({ from: 0, to: Date.UTC(2026, 6), zone: "Europe/Berlin" });

const asked: readonly Asked[] = [
  ["a page", ...pageOf({})],
  ["a page of an agent", ...pageOf({ agentId: "main", updatedSince: 5 })],
  ["a page with a label", ...pageOf({ label: "l" })],
  ["a page of an id", ...pageOf({ sessionId: "s" })],
  ["a page of spawned sessions", ...pageOf({ spawnedBy: "x" })],
  ["the end of a transcript", transcripts.TRANSCRIPT_TAIL, [KEY, 200]],
  ["a preview", transcripts.EXCERPT_TAIL, [9, 9, KEY, 12]],
  ["the logs", transcripts.LOG_TAIL, [9, 9, "s", 200]],
  ["the context", transcripts.CONTEXT, [KEY, 200]],
  ["titles", transcripts.FIRST_USER_TEXTS, [9, ids]],
  ["last texts", transcripts.LAST_TEXTS, [9, ids]],
  ["the sums of a session", sums.sql, [...sums.params, ids, 0, 9]],
  ["the tools of a session", usage.TOOL_SUMS, [ids, 0, 9]],
  ["the points of a session", usage.TIMESERIES, [200, ids]],
  ["sessions of a report", usage.NEWEST_SUBJECTS(true), [1, 0, 50]],
  ["retired transcripts of a report", usage.RETIRED_SUBJECTS(), [0, 50]],
  ["the archive", ...pageOf({ archived: true })],
  ["a page without what is archived", ...pageOf({ archived: false })],
  ["a page of an agent without what is archived", ...pageOf({ agentId: "main", archived: false })],
  ["what was not used for long", LONGEST_UNUSED, [1, 9, 0, "", 50]],
  ["old archives", OLDEST_RETIRED, [9, 50]],
  ...of("an append", [
    entries.insertIfMissing(KEY, "s", 1),
    entries.touch(KEY, 1),
    entries.appendMessage(KEY, "i", user("hi"), 1),
  ]),
  ...of("a restart", [entries.archive(KEY, "reset", 1), entries.replace(session, session, true)]),
  ...of("a removal", [entries.remove(KEY), entries.remove(KEY, { unusedSince: 1, sessionId: "s" })]),
  ...of("a label", [entries.labelIsFree("l", KEY)]),
  ...of("a compaction", transcripts.addCompaction(KEY, { summary: "s", firstKeptId: "i", tokensBefore: 1 }, 1)),
  ...of("a cut", transcripts.cut({ key: KEY, sessionId: "s", partId: "p", lastSeq: 5 }, 1)),
];

function pageOf(filter: entries.ListFilter): [sql: Sql, params: readonly SqlValue[]] {
  const { sql, params } = entries.page(filter, { updatedAt: 5, key: "k" }, 60);
  return [sql, params];
}

/** Filters that match few sessions, and the index that each must use. */
const NARROW: readonly (readonly [filter: entries.ListFilter, index: string])[] = [
  [{ label: "l" }, "sessions_label (label=?)"],
  [{ label: "l", agentId: "main" }, "sessions_label (label=?)"],
  [{ sessionId: "s", agentId: "main" }, "sessions_session_id (session_id=?)"],
  [{ spawnedBy: "x" }, "sessions_spawned_by (<expr>=?)"],
  [{ archived: true }, "sessions_archived (<expr>>?)"],
  [{ archived: true, agentId: "main" }, "sessions_archived (<expr>>?)"],
  [{ spawnedBy: "x", updatedSince: 5 }, "sessions_spawned_by (<expr>=?"],
];

/** Sorting a whole table is as bad as reading it; sorting the groups of one session is fine. */
const MAY_SORT = /the archive$|sums|tools|points|label|page of an id|spawned/;

describe("a large store", () => {
  it("reads no table from end to end, nor sorts one", { timeout: 120_000 }, async (t) => {
    const { storage, store } = await openStore(t);
    const names = Array.from({ length: 10_000 }, (_, n) => `agent:a${n % 7}:s${n}`);
    await Promise.all(names.map((key) => store.ensure(key)));
    await store.append(KEY, Array.from({ length: 5_000 }, () => [user("hi"), assistant("hello")]).flat());
    for (const statistics of [false, true]) {
      // The plan must stay the same after `analyze`.
      if (statistics) await storage.transaction([{ sql: "analyze" }]);
      for (const [filter, index] of NARROW) {
        const { sql, params } = entries.page(filter, undefined, 60);
        const [step = ""] = await plan(storage, sql, params);
        assert.ok(step.includes(`USING INDEX ${index}`), `${JSON.stringify(filter)}: ${step}`);
      }
      for (const [what, sql, params] of asked) {
        const steps = await plan(storage, sql, params);
        const found = steps.join("\n");
        for (const step of found.match(TABLES) ?? []) {
          assert.ok(step.startsWith("SEARCH"), `${what}${statistics ? " with statistics" : ""}:\n${found}`);
        }
        if (!MAY_SORT.test(what)) assert.doesNotMatch(found, /TEMP B-TREE/, `${what}:\n${found}`);
      }
    }
  });

  it("appends, freshens and reads the context with one storage call each", async (t) => {
    const { storage, store, transcripts: reader } = await openStore(t);
    await store.append(KEY, [user("hi")]);
    let trips = 0;
    const counted = (name: "all" | "get" | "transaction") => {
      const original = storage[name] as (...args: unknown[]) => unknown;
      Object.assign(storage, { [name]: (...args: unknown[]) => ((trips += 1), original.apply(storage, args)) });
    };
    for (const name of ["all", "get", "transaction"] as const) counted(name);
    const tripsOf = async (work: () => Promise<unknown>) => {
      trips = 0;
      await work();
      return trips;
    };
    assert.equal(await tripsOf(() => store.append(KEY, [user("a"), assistant("b")])), 1);
    assert.equal(await tripsOf(() => store.append("agent:main:new", [user("a")])), 1);
    assert.equal(await tripsOf(() => store.ensure(KEY)), 1);
    assert.equal(await tripsOf(() => store.ensure("agent:main:other", { lastChannel: "irc" })), 1);
    assert.equal(await tripsOf(() => store.change(KEY, () => undefined)), 1, "freshen of a session in use");
    assert.equal(await tripsOf(() => reader.context(KEY, 200)), 1);
    assert.equal(await tripsOf(() => store.update(KEY, { totalTokens: NOON })), 1);
  });
});
