import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { GatewayError } from "@svc/sdk";
import type { RunRequest, RunState } from "@svc/sdk/services";
import { createFakeClock } from "@svc/sdk/testing";
import { COALESCE_MS, PAUSES_MS, Wakes } from "../../../plugins/heartbeat/waking.ts";
import { KEY } from "./events.ts";

const running: RunState = { runId: "r0", sessionKey: KEY, origin: "chat", status: "running" };

async function open(_t: TestContext, { urgent = [KEY], opened = true } = {}) {
  const clock = createFakeClock();
  const scene = {
    urgent: new Set(urgent),
    active: [] as RunState[],
    started: [] as RunRequest[],
    refusal: undefined as Error | undefined,
  };
  const wakes = new Wakes({
    store: {
      isUrgent: async (key) => scene.urgent.has(key),
      urgentSessions: async () => [...scene.urgent],
    },
    runs: {
      active: () => scene.active,
      async start(request) {
        if (scene.refusal) throw scene.refusal;
        scene.started.push(request);
        const { runId, sessionKey, origin } = request;
        return { fresh: true, state: { runId, sessionKey, origin, status: "accepted" }, acceptedAt: 0 };
      },
    },
    clock,
    log: { warn: () => undefined, info: () => undefined },
    newRunId: () => `w${scene.started.length + 1}`,
  });
  if (opened) {
    const before = [...scene.urgent];
    scene.urgent.clear();
    await wakes.open();
    for (const key of before) scene.urgent.add(key);
  }
  const pass = async (ms: number) => {
    await clock.advance(ms);
    await turn();
  };
  return { wakes, scene, clock, pass };
}

describe("waking", () => {
  it("starts one turn for all that comes within a quarter of a second", async (t) => {
    const { wakes, scene, pass } = await open(t);
    wakes.request(KEY);
    await pass(COALESCE_MS - 1);
    wakes.request(KEY);
    assert.equal(scene.started.length, 0);
    await pass(1);
    await pass(COALESCE_MS);
    const [request, ...others] = scene.started;
    assert.ok(request);
    assert.equal(others.length, 0);
    const { message, principal, ...rest } = request;
    assert.deepEqual(rest, { runId: "w1", sessionKey: KEY, origin: "heartbeat" });
    assert.match(
      message,
      /HEARTBEAT\.md[^]*HEARTBEAT_OK[^]*\n\nCurrent time: \w+day, \d{4}-\d\d-\d\d, \d\d:\d\d \(.+\)$/,
    );
    assert.deepEqual([principal.id, principal.scopes], ["plugin:heartbeat", ["operator.read", "operator.write"]]);
  });

  it("starts none when nothing urgent waits", async (t) => {
    const { wakes, scene, pass } = await open(t, { urgent: [] });
    wakes.request(KEY);
    await pass(COALESCE_MS);
    assert.equal(scene.started.length, 0);
  });

  for (const [what, told] of [
    ["does", false],
    ["does not, when that run was told", true],
  ] as const) {
    it(`waits for the run of the session, and then ${what}`, async (t) => {
      const { wakes, scene, pass } = await open(t);
      scene.active.push(running);
      wakes.request(KEY);
      await pass(60_000);
      assert.equal(scene.started.length, 0);
      scene.active.length = 0;
      if (told) scene.urgent.clear();
      wakes.finished({ sessionKey: KEY, status: "ok" }, told ? "told" : "none");
      await pass(COALESCE_MS);
      assert.equal(scene.started.length, told ? 0 : 1);
    });
  }

  it("goes on when more waited than one turn is told", async (t) => {
    const { wakes, scene, pass } = await open(t);
    wakes.finished({ sessionKey: KEY, status: "ok" }, "told");
    await pass(COALESCE_MS);
    assert.equal(scene.started.length, 1);
  });

  it("repeats turns that failed after longer and longer pauses, and gives up until something new comes", async (t) => {
    const { wakes, scene, pass } = await open(t);
    for (const [index, pauseMs] of PAUSES_MS.entries()) {
      wakes.finished({ sessionKey: KEY, status: "error" }, "urgent");
      await pass(pauseMs - 1);
      assert.equal(scene.started.length, index);
      await pass(1);
      assert.equal(scene.started.length, index + 1);
    }
    wakes.finished({ sessionKey: KEY, status: "error" }, "urgent");
    await pass(24 * 3_600_000);
    assert.equal(scene.started.length, PAUSES_MS.length);
    wakes.request(KEY);
    await pass(COALESCE_MS);
    assert.equal(scene.started.length, PAUSES_MS.length + 1);
  });

  it("does not wait for such a pause when something new comes", async (t) => {
    const { wakes, scene, pass } = await open(t);
    wakes.finished({ sessionKey: KEY, status: "error" }, "urgent");
    wakes.request(KEY);
    await pass(COALESCE_MS);
    assert.equal(scene.started.length, 1);
    scene.urgent.clear();
    await pass(PAUSES_MS[0] ?? 0);
    assert.equal(scene.started.length, 1);
  });

  it("does not repeat a turn that somebody stopped", async (t) => {
    const { wakes, scene, pass } = await open(t);
    wakes.finished({ sessionKey: KEY, status: "aborted" }, "urgent");
    await pass(3_600_000);
    assert.equal(scene.started.length, 0);
  });

  const refusals: [what: string, error: Error, afterMs: number][] = [
    ["as long as it is told", new GatewayError("UNAVAILABLE", "not now", { retryAfterMs: 2_000 }), 2_000],
    ["a minute where nobody says", new Error("odd"), 60_000],
  ];
  for (const [what, error, afterMs] of refusals) {
    it(`tries again when a turn is refused, after ${what}`, async (t) => {
      const { wakes, scene, pass } = await open(t);
      scene.refusal = error;
      wakes.request(KEY);
      await pass(COALESCE_MS);
      scene.refusal = undefined;
      await pass(afterMs - 1);
      assert.equal(scene.started.length, 0);
      await pass(1);
      assert.equal(scene.started.length, 1);
    });
  }

  it("makes up for what a former process left, once it is opened", async (t) => {
    const { wakes, scene, pass } = await open(t, { urgent: [KEY, "global"], opened: false });
    wakes.request(KEY);
    await pass(COALESCE_MS);
    assert.equal(scene.started.length, 0, "nothing starts before");
    await wakes.open();
    await wakes.open();
    await pass(COALESCE_MS);
    assert.deepEqual(
      scene.started.map(({ sessionKey }) => sessionKey),
      [KEY, "global"],
    );
  });

  it("leaves no timer and starts nothing after a stop", async (t) => {
    const { wakes, scene, clock, pass } = await open(t);
    wakes.request(KEY);
    wakes.stop();
    wakes.stop();
    wakes.request(KEY);
    assert.equal(clock.pending, 0);
    await pass(COALESCE_MS);
    assert.equal(scene.started.length, 0);
  });
});
