/** Calls and requests during a replacement: those in flight finish on the old version or are interrupted at the deadline, new ones wait, none is lost. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import {
  type Call,
  defineContract,
  defineService,
  GatewayError,
  type Plugin,
  type PluginGateway,
  Type,
} from "@svc/sdk";
import { PluginControl } from "@svc/sdk/plugins";
import { createFakeClock } from "@svc/sdk/testing";
import { Any, barrier, contractOf, settled, slotOf, startScene, until } from "./reload-scene.ts";
import { pluginOf } from "../../plugin-of.ts";

const limited = { timeout: 120_000 };
const shop = contractOf("shop", "ask", "slow");
const added = contractOf("shop", "extra");
const front = contractOf("front", "ask");
const Goods = defineService<object>()("goods", "1.0.0");

describe("a call in flight", limited, () => {
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

describe("methods that complete waiting calls", limited, () => {
  const common = { summary: "-", scope: "operator.read", params: Any, result: Type.Unknown() } as const;

  /** A call waits for `mail.bring` while its plugin is replaced, until the wait for that call begins. */
  async function scene(t: TestContext, answers: boolean) {
    const mail = defineContract("mail", { wait: common, bring: { ...common, answers }, version: common });
    const version = (name: string): Plugin =>
      pluginOf("mail", (gateway) => {
        const letter = barrier<string>();
        gateway.signal.addEventListener("abort", () => letter.open("none"));
        gateway.serve(mail, {
          wait: () => letter.passed,
          bring: () => {
            letter.open(`letter for ${name}`);
            return { taken: name };
          },
          version: () => ({ name }),
        });
      });
    const clock = createFakeClock();
    const slot = await slotOf(t, version("old"));
    const { client, reload } = await startScene(t, [slot], { gateway: { clock } });
    slot.become(version("new"));
    const waiting = client.call(mail.wait, {});
    waiting.catch(() => undefined);
    await client.call(mail.version, {}); // once it returns, the call before it is in flight
    const reloading = reload("mail");
    await until(() => clock.dueIn.includes(3_000), "the wait for the calls of the old code");
    return { clock, waiting, reloading, bring: () => client.call(mail.bring, {}) };
  }

  it("reach the old version, so that its calls finish", async (t) => {
    const { waiting, reloading, bring } = await scene(t, true);
    assert.deepEqual(await bring(), { taken: "old" });
    assert.equal(await waiting, "letter for old");
    assert.equal((await reloading).ok, true);
    assert.deepEqual(await bring(), { taken: "new" });
  });

  it("wait for the new version unless their contract has `answers`", async (t) => {
    const { clock, reloading, bring } = await scene(t, false);
    const brought = bring();
    await settled(20);
    await clock.advance(3_000);
    assert.deepEqual(await brought, { taken: "new" });
    assert.equal((await reloading).ok, true);
  });
});

describe("callers during replacements", limited, () => {
  const version = (answer: string, more: (gateway: PluginGateway) => void = () => {}): Plugin =>
    pluginOf("shop", (gateway) => {
      gateway.serve({ ask: shop.ask }, { ask: () => ({ answer }) });
      const handler = () => ({ body: answer });
      gateway.route({ method: "GET", path: "/plugins/shop/x", auth: "plugin", summary: "-", handler });
      more(gateway);
    });

  async function scene(t: TestContext, next: (gateway: PluginGateway) => void, ask = true) {
    const clock = createFakeClock();
    const slot = await slotOf(t, version("old"), { id: "shop", namespaces: ["shop"] });
    const { client, gateway, reload, state } = await startScene(t, [slot], { gateway: { clock } });
    const request = () => fetch(`${gateway.url.replace("ws", "http")}/plugins/shop/x`);
    assert.equal(await (await request()).text(), "old");
    await assert.rejects(client.call(added.extra, {}), /unknown method/);
    const withExtra = (served: PluginGateway) => {
      served.serve(added, { extra: () => ({ answer: "extra" }) });
      next(served);
    };
    slot.become(ask ? version("new", withExtra) : pluginOf("shop", withExtra));
    const reloading = reload("shop");
    await until(() => state("shop") === "starting");
    return { clock, client, request, reloading };
  }

  it("of routes and of methods that only the new version has wait for that version", async (t) => {
    const gate = barrier();
    const { client, request, reloading } = await scene(t, (gateway) => gateway.start(() => gate.passed));
    const held = [request(), request()];
    const extra = client.call(added.extra, {});
    await settled(20);
    gate.open();
    for (const answer of await Promise.all(held)) assert.equal(await answer.text(), "new");
    assert.deepEqual(await extra, { answer: "extra" });
    assert.equal((await reloading).ok, true);
  });

  it("of a method the new version no longer has are refused after the replacement", async (t) => {
    const gate = barrier();
    const { client, reloading } = await scene(t, (gateway) => gateway.start(() => gate.passed), false);
    const held = client.call(shop.ask, {});
    held.catch(() => undefined);
    gate.open();
    await assert.rejects(held, { code: "INVALID_REQUEST", message: /^unknown method: shop\.ask/ });
    await reloading;
  });

  it("are refused with a retry delay, over HTTP with 503, once a start has hung for five seconds", async (t) => {
    const hung = (gateway: PluginGateway) => gateway.start(() => new Promise<void>(() => {}));
    const { clock, client, request, reloading } = await scene(t, hung);
    const pending = clock.pending;
    const message = "the plugin is being reloaded; try again";
    const refused = assert.rejects(client.call(shop.ask, {}), { code: "UNAVAILABLE", message, retryAfterMs: 1_000 });
    const held = request();
    await until(() => clock.pending >= pending + 2, "the call and the request to be held");
    await clock.advance(5_000);
    await refused;
    const { status, headers } = await held;
    assert.deepEqual([status, headers.get("retry-after")], [503, "1"]);
    await clock.advance(5_000); // the limit of a start
    const { rolledBack, reason } = await reloading;
    assert.deepEqual([rolledBack, reason], [true, "start: not done within 10000 ms"]);
    assert.deepEqual(await client.call(shop.ask, {}), { answer: "old" });
  });
});
