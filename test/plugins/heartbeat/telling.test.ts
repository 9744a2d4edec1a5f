import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { GatewayError } from "@svc/sdk";
import type { RunState } from "@svc/sdk/agents";
import { createFakeClock } from "@svc/sdk/testing";
import { PATIENCE_MS, Telling } from "../../../plugins/heartbeat/telling.ts";
import { event, KEY, openEvents } from "./events.ts";

const alive = new AbortController().signal;

async function open(t: TestContext) {
  const events = await openEvents(t);
  const states = new Map<string, RunState["status"]>();
  const clock = createFakeClock(9_000);
  const warned: string[] = [];
  const make = () =>
    new Telling({
      waker: () => null,
      store: events.store,
      runs: {
        state: async (runId) => {
          const status = states.get(runId);
          return status && { runId, sessionKey: KEY, source: "test", status };
        },
      },
      agents: { timeZone: "Asia/Kolkata" },
      clock,
      log: { warn: (_, message) => void warned.push(message) },
    });
  const telling = make();
  const prompt = async (runId: string, signal = alive, by = telling) =>
    (await by.prompt({ runId, sessionKey: KEY, system: "You are.", tools: [] }, signal))?.system;
  /** The run `r1` has the event `a`. */
  const begun = async () => {
    await events.add(event("a"));
    await prompt("r1");
  };
  return { ...events, telling, make, states, prompt, begun, clock, warned };
}

describe("telling", () => {
  it("adds events to the prompt of one run, and not again after it succeeded", async (t) => {
    const { add, prompt, telling } = await open(t);
    await add(event("a"), event("b"));
    assert.match(
      (await prompt("r1")) ?? "",
      /^You are\.\n\n# Runtime events[^]*- \[Thu 1970-01-01 05:30 GMT\+5:30\] text of a\n- \[.*\] text of b$/,
      "events have their time by the clock of the person",
    );
    assert.equal(await prompt("r2"), undefined, "the first run has them");
    assert.equal(await telling.finished({ runId: "r1", status: "ok" }), "told");
    assert.equal(await prompt("r3"), undefined);
    assert.equal(await telling.finished({ runId: "r3", status: "ok" }), "none");
  });

  it("reports the number of remaining events, and reports those next", async (t) => {
    const { add, prompt } = await open(t);
    await add(...Array.from({ length: 23 }, (_, index) => event(`e${index}`)));
    const first = (await prompt("r1")) ?? "";
    assert.match(first, /text of e19\n\(3 more will be reported in your next turn\.\)$/);
    assert.equal(first.match(/^- /gm)?.length, 20);
    assert.equal((await prompt("r2"))?.match(/^- /gm)?.length, 3);
  });

  it("does not delay a run when the storage is busy: the events wait for the next turn", async (t) => {
    const { add, prompt, telling, ids, broken, clock, warned, store } = await open(t);
    await add(event("a"));
    let serve = () => {};
    broken.reads = new Promise((resolve) => (serve = resolve));
    const begun = prompt("r1");
    await clock.advance(PATIENCE_MS);
    assert.equal(await begun, undefined);
    assert.equal(clock.pending, 0);
    const finished = telling.finished({ runId: "r1", status: "ok" });
    serve();
    assert.equal(await finished, "given-back", "its model did not see them");
    assert.deepEqual([await ids(), await store.tiedRuns()], [["a"], []]);
    broken.transactions = () => Promise.reject(new GatewayError("UNAVAILABLE", "too many calls wait"));
    assert.equal(await prompt("r2"), undefined);
    delete broken.transactions;
    assert.match((await prompt("r3")) ?? "", /text of a/);
    assert.equal(warned.length, 2);
  });

  it("completes prompts in progress when it stops, and leaves events to the next generation", async (t) => {
    const { add, prompt, telling, ids } = await open(t);
    await add(event("a"));
    const gone = new AbortController();
    const begun = prompt("r1", gone.signal);
    await telling.stop();
    gone.abort();
    assert.match((await begun) ?? "", /text of a/, "what is tied to a run was shown to it");
    await add(event("b"));
    assert.equal(await prompt("r2"), undefined);
    assert.deepEqual(await ids(), ["b"]);
  });

  const ends = [
    ["ok", "told", []],
    ["error", "given-back", ["a"]],
  ] as const;
  for (const [status, settled, waiting] of ends) {
    it(`follows a run of its former generation to its end: ${status}`, async (t) => {
      const { begun, make, states, ids } = await open(t);
      await begun();
      states.set("r1", "running");
      const next = make();
      await next.catchUp();
      assert.equal(await next.finished({ runId: "r1", status }), settled);
      assert.deepEqual(await ids(), waiting);
    });
  }

  it("settles a run of its former generation whose end it missed", async (t) => {
    const { begun, make, states, ids } = await open(t);
    await begun();
    states.set("r1", "running");
    const next = make();
    await next.catchUp();
    states.set("r1", "error");
    await next.catchUp();
    assert.deepEqual(await ids(), ["a"]);
  });

  for (const status of ["error", "aborted"] as const) {
    it(`gives events back when the run ends with ${status}`, async (t) => {
      const { add, prompt, telling, ids } = await open(t);
      await add(event("a"), event("b", { wake: "now" }));
      await prompt("r1");
      assert.equal(await telling.finished({ runId: "r1", status }), "urgent");
      assert.deepEqual(await ids(), ["a", "b"]);
      assert.match((await prompt("r2")) ?? "", /text of a/);
      assert.equal(await telling.finished({ runId: "r2", status: "ok" }), "told");
    });
  }

  it("gives back events that missed the prompt, although the run succeeded", async (t) => {
    const { add, prompt, telling, ids } = await open(t);
    await add(event("a"));
    assert.equal(await prompt("r1", AbortSignal.abort()), undefined);
    assert.equal(await telling.finished({ runId: "r1", status: "ok" }), "given-back");
    assert.deepEqual(await ids(), ["a"]);
  });

  it("gives back events of a run that was stopped meanwhile", async (t) => {
    const { add, prompt, telling, ids } = await open(t);
    await add(event("a"));
    const taking = prompt("r1");
    assert.equal(await telling.finished({ runId: "r1", status: "aborted" }), "given-back");
    await taking;
    assert.deepEqual(await ids(), ["a"]);
  });

  for (const status of ["ok", "error"] as const) {
    it(`settles events later if storage failed at the end of a run that was ${status}`, async (t) => {
      const { begun, telling, ids, broken, store, states } = await open(t);
      await begun();
      broken.transactions = () => Promise.reject(new GatewayError("UNAVAILABLE", "the disk is full"));
      assert.equal(await telling.finished({ runId: "r1", status }), "none");
      delete broken.transactions;
      states.set("r1", "running"); // what is known here goes before the record
      await telling.catchUp();
      assert.deepEqual([await ids(), await store.tiedRuns()], [status === "ok" ? [] : ["a"], []]);
    });
  }

  const states: [status: RunState["status"] | undefined, waits: string[], tied: string[]][] = [
    ["ok", [], []],
    ["accepted", [], ["r1"]],
    ["running", [], ["r1"]],
    ["error", ["a"], []],
    ["aborted", ["a"], []],
    ["interrupted", ["a"], []],
    [undefined, ["a"], []],
  ];
  for (const [status, waits, tied] of states) {
    it(`uses the record of the run after a restart: ${status ?? "none"}`, async (t) => {
      const { begun, make, states: recorded, ids, store } = await open(t);
      await begun();
      if (status) recorded.set("r1", status);
      await make().catchUp();
      assert.deepEqual([await ids(), await store.tiedRuns()], [waits, tied]);
    });
  }
});
