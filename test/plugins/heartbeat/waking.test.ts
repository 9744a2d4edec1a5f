import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { GatewayError } from "@svc/sdk";
import { createFakeClock } from "@svc/sdk/testing";
import { RETRY_MS } from "../../../plugins/heartbeat/decision.ts";
import { COALESCE_MS, MAX_FAILING, PAUSES_MS, type Wake, Wakes } from "../../../plugins/heartbeat/waking.ts";
import { KEY } from "./events.ts";

const interval: Wake = { agentId: "main", sessionKey: KEY, reason: "interval", isForEvents: false };

async function open({ urgent = [KEY], opened = true } = {}) {
  const clock = createFakeClock();
  const scene = {
    urgent: new Set(urgent),
    answer: "started" as "started" | "skipped" | "busy",
    beats: [] as Wake[],
    refusal: undefined as Error | undefined,
  };
  const wakes = new Wakes({
    store: {
      isUrgent: async (key) => scene.urgent.has(key),
      urgentSessions: async () => [...scene.urgent],
    },
    agentOf: (key) => key.split(":")[1] ?? "main",
    async beat(wake) {
      if (scene.refusal) throw scene.refusal;
      scene.beats.push(wake);
      return scene.answer;
    },
    clock,
    log: { warn: () => undefined },
  });
  if (opened) {
    const before = [...scene.urgent];
    scene.urgent.clear();
    wakes.open();
    for (const key of before) scene.urgent.add(key);
  }
  const pass = async (ms: number) => {
    await clock.advance(ms);
    await turn();
  };
  return { wakes, scene, clock, pass };
}

describe("waking", () => {
  it("merges wakes within 250 ms, with the strongest reason", async () => {
    const { wakes, scene, pass } = await open();
    wakes.requestFor(KEY, "hook:wake");
    await pass(COALESCE_MS - 1);
    wakes.request(interval);
    assert.equal(scene.beats.length, 0);
    await pass(1);
    await pass(COALESCE_MS);
    assert.deepEqual(scene.beats, [{ ...interval, reason: "hook:wake" }]);
  });

  it("ignores a wake whose events no longer wait; a scheduled heartbeat needs none", async () => {
    const { wakes, scene, pass } = await open({ urgent: [] });
    wakes.requestFor(KEY, "hook:wake");
    await pass(COALESCE_MS);
    assert.equal(scene.beats.length, 0);
    wakes.request(interval);
    await pass(COALESCE_MS);
    assert.equal(scene.beats.length, 1);
  });

  it("checks again every second while the session is busy, with the time of the first check", async () => {
    const { wakes, scene, pass } = await open();
    scene.answer = "busy";
    wakes.requestFor(KEY, "cron:j");
    await pass(COALESCE_MS);
    await pass(2 * RETRY_MS);
    scene.answer = "started";
    await pass(10 * RETRY_MS);
    assert.deepEqual(
      scene.beats.map(({ reason, busySince }) => [reason, busySince]),
      [
        ["cron:j", undefined],
        ["cron:j", COALESCE_MS],
        ["cron:j", COALESCE_MS],
        ["cron:j", COALESCE_MS],
      ],
    );
  });

  it("stops when another turn got the events meanwhile", async () => {
    const { wakes, scene, pass } = await open();
    scene.answer = "busy";
    wakes.requestFor(KEY, "cron:j");
    await pass(COALESCE_MS);
    scene.urgent.clear();
    wakes.finished({ sessionKey: KEY, status: "ok" }, "told");
    await pass(10 * RETRY_MS);
    assert.equal(scene.beats.length, 1);
  });

  it("continues when more events wait than fit into one turn", async () => {
    const { wakes, scene, pass } = await open();
    wakes.finished({ sessionKey: KEY, status: "ok" }, "told");
    await pass(COALESCE_MS);
    assert.equal(scene.beats.length, 1);
  });

  it("repeats failed turns with growing pauses, then stops until a new event arrives", async () => {
    const { wakes, scene, pass } = await open();
    for (const [index, pauseMs] of PAUSES_MS.entries()) {
      wakes.finished({ sessionKey: KEY, status: "error" }, "urgent");
      await pass(pauseMs - 1);
      assert.equal(scene.beats.length, index);
      await pass(1);
      assert.equal(scene.beats.length, index + 1);
    }
    wakes.finished({ sessionKey: KEY, status: "error" }, "urgent");
    await pass(24 * 3_600_000);
    assert.equal(scene.beats.length, PAUSES_MS.length);
    wakes.requestFor(KEY, "hook:wake");
    await pass(COALESCE_MS);
    assert.equal(scene.beats.length, PAUSES_MS.length + 1);
  });

  const forgotten: [what: string, forget: (scene: Awaited<ReturnType<typeof open>>) => Promise<void> | void][] = [
    ["a turn that ended well", ({ wakes }) => wakes.finished({ sessionKey: KEY, status: "ok" }, "none")],
    ["nothing urgent given back", ({ wakes }) => wakes.finished({ sessionKey: KEY, status: "error" }, "given-back")],
    [
      "nothing urgent that waits",
      async ({ wakes, scene, pass }) => {
        scene.urgent.clear();
        wakes.requestFor(KEY, "hook:wake");
        await pass(COALESCE_MS);
        scene.urgent.add(KEY);
      },
    ],
    [
      "failures of a thousand other sessions",
      ({ wakes }) => {
        for (let index = 0; index < MAX_FAILING; index += 1)
          wakes.finished({ sessionKey: `agent:x:${index}`, status: "error" }, "urgent");
      },
    ],
  ];
  for (const [what, forget] of forgotten) {
    it(`restarts the count of failures after ${what}`, async () => {
      const all = await open();
      const { wakes, scene, pass } = all;
      const fail = () => wakes.finished({ sessionKey: KEY, status: "error" }, "urgent");
      for (const pauseMs of PAUSES_MS) {
        fail();
        await pass(pauseMs);
      }
      await forget(all);
      const before = scene.beats.filter(({ sessionKey }) => sessionKey === KEY).length;
      fail();
      await pass(PAUSES_MS[0] ?? 0);
      assert.equal(scene.beats.filter(({ sessionKey }) => sessionKey === KEY).length, before + 1);
    });
  }

  it("does not wait for the pause when a new event arrives", async () => {
    const { wakes, scene, pass } = await open();
    wakes.finished({ sessionKey: KEY, status: "error" }, "urgent");
    wakes.requestFor(KEY, "hook:wake");
    await pass(COALESCE_MS);
    assert.equal(scene.beats.length, 1);
    scene.urgent.clear();
    await pass(PAUSES_MS[0] ?? 0);
    assert.equal(scene.beats.length, 1);
  });

  it("does not repeat a turn that a person stopped", async () => {
    const { wakes, scene, pass } = await open();
    wakes.finished({ sessionKey: KEY, status: "aborted" }, "urgent");
    await pass(3_600_000);
    assert.equal(scene.beats.length, 0);
  });

  const refusals: [what: string, error: Error, afterMs: number][] = [
    ["as long as it is told", new GatewayError("UNAVAILABLE", "not now", { retryAfterMs: 2_000 }), 2_000],
    ["a minute where nobody says", new Error("odd"), 60_000],
  ];
  for (const [what, error, afterMs] of refusals) {
    it(`retries when a turn is refused, after ${what}`, async () => {
      const { wakes, scene, pass } = await open();
      scene.refusal = error;
      wakes.requestFor(KEY, "hook:wake");
      await pass(COALESCE_MS);
      scene.refusal = undefined;
      await pass(afterMs - 1);
      assert.equal(scene.beats.length, 0);
      await pass(1);
      assert.equal(scene.beats.length, 1);
    });
  }

  it("wakes for events of a former process once it is open, later for one agent", async () => {
    const { wakes, scene, pass } = await open({ urgent: [KEY, "agent:ops:x"], opened: false });
    wakes.requestFor(KEY, "hook:wake");
    await pass(COALESCE_MS);
    assert.equal(scene.beats.length, 0, "nothing starts before");
    wakes.open();
    await wakes.requestAll();
    await pass(COALESCE_MS);
    const woken = () => scene.beats.map(({ agentId, sessionKey }) => `${agentId} ${sessionKey}`);
    assert.deepEqual(woken(), [`main ${KEY}`, "ops agent:ops:x"]);
    await wakes.requestAll("ops");
    await pass(COALESCE_MS);
    assert.deepEqual(woken().slice(2), ["ops agent:ops:x"]);
  });

  it("leaves no timer and starts nothing after a stop", async () => {
    const { wakes, scene, clock, pass } = await open();
    wakes.requestFor(KEY, "hook:wake");
    wakes.stop();
    wakes.stop();
    wakes.requestFor(KEY, "hook:wake");
    assert.equal(clock.pending, 0);
    await pass(COALESCE_MS);
    assert.equal(scene.beats.length, 0);
  });
});
