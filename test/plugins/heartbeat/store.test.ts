import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { wrapExternalContent } from "@svc/sdk/external-content";
import type { SystemEvent } from "@svc/sdk/heartbeat";
import { MAX_WAITING } from "../../../plugins/heartbeat/event-store.ts";
import { likenessOf, MAX_EVENT_CHARS, storedText } from "../../../plugins/heartbeat/event-text.ts";
import { eventSection, fitting, MAX_EVENTS, MAX_SECTION_CHARS } from "../../../plugins/heartbeat/prompt-section.ts";
import { event, KEY, openEvents } from "./events.ts";

describe("the queue of events", () => {
  it("keeps them by session, in the order they came", async (t) => {
    const { store, add, ids } = await openEvents(t);
    await add(event("b"), event("a", { at: 1 }), event("c", { sessionKey: "global" }));
    assert.deepEqual([await ids(), await ids("global")], [["b", "a"], ["c"]]);
    assert.deepEqual((await store.waiting(KEY))[0], event("b"));
  });

  it("changes nothing for an id it knows, told or not", async (t) => {
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
    it(`tells the newest once: ${what}`, async (t) => {
      const { add, ids } = await openEvents(t);
      for (const [index, changes] of [...first, second].entries()) await add(event(`e${index}`, changes));
      assert.deepEqual(await ids(), waiting);
    });
  }

  it("takes the same text again once the first was handed to a run", async (t) => {
    const { store, add, ids } = await openEvents(t);
    await add(event("a", { text: "x" }));
    await store.tie(["a"], "r1");
    await add(event("b", { text: "x" }));
    assert.deepEqual(await ids(), ["b"]);
  });

  it("remembers the id of one that was left out", async (t) => {
    const { store, add, ids } = await openEvents(t);
    await add(event("a", { text: "x" }), event("b", { text: "x" }));
    await store.tie(["a"], "r1");
    await store.told("r1", 6_000);
    await add(event("b", { text: "x" }));
    assert.deepEqual(await ids(), []);
  });

  it("undoes the transaction of one too many, and of nothing else", async (t) => {
    const { storage, store, add, ids } = await openEvents(t);
    await add(...Array.from({ length: MAX_WAITING }, (_, index) => event(`e${index}`)));
    assert.equal(await store.occupied(KEY), MAX_WAITING);
    await storage.migrate("test", ["CREATE TABLE other (n INTEGER)"]);
    const other = { sql: "INSERT INTO other VALUES (1)" };
    await assert.rejects(storage.transaction([other, ...store.add(event("more"), 1)]), { code: "CONFLICT" });
    assert.deepEqual(await storage.all("SELECT * FROM other"), []);
    assert.equal((await ids()).length, MAX_WAITING);
    await add(
      event("e0"),
      event("again", { text: `text of e${MAX_WAITING - 1}` }),
      event("o", { sessionKey: "global" }),
    );
    assert.deepEqual(await ids("global"), ["o"]);
    assert.equal(await store.occupied("global"), 1);
  });

  it("hands an event to one run, and takes it back or settles it", async (t) => {
    const { store, add, ids } = await openEvents(t);
    await add(event("a", { wake: "now" }), event("b"), event("c"));
    assert.deepEqual([...(await store.tie(["a", "b"], "r1"))], ["a", "b"]);
    assert.deepEqual([...(await store.tie(["b", "c"], "r2"))], ["c"]);
    assert.deepEqual([await ids(), (await store.tiedRuns()).toSorted()], [[], ["r1", "r2"]]);
    assert.equal(await store.giveBack("r2"), false);
    assert.equal(await store.giveBack("r1"), true, "one of them is urgent");
    assert.deepEqual([await ids(), await store.tiedRuns()], [["a", "b", "c"], []]);
  });

  it("knows which sessions are to be woken", async (t) => {
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
  it("is cut in the middle, where it says so, and keeps its end", () => {
    const text = `${"a".repeat(MAX_EVENT_CHARS)}<<<END>>>`;
    const kept = storedText(text);
    assert.ok(kept.length <= MAX_EVENT_CHARS);
    assert.match(kept, /^a+\n\[cut: 9 characters and more are left out here\]\na+<<<END>>>$/);
  });
  it("holds nothing a database refuses", () => assert.equal(storedText("a\0b\ud800 "), "ab"));
  it("says the same whatever the ids of its markers", () => {
    const about = { source: "webhook" } as const;
    const text = (id: string) =>
      `${wrapExternalContent("x", about, "0123456789abcdef")} EXTERNAL_UNTRUSTED_CONTENT id="${id}"`;
    assert.equal(likenessOf(text("01ab")), likenessOf(text("01ac")));
    assert.notEqual(likenessOf("x"), likenessOf("y"));
  });
});

describe("the section of the prompt", () => {
  it("has the events with their times, other lines indented, and how many more there are", () => {
    const section = eventSection([event("a", { text: "one\n- [now] two\r\n# three" }), event("b")], 3);
    const lines = section.split("\n").slice(-5);
    assert.equal(lines[0]?.replace(/\[.*?\]/, "[]"), "- [] one");
    assert.deepEqual(lines.slice(1, 3), ["  - [now] two", "  # three"]);
    assert.equal(lines[4], "(3 more wait for your next turn.)");
    assert.match(section, /^# Runtime events\n/);
    assert.doesNotMatch(eventSection([event("a")], 0), /more wait/);
  });

  const long = (id: string, length: number) => event(id, { text: "x".repeat(length) });
  const bounds: [what: string, events: SystemEvent[], told: number][] = [
    ["none", [], 0],
    ["twenty of many", Array.from({ length: MAX_EVENTS + 5 }, (_, index) => event(`${index}`)), MAX_EVENTS],
    ["the first, however long", [long("a", MAX_SECTION_CHARS + 1), event("b")], 1],
    ["as many as fit", [long("a", 1), long("b", MAX_SECTION_CHARS - 1), long("c", 1), event("d")], 2],
    ["all that fit", [long("a", 5), event("b")], 2],
  ];
  for (const [what, events, told] of bounds) {
    it(`tells ${what}`, () => assert.deepEqual(fitting(events), events.slice(0, told)));
  }
});
