/** Calls in flight while their plugin is replaced: they finish on the old version, or are interrupted at the deadline. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { type Call, defineService, GatewayError, type Plugin, type PluginGateway } from "@svc/sdk";
import { PluginControl } from "@svc/sdk/plugins";
import { createFakeClock } from "@svc/sdk/testing";
import { barrier, contractOf, settled, slotOf, startScene, until } from "./reload-scene.ts";
import { pluginOf } from "../../plugin-of.ts";

const limited = { timeout: 120_000 };
const shop = contractOf("shop", "ask", "slow");
const front = contractOf("front", "ask");
const Goods = defineService<object>()("goods", "1.0.0");

type Slow = (call: Call<unknown>, gateway: PluginGateway) => Promise<object>;
const version = (answer: string, slow: Slow = async () => ({}), fields: Partial<Plugin> = {}): Plugin =>
  pluginOf("shop", fields, (gateway) => {
    if (fields.provides) gateway.provide(Goods, {});
    gateway.serve(shop, { ask: () => ({ answer }), slow: (call) => slow(call, gateway) });
  });
/** Passes its calls on to the shop. */
const through = (requires: Plugin["requires"] = {}) =>
  pluginOf("front", { requires }, (gateway) =>
    gateway.serve(front, { ask: ({ principal }) => gateway.call(shop.ask, {}, { principal }) }),
  );

/** A slow call is in flight when the old version is replaced, until the wait for it begins. */
async function scene(t: TestContext, old: Plugin, next: Plugin, more: Plugin[] = []) {
  const clock = createFakeClock();
  const slot = await slotOf(t, old);
  const { client, reload } = await startScene(t, [slot, ...more], { gateway: { clock } });
  const slow = client.call(shop.slow, {});
  slow.catch(() => undefined);
  await client.call(shop.ask, {}); // once it returns, the slow call has begun
  slot.become(next);
  const reloading = reload("shop");
  await until(() => clock.dueIn.includes(3_000), "the wait for the calls of the old code");
  const asks = () => client.call(shop.ask, {});
  return { clock, slow, reloading, asks };
}

describe("a call in flight", limited, () => {
  it("finishes on the old code, even if it calls its own plugin or a dependent one", async (t) => {
    const gate = barrier();
    const called: unknown[] = [];
    const slowly: Slow = async ({ principal }, gateway) => {
      await gate.passed;
      called.push(await gateway.call(shop.ask, {}, { principal }));
      called.push(await gateway.call(front.ask, {}, { principal }));
      return { answer: "old, to the end" };
    };
    const [old, next] = [
      version("old", slowly, { provides: [Goods] }),
      version("new", undefined, { provides: [Goods] }),
    ];
    const { slow, asks, reloading } = await scene(t, old, next, [through({ goods: Goods })]);
    const waiting = asks();
    await settled(20);
    gate.open();
    assert.deepEqual(await slow, { answer: "old, to the end" });
    assert.deepEqual(called, [{ answer: "old" }, { answer: "old" }]);
    assert.deepEqual(await waiting, { answer: "new" });
    assert.equal((await reloading).ok, true);
  });

  it("that calls its plugin through an independent plugin waits for the new version and succeeds", async (t) => {
    const gate = barrier();
    const round: Slow = async ({ principal }, gateway) => {
      await gate.passed;
      return gateway.call(front.ask, {}, { principal });
    };
    const { clock, slow, reloading } = await scene(t, version("old", round), version("new", round), [through()]);
    await settled(20);
    gate.open();
    await settled(20);
    await clock.advance(3_000);
    assert.equal((await reloading).ok, true);
    assert.deepEqual(await slow, { answer: "new" });
  });

  it("that lasts longer than three seconds is aborted by its signals, and the new version serves", async (t) => {
    const aborted: string[] = [];
    const endless: Slow = ({ signal }, gateway) =>
      new Promise((_, reject) => {
        signal.addEventListener("abort", () => aborted.push("call"));
        gateway.signal.addEventListener("abort", () => {
          aborted.push("plugin");
          reject(new GatewayError("UNAVAILABLE", "stopping"));
        });
      });
    const { clock, slow, reloading, asks } = await scene(t, version("old", endless), version("new"));
    await settled(20);
    await clock.advance(2_999);
    assert.deepEqual(aborted, []);
    await clock.advance(1);
    assert.equal((await reloading).ok, true);
    assert.deepEqual(new Set(aborted), new Set(["call", "plugin"]));
    await assert.rejects(slow, { code: "UNAVAILABLE", message: "stopping" });
    assert.deepEqual(await asks(), { answer: "new" });
  });

  it("that reloads its own plugin does not wait for itself", async (t) => {
    const own = (answer: string) =>
      pluginOf("shop", { requires: { control: PluginControl } }, (gateway) =>
        gateway.serve(shop, {
          ask: () => ({ answer }),
          slow: async () => ({ ...(await gateway.services.control.reload("shop")), by: answer }),
        }),
      );
    const slot = await slotOf(t, own("old"));
    const { client } = await startScene(t, [slot], { gateway: { clock: createFakeClock() } });
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
    const generations = told.map(({ ok, generation }) => `${ok} ${generation}`);
    assert.deepEqual(generations, ["true 2", "true 3", "true 4"]);
  });
});
