/** Gates deny while their plugin is not running; only disabling the plugin opens them. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import {
  authRequired,
  defineHook,
  definePlugin,
  defineService,
  notReady,
  type Plugin,
  type PluginGateway,
} from "@svc/sdk";
import { createFakeClock, testGateway } from "@svc/sdk/testing";
import { barrier, contractOf, settled, slotOf, startScene, until } from "./reload-scene.ts";
import { pluginOf } from "../../plugin-of.ts";

const limited = { timeout: 120_000 };
const shop = contractOf("shop", "guarded", "free");
const shopPlugin = pluginOf("shop", (gateway) =>
  gateway.serve(shop, { guarded: () => ({ ok: true }), free: () => ({ ok: true }) }),
);
const SHUT = { code: "UNAVAILABLE", message: "plugin warden is not running", retryAfterMs: 1_000 };

type Setup = (gateway: PluginGateway) => void | Promise<void>;
/** Taps the gate of `shop.guarded` and allows every call; `more` runs afterwards. */
const warden = (more: Setup = () => {}, fields: Partial<Plugin> = {}): Plugin =>
  definePlugin({
    id: "warden",
    api: "^1.0.0",
    setup(gateway) {
      gateway.hooks.rpcBefore.for("shop.guarded").tap(() => undefined);
      return more(gateway);
    },
    ...fields,
  } as Plugin);
const MANIFEST = { id: "warden", gates: ["rpcBefore:shop.guarded"] };

async function scene(t: TestContext, plugin: unknown, options: Parameters<typeof startScene>[2] = {}) {
  const slot = await slotOf(t, plugin, MANIFEST);
  const running = await startScene(t, [shopPlugin, slot], options);
  const guarded = () => running.client.call(shop.guarded, {});
  const shut = async () => {
    await assert.rejects(guarded(), SHUT);
    assert.deepEqual(await running.client.call(shop.free, {}), { ok: true }, "another key is open");
  };
  const open = async () => assert.deepEqual(await guarded(), { ok: true });
  return { ...running, slot, shut, open };
}

describe("a gate that a package lists is closed", limited, () => {
  const fail = () => {
    throw new Error("boom");
  };
  const Nothing = defineService<object>()("nothing", "1.0.0");
  const away: [why: string, plugin: unknown, state: string][] = [
    ["when its plugin cannot be imported", fail, "failed"],
    ["when its setup throws", warden(fail), "failed"],
    ["when it throws before it has tapped", pluginOf("warden", fail), "failed"],
    ["when it needs a login", warden(() => authRequired("open the page")), "blocked"],
    ["when it is not ready", warden(() => notReady("asleep", 60_000)), "pending"],
    ["when it waits for a service", warden(undefined, { requires: { nothing: Nothing } }), "pending"],
    ["when it was made for another API", warden(undefined, { api: "^9.0.0" }), "blocked"],
    ["when its start throws", warden((gateway) => gateway.start(fail)), "failed"],
  ];
  for (const [why, plugin, state] of away) {
    it(`${why}, and opens when it runs`, async (t) => {
      const { slot, shut, open, reload, report } = await scene(t, plugin);
      assert.equal(report("warden")?.state, state);
      await shut();
      slot.become(warden());
      assert.equal((await reload("warden")).ok, true);
      await open();
    });
  }

  it("until its plugin has started, though it was committed", async (t) => {
    const gate = barrier();
    const plugin = warden((gateway) => gateway.start(() => gate.passed));
    const slot = await slotOf(t, plugin, MANIFEST);
    const seen: unknown[] = [];
    const early = pluginOf("early", (gateway) => {
      const call = () => gateway.call(shop.guarded, {}).catch((error: Error) => error.message);
      gateway.start(async () => {
        await settled(); // the plugin it calls has started by then
        seen.push(await call());
        gate.open();
      });
    });
    const { client } = await startScene(t, [
      shopPlugin,
      slot,
      await slotOf(t, early, { id: "early", permissions: { calls: ["operator.read"] } }),
    ]);
    assert.deepEqual(seen, ["plugin warden is not running"]);
    assert.deepEqual(await client.call(shop.guarded, {}), { ok: true });
  });

  it("while its plugin is down because of a required plugin", async (t) => {
    const Needed = defineService<object>()("needed", "1.0.0");
    const provider = pluginOf("needed", { provides: [Needed] }, (gateway) => gateway.provide(Needed, {}));
    const needed = await slotOf(t, provider);
    const slot = await slotOf(t, warden(undefined, { requires: { needed: Needed } }), MANIFEST);
    const { client, reload, state } = await startScene(t, [shopPlugin, slot, needed]);
    assert.deepEqual(await client.call(shop.guarded, {}), { ok: true });
    needed.become(pluginOf("needed", () => {}));
    await reload("needed");
    assert.equal(state("warden"), "pending");
    await assert.rejects(client.call(shop.guarded, {}), SHUT);
  });

  it("but not if an operator disabled its plugin", async (t) => {
    const config = { plugins: { entries: { warden: { enabled: false } } } };
    const { open, state } = await scene(t, warden(), { config });
    assert.equal(state("warden"), "disabled");
    await open();
  });

  it("also in quarantine, until a reload ends that", async (t) => {
    const clock = createFakeClock();
    const failing = warden((gateway) => gateway.every(1_000, fail));
    const { shut, open, reload, state } = await scene(t, failing, { gateway: { clock } });
    await open();
    await clock.advance(5_000);
    assert.equal(state("warden"), "quarantined");
    await shut();
    await reload("warden");
    await open();
  });
});

describe("a gate whose plugin is being replaced", limited, () => {
  it("is not called meanwhile: calls wait for the new version, which decides", async (t) => {
    const { slot, client, reload, state } = await scene(t, warden());
    const gate = barrier();
    slot.become(
      pluginOf("warden", (gateway) => {
        gateway.hooks.rpcBefore.for("shop.guarded").tap(() => ({ allow: false, reason: "the new one says no" }));
        gateway.start(() => gate.passed);
      }),
    );
    const reloading = reload("warden");
    await until(() => state("warden") === "starting");
    const held = client.call(shop.guarded, {});
    let answered = false;
    held.then(
      () => (answered = true),
      () => (answered = true),
    );
    await settled(20);
    assert.equal(answered, false);
    gate.open();
    await assert.rejects(held, { code: "UNAVAILABLE", message: "the new one says no" });
    await reloading;
  });

  it("stays closed if neither version starts", async (t) => {
    let starts = 0;
    const start = () => (++starts > 1 ? Promise.reject(new Error("gone")) : undefined);
    const once = warden((gateway) => gateway.start(start));
    const { slot, reload, shut, state, open } = await scene(t, once);
    slot.become(warden((gateway) => gateway.start(() => Promise.reject(new Error("new")))));
    await reload("warden");
    assert.equal(state("warden"), "failed");
    await shut();
    slot.become(warden());
    await reload("warden");
    await open();
  });

  it("that the new version no longer taps is open afterwards", async (t) => {
    const { slot, reload, open } = await scene(t, warden());
    slot.become(pluginOf("warden", () => {}));
    assert.equal((await reload("warden")).ok, true);
    await open();
  });
});

it("a gate tapped by a plugin without a package is closed once that plugin has run and stopped", limited, async (t) => {
  const clock = createFakeClock();
  const plugin = warden((gateway) => gateway.every(1_000, () => Promise.reject(new Error("boom"))));
  const { client, gateway } = await testGateway(t, { plugins: [shopPlugin, plugin], gateway: { clock } });
  await clock.advance(5_000);
  assert.equal(gateway.plugins().find(({ id }) => id === "warden")?.state, "quarantined");
  await assert.rejects(client.call(shop.guarded, {}), SHUT);
  await clock.advance(60_000);
  assert.deepEqual(await client.call(shop.guarded, {}), { ok: true });
});

describe("a gate of a plugin's own hook", limited, () => {
  const facts = { name: "vault.open", owner: "vault", when: "-", returns: "-", throws: "-" };
  const Ask = defineHook<{ what: string }>()("gate", facts);
  const vault = pluginOf("vault", (gateway) => {
    const gate = gateway.emits(Ask);
    gateway.serve(contractOf("vault", "open"), {
      open: async () => ({ denied: (await gate.emit({ what: "x" }))?.reason }),
    });
  });
  const guard = (more: Setup = () => {}) =>
    pluginOf("guard", (gateway) => {
      gateway.hook(Ask).tap(() => undefined);
      return more(gateway);
    });

  it("is closed while a plugin whose package lists it has never started, and opens when it runs", async (t) => {
    const slot = await slotOf(
      t,
      guard(() => {
        throw new Error("boom");
      }),
      { id: "guard", gates: ["vault.open"] },
    );
    const { client, reload } = await startScene(t, [vault, slot]);
    const open = () => client.request("vault.open", {});
    assert.deepEqual(await open(), { denied: "plugin guard is not running" });
    slot.become(guard());
    assert.equal((await reload("guard")).ok, true);
    assert.deepEqual(await open(), {});
  });
});

describe("two plugins that tap one hook declared in two ways", limited, () => {
  const declared = (kind: "observe" | "gate") =>
    defineHook<unknown>()(kind, { name: "bell.rung", owner: "bell", when: `as ${kind}`, returns: "-", throws: "-" });
  const listener = (id: string, kind: "observe" | "gate") =>
    definePlugin({ id, api: "^1.0.0", setup: (gateway) => gateway.hook(declared(kind)).tap(() => undefined) });

  it("fail only the second plugin, and neither if only the descriptions differ", async (t) => {
    const other = { ...declared("observe"), when: "in other words" };
    const reworded = pluginOf("three", (gateway) => gateway.hook(other).tap(() => {}));
    const plugins = [listener("one", "observe"), listener("two", "gate"), reworded, shopPlugin];
    const { client, report } = await startScene(t, plugins);
    assert.deepEqual([report("one")?.state, report("three")?.state], ["active", "active"]);
    const reason = "the hook bell.rung of bell is declared in two different ways; use the value that bell exports";
    assert.deepEqual([report("two")?.state, report("two")?.reason], ["failed", reason]);
    assert.deepEqual(await client.call(shop.free, {}), { ok: true });
  });
});
