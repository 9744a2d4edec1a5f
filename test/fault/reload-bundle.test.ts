/** Every bundled plugin can be replaced while the gateway serves: nothing it declared is lost or doubled, nobody is cut off. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { definePlugin } from "@svc/sdk";
import { PluginControl } from "@svc/sdk/services";
import { testGateway } from "@svc/sdk/testing";
import { createRequire } from "node:module";
import { join } from "node:path";
import { root } from "../checkout.ts";

const ROUNDS = Number(process.env["SVC_FAULT_ROUNDS"] ?? 3);
const require = createRequire(join(root, "plugins/full/package.json"));
/** Packages of the bundle that are plugins, by id. */
const bundled = Object.keys(
  (require("./package.json") as { dependencies: Record<string, string> }).dependencies,
).flatMap((name) => {
  const { svc } = require(`${name}/package.json`) as { svc?: { id: string } };
  return svc ? [svc.id] : [];
});

describe("the bundle", { timeout: 120_000 }, () => {
  it(`survives ${ROUNDS} reloads of each of its ${bundled.length} plugins, with all its methods and events`, async (t) => {
    let control: PluginControl | undefined;
    const operator = definePlugin({
      id: "operator",
      api: "^1.0.0",
      requires: { control: PluginControl },
      setup: (gateway) => gateway.start(() => void (control = gateway.services.control)),
    });
    const { client, gateway, connect } = await testGateway(t, { plugins: [...bundled, operator] });
    let closed = 0;
    client.onClose(() => closed++);
    const states = () => Object.fromEntries(gateway.plugins().map(({ id, state }) => [id, state]));
    const before = states();
    const { methods, events } = client.hello.features;
    for (const id of bundled) {
      for (let round = 0; round < ROUNDS; round++) {
        const report = await control?.reload(id);
        const { state, reason } = report ?? {};
        assert.equal(state, before[id], `${id}: ${reason}`);
        if (before[id] === "active")
          assert.deepEqual([report?.ok, reason, report?.rolledBack], [true, undefined, false], id);
        assert.deepEqual(states(), before, `after ${id}`);
      }
    }
    const { features } = (await connect()).hello;
    assert.deepEqual(
      [[...features.methods].sort(), [...features.events].sort()],
      [[...methods].sort(), [...events].sort()],
    );
    assert.equal(closed, 0);
    for (const { id, errors } of gateway.plugins()) assert.equal(errors, 0, `${id} was charged with errors`);
  });
});
