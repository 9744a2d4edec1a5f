/** Every bundled plugin can be replaced under load: no declaration is lost or duplicated, no client is disconnected. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { PluginControl } from "@svc/sdk/plugins";
import { testGateway } from "@svc/sdk/testing";
import { createRequire } from "node:module";
import { join } from "node:path";
import { root } from "../checkout.ts";
import { connectNode } from "../conformance/attendance.ts";
import { pluginOf } from "../plugin-of.ts";

/** Reloads per plugin. */
const ROUNDS = Number(process.env["SVC_RELOAD_ROUNDS"] ?? 1);
const require = createRequire(join(root, "plugins/full/package.json"));
/** Packages of the bundle that are plugins, by id; without those that would replace another one. */
const bundled = Object.keys(
  (require("./package.json") as { dependencies: Record<string, string> }).dependencies,
).flatMap((name) => {
  const { svc } = require(`${name}/package.json`) as { svc?: { id: string; entry?: string; replaces?: object } };
  return svc?.entry && !svc.replaces ? [svc.id] : [];
});

/** Methods called continuously, one per namespace. */
const LOAD = [
  "agents.list",
  "chat.history",
  "config.get",
  "device.pair.list",
  "exec.approval.list",
  "health",
  "models.list",
  "node.list",
  "plugins.list",
  "secrets.list",
  "sessions.list",
  "webhooks.list",
];

/** Pause between two calls of one namespace. */
const PAUSE_MS = 25;

/** Maximum bytes of heap that a reload may leak on average. */
const BYTES_A_RELOAD = 6_144;

setFlagsFromString("--expose_gc");
const collect = runInNewContext("gc") as () => void;

async function heapUsed(): Promise<number> {
  for (let round = 0; round < 3; round++) {
    collect();
    await new Promise((resolve) => setTimeout(resolve, 20)); // finalizers
  }
  collect(); // memory allocated by calls of the load is not a leak
  return process.memoryUsage().heapUsed;
}

/** Threads, ports, sockets and watchers; excludes timers and file requests of calls in progress. */
function resources(): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of process.getActiveResourcesInfo()) {
    if (/^(Timeout|Immediate|FSReq|WriteWrap|ShutdownWrap)/.test(name)) continue;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

it(
  `the bundle survives ${ROUNDS} reloads of each of its ${bundled.length} plugins under load: no failed call, no closed socket, no leak`,
  { timeout: 600_000 },
  async (t) => {
    let control: PluginControl | undefined;
    const operator = pluginOf("operator", { requires: { control: PluginControl } }, (gateway) =>
      gateway.start(() => void (control = gateway.services.control)),
    );
    const { client, gateway, connect } = await testGateway(t, { plugins: [...bundled, operator] });
    let closed = 0;
    client.onClose(() => closed++);
    const states = () => Object.fromEntries(gateway.plugins().map(({ id, state }) => [id, state]));
    const before = states();
    const { methods, events } = client.hello.features;
    const node = await connectNode({ url: gateway.url, token: gateway.auth.token });
    t.after(() => node.close());
    node.onClose(() => closed++);
    const params: Readonly<Record<string, object>> = { "chat.history": { sessionKey: "main", limit: 5 } };

    const failures: string[] = [];
    let calls = 0;
    const loading = { goesOn: true };
    t.after(() => (loading.goesOn = false)); // also after a failure
    const load = Promise.all(
      LOAD.map(async (name) => {
        while (loading.goesOn) {
          await client.request(name, params[name] ?? {}).then(
            () => calls++,
            (error: unknown) => failures.push(`${name}: ${String(error)}`),
          );
          await new Promise((resolve) => setTimeout(resolve, PAUSE_MS)); // otherwise the calls would dominate the measurement
        }
      }),
    );
    const reload = async (id: string) => {
      const report = await control?.reload(id);
      const { state, reason } = report ?? {};
      assert.equal(state, before[id], `${id}: ${reason}`);
      if (before[id] === "active")
        assert.deepEqual([report?.ok, reason, report?.rolledBack], [true, undefined, false], id);
      assert.deepEqual(states(), before, `after ${id}`);
    };
    for (const id of bundled) await reload(id); // warm-up: one-time allocations happen here
    const [heapBefore, resourcesBefore] = [await heapUsed(), resources()];
    for (const id of bundled) for (let round = 0; round < ROUNDS; round++) await reload(id);
    const [heapAfter, resourcesAfter] = [await heapUsed(), resources()];
    loading.goesOn = false;
    await load;

    assert.deepEqual(failures.slice(0, 5), []);
    assert.ok(calls > ROUNDS * bundled.length, "the load was no load");
    assert.equal(closed, 0);
    assert.deepEqual(resourcesAfter, resourcesBefore);
    const reloads = ROUNDS * bundled.length;
    const grown = (heapAfter - heapBefore) / reloads;
    // A few reloads are not enough to measure a slope.
    if (reloads > 500) assert.ok(grown < BYTES_A_RELOAD, `${Math.round(grown)} bytes stay behind for each reload`);
    const { nodes } = (await client.request("node.list", {})) as { nodes: { connected: boolean }[] };
    assert.deepEqual(
      nodes.map(({ connected }) => connected),
      [true],
    );
    const { features } = (await connect()).hello;
    assert.deepEqual(
      [[...features.methods].sort(), [...features.events].sort()],
      [[...methods].sort(), [...events].sort()],
    );
    for (const { id, errors } of gateway.plugins()) assert.equal(errors, 0, `${id} was charged with errors`);
  },
);
