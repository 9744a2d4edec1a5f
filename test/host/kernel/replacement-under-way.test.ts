/** Calls in flight while their plugin is replaced: they finish on the old version, or are interrupted at the deadline. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { defineService, GatewayError, type Plugin, type PluginGateway } from "@svc/sdk";
import { PluginControl } from "@svc/sdk/plugins";
import { createFakeClock } from "@svc/sdk/testing";
import { barrier, contractOf, settled, slotOf, startScene, until } from "./reload-scene.ts";
import { pluginOf } from "../../plugin-of.ts";

const limited = { timeout: 120_000 };
const shop = contractOf("shop", "ask", "slow", "extra");
const front = contractOf("front", "ask");
const Goods = defineService<object>()("goods", "1.0.0");

type More = (gateway: PluginGateway) => void;
const version = (answer: string, slow: () => unknown = () => ({}), more: More = () => {}): Plugin =>
  pluginOf("shop", (gateway) => {
    const handlers = { ask: () => ({ answer }), slow: async () => ({ answer, got: await slow() }) };
    gateway.serve({ ask: shop.ask, slow: shop.slow }, handlers);
    more(gateway);
  });

describe("a call in flight", limited, () => {
  it("finishes on the old code, even if it calls its own plugin or a dependent one", async (t) => {
    const clock = createFakeClock();
    const gate = barrier();
    const called: unknown[] = [];
    const old = pluginOf("shop", { provides: [Goods] }, (gateway) => {
      gateway.provide(Goods, {});
      gateway.serve(
        { ask: shop.ask, slow: shop.slow },
        {
          ask: () => ({ answer: "old" }),
          async slow({ principal }) {
            await gate.passed;
            called.push(await gateway.call(shop.ask, {}, { principal }));
            called.push(await gateway.call(front.ask, {}, { principal }));
            return { answer: "old, to the end" };
          },
        },
      );
    });
    const relying = pluginOf("front", { requires: { goods: Goods } }, (gateway) =>
      gateway.serve(front, { ask: ({ principal }) => gateway.call(shop.ask, {}, { principal }) }),
    );
    const slot = await slotOf(t, old);
    const { client, reload } = await startScene(t, [slot, relying], { gateway: { clock } });
    const slow = client.call(shop.slow, {});
    await client.call(shop.ask, {}); // once it returns, the slow call has begun
    slot.become({ ...version("new", undefined, (gateway) => gateway.provide(Goods, {})), provides: [Goods] });
    const reloading = reload("shop");
    await until(() => clock.dueIn.includes(3_000), "the wait for the calls of the old code");
    const waiting = client.call(shop.ask, {});
    await settled(20);
    gate.open();
    assert.deepEqual(await slow, { answer: "old, to the end" });
    assert.deepEqual(called, [{ answer: "old" }, { answer: "old" }]);
    assert.deepEqual(await waiting, { answer: "new" });
    assert.equal((await reloading).ok, true);
  });

  it("that calls its plugin through an independent plugin waits for the new version and succeeds", async (t) => {
    const clock = createFakeClock();
    const gate = barrier();
    const through = pluginOf("front", (gateway) =>
      gateway.serve(front, { ask: ({ principal }) => gateway.call(shop.ask, {}, { principal }) }),
    );
    const round = (answer: string) =>
      pluginOf("shop", (gateway) =>
        gateway.serve(
          { ask: shop.ask, slow: shop.slow },
          {
            ask: () => ({ answer }),
            slow: async ({ principal }) => (await gate.passed, gateway.call(front.ask, {}, { principal })),
          },
        ),
      );
    const slot = await slotOf(t, round("old"));
    const { client, reload } = await startScene(t, [slot, through], { gateway: { clock } });
    const slow = client.call(shop.slow, {});
    await client.call(shop.ask, {});
    slot.become(round("new"));
    const reloading = reload("shop");
    await until(() => clock.dueIn.includes(3_000));
    await settled(20);
    gate.open();
    await settled(20);
    await clock.advance(3_000);
    assert.equal((await reloading).ok, true);
    assert.deepEqual(await slow, { answer: "new" });
  });

  it("that lasts longer than three seconds is aborted by its signal, and the new version serves", async (t) => {
    const clock = createFakeClock();
    let aborted = false;
    const old = pluginOf("shop", (gateway) =>
      gateway.serve(
        { ask: shop.ask, slow: shop.slow },
        {
          ask: () => ({ answer: "old" }),
          slow: () =>
            new Promise((_, reject) => {
              gateway.signal.addEventListener("abort", () => {
                aborted = true;
                reject(new GatewayError("UNAVAILABLE", "stopping"));
              });
            }),
        },
      ),
    );
    const slot = await slotOf(t, old);
    const { client, reload } = await startScene(t, [slot], { gateway: { clock } });
    const slow = client.call(shop.slow, {});
    slow.catch(() => undefined);
    await client.call(shop.ask, {});
    slot.become(version("new"));
    const reloading = reload("shop");
    await until(() => clock.dueIn.includes(3_000));
    await settled(20);
    await clock.advance(2_999);
    assert.equal(aborted, false);
    await clock.advance(1);
    assert.equal((await reloading).ok, true);
    assert.equal(aborted, true);
    await assert.rejects(slow, { code: "UNAVAILABLE", message: "stopping" });
    assert.deepEqual(await client.call(shop.ask, {}), { answer: "new" });
  });

  it("aborts its own signal when its plugin is replaced", async (t) => {
    const clock = createFakeClock();
    const reasons: string[] = [];
    const old = pluginOf("shop", (gateway) =>
      gateway.serve(
        { ask: shop.ask, slow: shop.slow },
        {
          ask: () => ({}),
          slow: ({ signal }) =>
            new Promise((_, reject) => {
              signal.addEventListener("abort", () => {
                reasons.push("aborted");
                reject(new GatewayError("UNAVAILABLE", "stopping"));
              });
            }),
        },
      ),
    );
    const slot = await slotOf(t, old);
    const { client, reload } = await startScene(t, [slot], { gateway: { clock } });
    const slow = client.call(shop.slow, {});
    slow.catch(() => undefined);
    await client.call(shop.ask, {});
    slot.become(version("new"));
    const reloading = reload("shop");
    await until(() => clock.dueIn.includes(3_000));
    await settled(20);
    await clock.advance(3_000);
    await reloading;
    assert.deepEqual(reasons, ["aborted"], "Call.signal: aborts when the plugin stops");
  });

  it("that reloads its own plugin does not wait for itself", async (t) => {
    const own = (answer: string) =>
      pluginOf("shop", { requires: { control: PluginControl } }, (gateway) =>
        gateway.serve(
          { ask: shop.ask, slow: shop.slow },
          {
            ask: () => ({ answer }),
            slow: async () => ({ ...(await gateway.services.control.reload("shop")), by: answer }),
          },
        ),
      );
    const clock = createFakeClock();
    const slot = await slotOf(t, own("old"));
    const { client } = await startScene(t, [slot], { gateway: { clock } });
    slot.become(own("new"));
    const told = (await client.call(shop.slow, {})) as { ok: boolean; by: string; heldMs: number };
    assert.deepEqual([told.ok, told.by, told.heldMs], [true, "old", 0]);
    assert.deepEqual(await client.call(shop.ask, {}), { answer: "new" });
  });

  it("of another plugin that requests the reload is not waited for", async (t) => {
    const neighbour = pluginOf("front", { requires: { control: PluginControl } }, (gateway) =>
      gateway.serve(front, { ask: async () => ({ ok: (await gateway.services.control.reload("shop")).ok }) }),
    );
    const slot = await slotOf(t, version("old"));
    const { client } = await startScene(t, [slot, neighbour]);
    slot.become(version("new"));
    assert.deepEqual(await client.call(front.ask, {}), { ok: true });
    assert.deepEqual(await client.call(shop.ask, {}), { answer: "new" });
  });

  it("does not matter for concurrent reloads, which run one after another", async (t) => {
    const slot = await slotOf(t, version("old"));
    const { reload } = await startScene(t, [slot]);
    slot.become(version("new"));
    const told = await Promise.all([reload("shop"), reload("shop"), reload("shop")]);
    assert.deepEqual(
      told.map(({ ok, generation }) => [ok, generation]),
      [
        [true, 2],
        [true, 3],
        [true, 4],
      ],
    );
  });
});
