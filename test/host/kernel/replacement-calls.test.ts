/** Calls and requests during a replacement: those in flight finish on the old version, new ones wait, none is lost. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Plugin, type PluginGateway } from "@svc/sdk";
import { createFakeClock } from "@svc/sdk/testing";
import { barrier, contractOf, settled, slotOf, startScene, until } from "./reload-scene.ts";
import { pluginOf } from "../../plugin-of.ts";

const limited = { timeout: 120_000 };
const shop = contractOf("shop", "ask", "extra");

const version = (answer: string, more: (gateway: PluginGateway) => void = () => {}): Plugin =>
  pluginOf("shop", (gateway) => {
    gateway.serve({ ask: shop.ask }, { ask: () => ({ answer }) });
    more(gateway);
  });
/** Also has a route. */
const routed = (answer: string, begin: () => void | Promise<void> = () => {}) =>
  version(answer, (gateway) => {
    const handler = () => ({ body: answer });
    gateway.route({ method: "GET", path: "/plugins/shop/x", auth: "plugin", summary: "-", handler });
    gateway.start(begin);
  });

describe("callers during replacements", limited, () => {
  it("of HTTP routes wait, too", async (t) => {
    const gate = barrier();
    const slot = await slotOf(t, routed("old"));
    const { gateway, reload, state } = await startScene(t, [slot]);
    const ask = () => fetch(`${gateway.url.replace("ws", "http")}/plugins/shop/x`).then((answer) => answer.text());
    assert.equal(await ask(), "old");
    slot.become(routed("new", () => gate.passed));
    const reloading = reload("shop");
    await until(() => state("shop") === "starting");
    const held = [ask(), ask()];
    await settled();
    gate.open();
    assert.deepEqual(await Promise.all(held), ["new", "new"]);
    assert.equal((await reloading).ok, true);
  });

  it("of a method that only the new version has wait for that version", async (t) => {
    const gate = barrier();
    const slot = await slotOf(t, version("old"), { id: "shop", namespaces: ["shop"] });
    const { client, reload, state } = await startScene(t, [slot]);
    await assert.rejects(client.call(shop.extra, {}), /unknown method/);
    slot.become(
      version("new", (gateway) => {
        gateway.serve({ extra: shop.extra }, { extra: () => ({ answer: "extra" }) });
        gateway.start(() => gate.passed);
      }),
    );
    const reloading = reload("shop");
    await until(() => state("shop") === "starting");
    const answer = client.call(shop.extra, {});
    gate.open();
    assert.deepEqual(await answer, { answer: "extra" });
    await reloading;
  });

  it("of a method the new version no longer has are refused after the replacement", async (t) => {
    const gate = barrier();
    const slot = await slotOf(t, version("old"));
    const { client, reload, state } = await startScene(t, [slot]);
    slot.become(pluginOf("shop", (gateway) => gateway.start(() => gate.passed)));
    const reloading = reload("shop");
    await until(() => state("shop") === "starting");
    const held = client.call(shop.ask, {});
    held.catch(() => undefined);
    gate.open();
    await assert.rejects(held, { code: "INVALID_REQUEST", message: /^unknown method: shop\.ask/ });
    await reloading;
  });

  it("are refused with a retry delay once a start has hung for five seconds", async (t) => {
    const clock = createFakeClock();
    const slot = await slotOf(t, version("old"));
    const { client, reload, state } = await startScene(t, [slot], { gateway: { clock } });
    slot.become(version("new", (gateway) => gateway.start(() => new Promise<void>(() => {}))));
    const reloading = reload("shop");
    await until(() => state("shop") === "starting");
    const held = client.call(shop.ask, {});
    const refused = assert.rejects(held, {
      code: "UNAVAILABLE",
      message: "the plugin is being reloaded; try again",
      retryAfterMs: 1_000,
    });
    await until(() => clock.pending > 2, "the call to be held");
    await settled(20);
    await clock.advance(5_000);
    await refused;
    await clock.advance(5_000); // the limit of a start
    const { rolledBack, reason } = await reloading;
    assert.deepEqual([rolledBack, reason], [true, "start: not done within 10000 ms"]);
    assert.deepEqual(await client.call(shop.ask, {}), { answer: "old" });
  });

  it("of HTTP routes are then refused with 503 and Retry-After", async (t) => {
    const clock = createFakeClock();
    const slot = await slotOf(t, routed("x"));
    const { gateway, reload, state } = await startScene(t, [slot], { gateway: { clock } });
    const ask = () => fetch(`${gateway.url.replace("ws", "http")}/plugins/shop/x`);
    assert.equal((await ask()).status, 200);
    slot.become(routed("x", () => new Promise<void>(() => {})));
    const reloading = reload("shop");
    await until(() => state("shop") === "starting");
    const pending = clock.pending;
    const held = ask();
    await until(() => clock.pending > pending, "the request to be held");
    await clock.advance(5_000);
    const { status, headers } = await held;
    assert.deepEqual([status, headers.get("retry-after")], [503, "1"]);
    await clock.advance(5_000);
    assert.equal((await reloading).rolledBack, true);
  });
});
