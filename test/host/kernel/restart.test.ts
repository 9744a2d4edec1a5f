/** A plugin that asks to be restarted: it and those that require it stop, and start again. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { defineService, notReady, type PluginGateway } from "@svc/sdk";
import { contractOf, startScene, until } from "./reload-scene.ts";
import { pluginOf } from "../../plugin-of.ts";

const contract = contractOf("phoenix", "ask");
const Ashes = defineService<object>()("ashes", "1.0.0");

/** A plugin with the current gateway of its setup, one that requires it, and one that does not; and what they did. */
function nest(starts: (gateway: PluginGateway, count: number) => void = () => {}) {
  const did: string[] = [];
  const current: { gateway?: PluginGateway } = {};
  let count = 0;
  const phases = (gateway: PluginGateway, begins: () => void = () => {}) =>
    gateway.start(() => {
      begins();
      did.push(`${gateway.id} starts`);
      return () => void did.push(`${gateway.id} stops`);
    });
  const phoenix = pluginOf("phoenix", { provides: [Ashes] }, (gateway) => {
    current.gateway = gateway;
    gateway.provide(Ashes, {});
    gateway.serve(contract, { ask: () => ({}) });
    phases(gateway, () => starts(gateway, (count += 1)));
  });
  const rider = pluginOf("rider", { requires: { ashes: Ashes } }, (gateway) => phases(gateway));
  const other = pluginOf("other", {}, (gateway) => phases(gateway));
  const gateway = () => current.gateway ?? assert.fail();
  return { plugins: [phoenix, rider, other], did, gateway };
}

describe("a restart that a plugin asks for", { timeout: 60_000 }, () => {
  it("stops and starts it with those that require it, and is no failure", async (t) => {
    const { plugins, did, gateway } = nest();
    const { client, report } = await startScene(t, plugins);
    did.length = 0;
    for (let round = 0; round < 6; round += 1) {
      const asked = gateway();
      asked.restart("its lease has ended");
      asked.restart("twice");
      await until(() => gateway() !== asked && report("rider")?.state === "active");
      assert.deepEqual(did.splice(0), ["rider stops", "phoenix stops", "phoenix starts", "rider starts"]);
      assert.equal(asked.signal.aborted, true);
      asked.restart("it has stopped");
    }
    await client.call(contract.ask, {});
    assert.deepEqual([report("phoenix")?.state, report("phoenix")?.errors, did], ["active", 0, []]);
  });

  it("may fail to start at first: its calls say why, and the start is repeated", async (t) => {
    let mayStart = true;
    const { plugins, gateway } = nest(() => void (mayStart || notReady("the database is away", 20)));
    const { client, report } = await startScene(t, plugins);
    mayStart = false;
    gateway().restart("its lease has ended");
    await until(() => report("phoenix")?.state === "pending");
    assert.match(report("phoenix")?.reason ?? "", /the database is away/);
    await assert.rejects(client.call(contract.ask, {}), { code: "UNAVAILABLE" });
    mayStart = true;
    await until(() => report("rider")?.state === "active");
    await client.call(contract.ask, {});
  });

  it("is refused in setup", async (t) => {
    const plugin = pluginOf("eager", {}, (gateway) => gateway.restart("now"));
    const { report } = await startScene(t, [plugin]);
    assert.match(report("eager")?.reason ?? "", /restart\(\) is only allowed from start\(\) on/);
  });
});
