/** Five counted failures within a minute: the plugin is quarantined, longer each time, and restarts by itself. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { defineService, optional, type Plugin, type PluginGateway } from "@svc/sdk";
import { createFakeClock } from "@svc/sdk/testing";
import { contractOf, settled, slotOf, startScene } from "./reload-scene.ts";
import { pluginOf } from "../../plugin-of.ts";

const limited = { timeout: 120_000 };
const contract = contractOf("ill", "ask", "break");
const Care = defineService<object>()("care", "1.0.0");
const boom = () => {
  throw new Error("boom");
};

/** Serves one method, and fails as the test requests. */
const illPlugin = (more: (gateway: PluginGateway) => void = () => {}): Plugin =>
  pluginOf("ill", { provides: [Care] }, (gateway) => {
    gateway.provide(Care, {});
    gateway.serve(contract, { ask: () => ({ ok: true }), break: boom });
    const handler = () => boom();
    gateway.route({ method: "GET", path: "/plugins/ill/x", auth: "plugin", summary: "-", handler });
    more(gateway);
  });

/** @param ill what the plugin does besides */
async function scene(t: TestContext, ill: (gateway: PluginGateway) => void = () => {}, more: Plugin[] = []) {
  const clock = createFakeClock();
  const slot = await slotOf(t, illPlugin(ill));
  const running = await startScene(t, [slot, ...more], { gateway: { clock } });
  const asks = () => running.client.call(contract.ask, {});
  return { ...running, clock, slot, asks };
}

describe("what counts", limited, () => {
  it("timers that throw", async (t) => {
    const { clock, state } = await scene(t, (gateway) => gateway.every(1_000, boom));
    await clock.advance(4_000);
    assert.equal(state("ill"), "active");
    await clock.advance(1_000);
    assert.equal(state("ill"), "quarantined");
  });

  it("not errors of methods and routes: any caller could stop a plugin with them", async (t) => {
    const { client, gateway, state, report } = await scene(t);
    for (let turn = 0; turn < 10; turn++) {
      await assert.rejects(client.call(contract.break, {}), { code: "INTERNAL" });
      assert.equal((await fetch(`${gateway.url.replace("ws", "http")}/plugins/ill/x`)).status, 500);
    }
    await settled();
    assert.deepEqual([state("ill"), report("ill")?.errors], ["active", 20]);
  });

  it("not four in each minute", async (t) => {
    const { clock, state } = await scene(t, (gateway) => gateway.every(15_000, boom));
    await clock.advance(600_000);
    assert.equal(state("ill"), "active");
  });

  it("not failures of a generation that was replaced", async (t) => {
    const { clock, slot, reload, state } = await scene(t, (gateway) => gateway.every(1_000, boom));
    await clock.advance(4_000);
    slot.become(illPlugin());
    await reload("ill");
    await clock.advance(4_000);
    assert.equal(state("ill"), "active");
  });
});

describe("a quarantine", limited, () => {
  it("returns UNAVAILABLE with a retry delay, reports its reason and end, and ends", async (t) => {
    let broken = true;
    const { clock, report, asks } = await scene(t, (gateway) =>
      gateway.every(1_000, () => (broken ? boom() : undefined)),
    );
    const begun = clock.now() + 5_000;
    await clock.advance(5_000);
    const { state, reason, retryAt } = report("ill") ?? {};
    assert.deepEqual([state, retryAt], ["quarantined", begun + 60_000]);
    assert.match(reason ?? "", /failed 5 times within 60 s; .+ svc plugins reload ill$/);
    await assert.rejects(asks(), (error: { code?: string; retryAfterMs?: number; message?: string }) => {
      assert.equal(error.code, "UNAVAILABLE");
      assert.match(error.message ?? "", /ill\.ask is unavailable: plugin ill is quarantined/);
      assert.equal(error.retryAfterMs, 60_000);
      return true;
    });
    broken = false;
    await clock.advance(59_999);
    assert.equal(report("ill")?.state, "quarantined");
    await clock.advance(1);
    assert.deepEqual(
      [report("ill")?.state, report("ill")?.retryAt, report("ill")?.generation],
      ["active", undefined, 2],
    );
    assert.deepEqual(await asks(), { ok: true });
  });

  it("lasts 1, 5, then always 30 minutes", async (t) => {
    const { clock, state, report } = await scene(t, (gateway) => gateway.every(1_000, boom));
    const lasted: number[] = [];
    for (let turn = 0; turn < 6; turn++) {
      await clock.advance(5_000);
      assert.equal(state("ill"), "quarantined");
      const restMs = (report("ill")?.retryAt ?? 0) - clock.now();
      lasted.push(restMs / 60_000);
      await clock.advance(restMs);
      assert.equal(state("ill"), "active");
    }
    assert.deepEqual(lasted, [1, 5, 30, 30, 30, 30]);
  });

  it("counts as the first one again after half an hour without failures", async (t) => {
    let broken = true;
    const { clock, report } = await scene(t, (gateway) => gateway.every(1_000, () => (broken ? boom() : undefined)));
    const rest = () => ((report("ill")?.retryAt ?? 0) - clock.now()) / 60_000;
    await clock.advance(5_000);
    assert.equal(rest(), 1);
    broken = false;
    await clock.advance(60_000 + 1_800_000);
    broken = true;
    await clock.advance(5_000);
    assert.equal(rest(), 1);
  });

  it("stops plugins that require it and restarts them afterwards; the others keep running", async (t) => {
    const log: string[] = [];
    const patient = (id: string, requires: Plugin["requires"]) =>
      pluginOf(id, { requires: requires ?? {} }, (gateway) =>
        gateway.start(() => (log.push(`start ${id}`), () => void log.push(`stop ${id}`))),
      );
    let broken = true;
    const more = [patient("needs", { care: Care }), patient("likes", { care: optional(Care) }), patient("other", {})];
    const { clock, report, state } = await scene(
      t,
      (gateway) => gateway.every(1_000, () => (broken ? boom() : undefined)),
      more,
    );
    log.length = 0;
    await clock.advance(5_000);
    assert.deepEqual([state("needs"), state("likes"), state("other")], ["pending", "active", "active"]);
    assert.match(report("needs")?.reason ?? "", /waits for plugin ill, which is in quarantine/);
    broken = false;
    await clock.advance(60_000);
    assert.deepEqual([state("ill"), state("needs")], ["active", "active"]);
    assert.deepEqual(log, ["stop needs", "start needs"]);
  });

  it("is ended at once by a reload, which cancels the retry", async (t) => {
    const { clock, slot, reload, report, asks } = await scene(t, (gateway) => gateway.every(1_000, boom));
    await clock.advance(5_000);
    slot.become(illPlugin());
    assert.equal((await reload("ill")).state, "active");
    assert.deepEqual(await asks(), { ok: true });
    assert.equal(report("ill")?.retryAt, undefined);
    await clock.advance(3_600_000);
    assert.equal(report("ill")?.generation, 2, "its retry was cancelled");
  });

  it("does not outlive the gateway", async (t) => {
    const { clock, gateway } = await scene(t, (gateway) => gateway.every(1_000, boom));
    await clock.advance(5_000);
    await gateway.stop();
    assert.equal(clock.pending, 0);
  });
});

describe("a start that fails", limited, () => {
  const failing = (begins: number[], now: () => number, isBroken: () => boolean) =>
    illPlugin((gateway) =>
      gateway.start(() => {
        begins.push(now());
        if (isBroken()) boom();
      }),
    );

  it("is retried after 1, 2, 4 and 8 seconds, then quarantined", async (t) => {
    const clock = createFakeClock();
    const begun = clock.now();
    const begins: number[] = [];
    const plugin = failing(
      begins,
      () => (clock.now() - begun) / 1_000,
      () => true,
    );
    const { state, report } = await startScene(t, [plugin], { gateway: { clock } });
    assert.equal(state("ill"), "failed");
    assert.equal(report("ill")?.retryAt, begun + 1_000);
    await clock.advance(15_000);
    assert.deepEqual(begins, [0, 1, 3, 7, 15]);
    assert.equal(state("ill"), "quarantined");
    assert.equal(report("ill")?.retryAt, begun + 15_000 + 60_000);
  });

  it("is retried, and once it succeeds, the plugins that wait for it start, too", async (t) => {
    const clock = createFakeClock();
    let broken = true;
    const needs = pluginOf("needs", { requires: { care: Care } }, () => {});
    const plugin = failing(
      [],
      () => 0,
      () => broken,
    );
    const { state, client } = await startScene(t, [plugin, needs], { gateway: { clock } });
    assert.deepEqual([state("ill"), state("needs")], ["failed", "pending"]);
    await assert.rejects(client.call(contract.ask, {}), { code: "UNAVAILABLE", retryAfterMs: 1_000 });
    broken = false;
    await clock.advance(1_000);
    assert.deepEqual([state("ill"), state("needs")], ["active", "active"]);
    assert.deepEqual(await client.call(contract.ask, {}), { ok: true });
  });
});
