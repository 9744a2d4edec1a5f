import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { checkedSql } from "@svc/kit/sql";
import { wrapExternalContent } from "@svc/sdk/external-content";
import type { SystemEvent } from "@svc/sdk/heartbeat";
import { MAX_REPEATED, MAX_WAITING } from "../../../plugins/heartbeat/event-store.ts";
import { likenessOf, MAX_EVENT_CHARS, storedText } from "../../../plugins/heartbeat/event-text.ts";
import { eventSection, fitting, MAX_EVENTS, MAX_SECTION_CHARS } from "../../../plugins/heartbeat/prompt-section.ts";
import { event, KEY, openEvents } from "./events.ts";

describe("the queue of events", () => {
  it("stores events by session, in the order of arrival", async (t) => {
    const { store, add, ids } = await openEvents(t);
    await add(event("b"), event("a", { at: 1 }), event("c", { sessionKey: "global" }));
    assert.deepEqual([await ids(), await ids("global")], [["b", "a"], ["c"]]);
    assert.deepEqual((await store.waiting(KEY))[0], event("b"));
  });

  it("ignores a known id, reported or not", async (t) => {
    const { store, add, ids } = await openEvents(t);
    await add(event("a"));
    await add(event("a", { text: "other" }));
    assert.deepEqual(await store.waiting(KEY), [event("a")]);
    await store.tie(["a"], "r1");
    await store.told("r1", 6_000);
    await add(event("a", { text: "other" }));
    assert.deepEqual(await ids(), []);
  });

  const wrapped = (id: string) =>
    `<<<EXTERNAL_UNTRUSTED_CONTENT id="${id}">>>x<<<END_EXTERNAL_UNTRUSTED_CONTENT id="${id}">>>`;
  const repeats: [what: string, first: Partial<SystemEvent>[], second: Partial<SystemEvent>, waiting: string[]][] = [
    ["the same text", [{ text: "x" }], { text: "x" }, ["e0"]],
    ["another text", [{ text: "x" }], { text: "y" }, ["e0", "e1"]],
    ["the same text with another between", [{ text: "x" }, { text: "y" }], { text: "x" }, ["e0", "e1", "e2"]],
    ["the same text in another session", [{ text: "x", sessionKey: "global" }], { text: "x" }, ["e1"]],
    ["the same text from outside", [{ text: wrapped("00aa") }], { text: wrapped("00ab") }, ["e0"]],
    ["one that is urgent after one that is not", [{ text: "x" }], { text: "x", wake: "now" }, ["e0", "e1"]],
    ["one that is not urgent after one that is", [{ text: "x", wake: "now" }], { text: "x" }, ["e0"]],
    ["a third of the same text", [{ text: "x" }, { text: "x" }], { text: "x" }, ["e0"]],
  ];
  for (const [what, first, second, waiting] of repeats) {
    it(`reports equal events once: ${what}`, async (t) => {
      const { add, ids } = await openEvents(t);
      for (const [index, changes] of [...first, second].entries()) await add(event(`e${index}`, changes));
      assert.deepEqual(await ids(), waiting);
    });
  }

  it("remembers the id of a repeated event", async (t) => {
    const { store, add, ids } = await openEvents(t);
    await add(event("a", { text: "x" }), event("b", { text: "x" }));
    await store.tie(["a"], "r1");
    await add(event("c", { text: "x" }));
    assert.deepEqual(await ids(), ["c"], "the text is stored again once a run has it");
    await store.tie(["c"], "r1");
    await store.told("r1", 6_000);
    await add(event("b", { text: "x" }));
    assert.deepEqual(await ids(), []);
  });

  it("counts repeats on the waiting event, and stores a limited number of ids", async (t) => {
    const { storage, store, add } = await openEvents(t);
    const again = (index: number) => event(`r${index}`, { text: "x" });
    const repeats = MAX_REPEATED + 700;
    await add(again(0), event("o", { sessionKey: "global" }));
    for (let from = 1; from <= repeats; from += 300)
      await add(...Array.from({ length: 300 }, (_, index) => again(from + index)));
    const last = repeats + 1;
    await add(again(last), again(0));
    const [only, ...others] = await store.waiting(KEY);
    assert.deepEqual([only, others], [{ ...again(0), repeats: last }, []]);
    await store.tidy(KEY, 6_000);
    const rows = await storage.all<{ text: string }>("SELECT text FROM heartbeat_events WHERE session_key = ?", [KEY]);
    assert.equal(rows.length, 1 + MAX_REPEATED);
    assert.equal(rows.filter(({ text }) => text !== "").length, 1, "the text is stored once");
    await store.tie(["r0"], "r1");
    await add(again(last));
    assert.deepEqual(await store.waiting(KEY), [], "the newest ids are known");
  });

  it("finds the newest waiting event through an index, despite repeated ones", async (t) => {
    const { storage, store } = await openEvents(t);
    const [count = assert.fail()] = store.add(event("a"), 1);
    const plan = await storage.all<{ detail: string }>(
      `EXPLAIN QUERY PLAN ${checkedSql(count.sql, "sqlite")}`,
      count.params ?? [],
    );
    assert.ok(plan.length > 1);
    for (const { detail } of plan) assert.match(detail, /USING (COVERING )?INDEX|SCALAR SUBQUERY/);
    for (const { detail } of plan.filter((one) => one.detail.includes("session_key")))
      assert.match(detail, /heartbeat_events_waiting/);
  });

  it("folds the oldest events into one that counts them all when too many wait", async (t) => {
    const { storage, store, add, ids } = await openEvents(t);
    const reasons = ["hook:wake", "cron:j1", "something"];
    const from = (index: number) => event(`e${index}`, { reason: reasons[index % 3] ?? "" });
    await add(...Array.from({ length: MAX_WAITING }, (_, index) => from(index)));
    await store.tidy(KEY, 6_000);
    assert.equal((await ids()).length, MAX_WAITING);
    assert.deepEqual(await store.crowded(), []);
    await add(...Array.from({ length: 29 }, (_, index) => from(MAX_WAITING + index)));
    assert.deepEqual(await store.crowded(), [KEY]);
    await store.tidy(KEY, 6_000);
    const counted = "(10 from webhooks, 10 from cron jobs, 10 from other sources)";
    const [summary, next] = await store.waiting(KEY);
    assert.equal(summary?.text, `30 older events, too many to report individually ${counted}; the newest: text of e29`);
    assert.deepEqual([summary?.wake, next?.id, (await ids()).length], ["next-heartbeat", "e30", MAX_WAITING]);
    await add(
      ...Array.from({ length: 2_000 }, (_, index) => from(2_000 + index)),
      event("u1", { wake: "now", text: "last" }),
      event("u2", { wake: "now", text: "last" }),
    );
    await store.tidy(KEY, 6_000);
    const [again] = await store.waiting(KEY);
    const total = MAX_WAITING + 29 + 2_000 + 1 - (MAX_WAITING - 1);
    assert.match(again?.text ?? "", new RegExp(`^${total} older events`));
    assert.equal((await ids()).length, MAX_WAITING);
    assert.equal((await storage.all("SELECT id FROM heartbeat_events")).length, MAX_WAITING + MAX_REPEATED);
    await add(from(3_000), from(2_000));
    assert.equal((await ids()).length, MAX_WAITING, "the ids of the newest that were folded are known");
    await add(...Array.from({ length: MAX_WAITING }, (_, index) => event(`n${index}`)));
    await store.tidy(KEY, 6_000);
    assert.equal((await store.waiting(KEY))[0]?.wake, "now", "it wakes for what it stands for");
  });

  it("reports a summary like any event, and does not fold assigned events", async (t) => {
    const { store, add, ids } = await openEvents(t);
    await add(...Array.from({ length: MAX_WAITING + 40 }, (_, index) => event(`e${index}`)));
    await store.tie(["e0", "e1"], "r1");
    await store.tidy(KEY, 6_000);
    await store.giveBack("r1");
    const waiting = await store.waiting(KEY, 4);
    assert.deepEqual(
      waiting.map(({ id }) => id),
      ["e0", "e1", "folded:e40", "e41"],
    );
    assert.equal(
      waiting[2]?.text,
      "39 older events, too many to report individually (all from other sources); the newest: text of e40",
    );
    await store.tie(["folded:e40"], "r2");
    await store.told("r2", 7_000);
    assert.equal((await ids()).includes("folded:e40"), false);
  });

  it("assigns an event to one run, then gives it back or settles it", async (t) => {
    const { store, add, ids } = await openEvents(t);
    await add(event("a", { wake: "now" }), event("b"), event("c"));
    assert.deepEqual([...(await store.tie(["a", "b"], "r1"))], ["a", "b"]);
    assert.deepEqual([...(await store.tie(["b", "c"], "r2"))], ["c"]);
    assert.deepEqual([await ids(), (await store.tiedRuns()).toSorted()], [[], ["r1", "r2"]]);
    assert.equal(await store.giveBack("r2"), false);
    assert.equal(await store.giveBack("r1"), true, "one of them is urgent");
    assert.deepEqual([await ids(), await store.tiedRuns()], [["a", "b", "c"], []]);
  });

  it("finds sessions with urgent events", async (t) => {
    const { store, add } = await openEvents(t);
    await add(
      event("a"),
      event("b", { sessionKey: "global", wake: "now" }),
      event("c", { sessionKey: "k", wake: "now" }),
    );
    await store.tie(["c"], "r1");
    assert.deepEqual(await store.urgentSessions(), ["global"]);
    assert.deepEqual(
      [await store.isUrgent("global"), await store.isUrgent("k"), await store.isUrgent(KEY)],
      [true, false, false],
    );
  });
});

describe("the text of an event", () => {
  it("is cut in the middle with a note, and keeps its end", () => {
    const text = `${"a".repeat(MAX_EVENT_CHARS)}<<<END>>>`;
    const kept = storedText(text);
    assert.ok(kept.length <= MAX_EVENT_CHARS);
    assert.match(kept, /^a+\n\[cut: 9 characters and more are left out here\]\na+<<<END>>>$/);
  });
  it("contains no characters that databases reject", () => assert.equal(storedText("a\0b\ud800 "), "ab"));
  it("is equal regardless of the ids in its markers", () => {
    const about = { source: "webhook" } as const;
    const text = (id: string) =>
      `${wrapExternalContent("x", about, "0123456789abcdef")} EXTERNAL_UNTRUSTED_CONTENT id="${id}"`;
    assert.equal(likenessOf(text("01ab")), likenessOf(text("01ac")));
    assert.notEqual(likenessOf("x"), likenessOf("y"));
  });
});

describe("the section of the prompt", () => {
  it("has events with times, indented continuation lines, and the number of remaining events", () => {
    const section = eventSection([event("a", { text: "one\n- [now] two\r\n# three" }), event("b")], 3, "UTC");
    const lines = section.split("\n").slice(-5);
    assert.equal(lines[0]?.replace(/\[.*?\]/, "[]"), "- [] one");
    assert.deepEqual(lines.slice(1, 3), ["  - [now] two", "  # three"]);
    assert.equal(lines[4], "(3 more will be reported in your next turn.)");
    assert.match(section, /^# Runtime events\n/);
    assert.doesNotMatch(eventSection([event("a")], 0, "UTC"), /more wait/);
  });

  it("shows how often an event was repeated", () =>
    assert.match(eventSection([{ ...event("a"), repeats: 2 }], 0, "UTC"), /^- \[[^\]]+, 3 times\] text of a$/m));

  const long = (id: string, length: number) => event(id, { text: "x".repeat(length) });
  const bounds: [what: string, events: SystemEvent[], told: number][] = [
    ["none", [], 0],
    ["twenty of many", Array.from({ length: MAX_EVENTS + 5 }, (_, index) => event(`${index}`)), MAX_EVENTS],
    ["the first, however long", [long("a", MAX_SECTION_CHARS + 1), event("b")], 1],
    ["as many as fit", [long("a", 1), long("b", MAX_SECTION_CHARS - 1), long("c", 1), event("d")], 2],
    ["all that fit", [long("a", 5), event("b")], 2],
  ];
  for (const [what, events, told] of bounds) {
    it(`reports ${what}`, () => assert.deepEqual(fitting(events), events.slice(0, told)));
  }
});
