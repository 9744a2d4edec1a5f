/** Statistics of plugins, counted in a real gateway. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { defineEvent, defineHook, defineService, GatewayError, type HookEmitter, Type } from "@svc/sdk";
import { PluginControl, type PluginMeasures } from "@svc/sdk/plugins";
import { barrier, contractOf, settled, slotOf, startScene, until } from "./reload-scene.ts";
import { pluginOf } from "../../plugin-of.ts";

const limited = { timeout: 120_000 };
const busy = contractOf("busy", "ask", "refuse", "break", "breakLater", "wait");
const knock = defineHook<string>()("series", {
  name: "knock",
  owner: "door",
  when: "a visitor arrives",
  returns: "nothing",
  throws: "the next handler still runs",
});
const Ink = defineService<object>()("ink", "1.0.0");
const wrote = defineEvent({ name: "writer.wrote", summary: "-", scope: "operator.read", payload: Type.Object({}) });

/** Ends calls in every possible way. */
const busyPlugin = (until: Promise<void> = Promise.resolve()) =>
  pluginOf("busy", (gateway) => {
    gateway.serve(busy, {
      ask: () => ({}),
      refuse: () => {
        throw new GatewayError("NOT_FOUND", "no such thing");
      },
      break: () => {
        throw new Error(`out of ink\n${"x".repeat(900)}`);
      },
      breakLater: async () => Promise.reject(new Error("later")),
      wait: async () => {
        await until;
        return {};
      },
    });
    const route = (path: string, handler: () => { body?: string }) =>
      gateway.route({ method: "GET", path: `/plugins/busy/${path}`, auth: "plugin", summary: "-", handler });
    route("ok", () => ({ body: "fine" }));
    route("broken", () => {
      throw new Error("route");
    });
    gateway.hook(knock).tap((how) => {
      if (how === "hard") throw new Error("too hard");
    });
  });

/** Emits `knock`, and has access to the measures of all plugins. */
function door() {
  const found: { emit?: HookEmitter<typeof knock>["emit"]; control?: PluginControl } = {};
  const plugin = pluginOf("door", { requires: { control: PluginControl } }, (gateway) => {
    found.emit = gateway.emits(knock).emit;
    gateway.start(() => void (found.control = gateway.services.control));
  });
  const control = () => found.control ?? assert.fail("the door did not start");
  return { plugin, found, control };
}

async function scene(t: TestContext, wait?: Promise<void>) {
  const own = door();
  const slot = await slotOf(t, busyPlugin(wait));
  const running = await startScene(t, [slot, own.plugin]);
  const measures = (): PluginMeasures =>
    own
      .control()
      .measures()
      .find(({ id }) => id === "busy") ?? assert.fail("busy is not there");
  return { ...running, ...own, slot, measures };
}

describe("statistics of a plugin", limited, () => {
  it("count results, refusals and failures of its methods and routes", async (t) => {
    const { client, gateway, measures } = await scene(t);
    for (const { name } of [busy.ask, busy.ask, busy.refuse, busy.break, busy.breakLater])
      await client.request(name, {}).catch(() => undefined);
    await client.request(busy.ask.name, "not an object").catch(() => undefined); // does not reach the handler
    for (const path of ["ok", "broken", "nowhere"])
      await fetch(`${gateway.url.replace("ws", "http")}/plugins/busy/${path}`);
    const { calls, errors, inFlight, methods, answers, p50Ms, p99Ms, maxMs, callsMs } = measures();
    assert.deepEqual({ calls, errors, inFlight }, { calls: 7, errors: 3, inFlight: 0 });
    assert.deepEqual(methods, [
      { name: "busy.ask", ok: 2, refused: 0, failed: 0 },
      { name: "busy.refuse", ok: 0, refused: 1, failed: 0 },
      { name: "busy.break", ok: 0, refused: 0, failed: 1 },
      { name: "busy.breakLater", ok: 0, refused: 0, failed: 1 },
      { name: "busy.wait", ok: 0, refused: 0, failed: 0 },
    ]);
    const times = [0, p50Ms ?? -1, p99Ms ?? -1, maxMs ?? -1];
    assert.deepEqual(
      times,
      times.toSorted((left, right) => left - right),
    );
    assert.ok(callsMs >= Number(maxMs) * 0.999 && callsMs > 0);
    assert.equal(answers.at(-1)?.calls, 7);
  });

  it("count calls in flight until they end", async (t) => {
    const { passed, open } = barrier();
    const { client, measures } = await scene(t, passed);
    const waiting = [client.request("busy.wait"), client.request("busy.wait")];
    await until(() => measures().inFlight === 2);
    assert.equal(measures().calls, 0);
    open();
    await Promise.all(waiting);
    assert.deepEqual([measures().inFlight, measures().calls], [0, 2]);
  });

  it("count the runs of its taps, and those that failed", async (t) => {
    const { found, measures } = await scene(t);
    for (const how of ["softly", "hard", "softly"]) await found.emit?.(how);
    const { hookRuns, hookErrors, errors } = measures();
    assert.deepEqual({ hookRuns, hookErrors, errors }, { hookRuns: 3, hookErrors: 1, errors: 1 });
  });

  it("continue over a reload, without the time a call was held", async (t) => {
    const { client, measures, reload, slot } = await scene(t);
    await client.call(busy.ask, {});
    const { passed, open } = barrier();
    const next = pluginOf("busy", (gateway) => {
      gateway.serve(busy, {
        ask: () => ({}),
        refuse: () => ({}),
        break: () => ({}),
        breakLater: () => ({}),
        wait: () => ({}),
      });
      gateway.start(() => passed);
    });
    slot.become(next);
    const reloaded = reload("busy");
    await settled(20);
    const held = client.call(busy.ask, {});
    await new Promise((resolve) => setTimeout(resolve, 150));
    open();
    const { heldMs } = await reloaded;
    await held;
    const { calls, maxMs, methods } = measures();
    assert.deepEqual([calls, methods[0]?.ok], [2, 2]);
    assert.ok(Number(maxMs) < heldMs, `it was held ${heldMs} ms, and its plugin is said to have taken ${maxMs} ms`);
  });

  it("include the last failure, truncated", async (t) => {
    const { client, report } = await scene(t);
    assert.equal(report("busy")?.blame, undefined);
    const before = Date.now();
    await client.call(busy.break, {}).catch(() => undefined);
    const { at, where, message } = report("busy")?.blame ?? assert.fail("nobody is to blame");
    assert.equal(where, "method busy.break");
    assert.equal(message, `out of ink\n${"x".repeat(900)}`.slice(0, 500));
    assert.ok(at >= before && at <= Date.now());
  });
});

describe("an inspection", limited, () => {
  it("returns declarations, providers of services, and permissions of the package", async (t) => {
    const own = door();
    const writer = pluginOf(
      "writer",
      {
        config: Type.Object({ max: Type.Integer({ default: 3 }) }),
        requires: { control: PluginControl },
        provides: [Ink],
      },
      (gateway) => {
        gateway.provide(Ink, {});
        gateway.serve(contractOf("writer", "write"), { write: () => ({}) });
        gateway.event(wrote);
        gateway.hooks.hello.tap(() => undefined);
        gateway.route({ method: "GET", path: "/plugins/writer/x", auth: "plugin", summary: "-", handler: () => ({}) });
      },
    );
    const slot = await slotOf(t, writer, {
      id: "writer",
      namespaces: ["writer"],
      commands: [{ name: "write", summary: "Write" }],
      permissions: { net: ["example.org:443"] },
      isolation: { supports: ["host", "worker"] },
    });
    await startScene(t, [slot, own.plugin], { config: { plugins: { entries: { writer: { run: "host" } } } } });
    const { plugin, stats, package: from, ...rest } = own.control().inspect("writer");
    assert.deepEqual([plugin.id, plugin.state, stats.calls, stats.memoryBytes], ["writer", "active", 0, null]);
    assert.deepEqual(from, { origin: slot.path, directory: slot.path });
    assert.deepEqual(rest, {
      permissions: { net: ["example.org:443"] },
      placements: { now: "host", supports: ["host", "worker"] },
      declares: {
        methods: [{ name: "writer.write", scope: "operator.read" }],
        events: [{ name: "writer.wrote" }],
        routes: [{ name: "GET /plugins/writer/x", auth: "plugin" }],
        hooks: [{ name: "hello", kind: "waterfall" }],
        services: [{ name: "ink", version: "1.0.0" }],
        requires: [{ name: "plugin.control", version: "1.0.0", kind: "hard", provider: "host" }],
        sections: [{ name: "writer", isMain: true }],
        commands: [{ name: "write", summary: "Write" }],
      },
    });
  });
});
