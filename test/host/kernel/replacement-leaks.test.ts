/** Two hundred reloads of a plugin that declares everything leak neither declarations nor memory. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import {
  defineEvent,
  defineExtensionPoint,
  defineHook,
  defineService,
  type Plugin,
  type Principal,
  type TSchema,
  Type,
} from "@svc/sdk";
import { createFakeClock } from "@svc/sdk/testing";
import { HookBus } from "../../../host/hooks/hook-bus.ts";
import { Kernel } from "../../../host/kernel/kernel.ts";
import { Kinds } from "../../../host/kernel/kernel-hooks.ts";
import { viewOf } from "../../../host/kernel/kinds/contributions.ts";
import { KINDS } from "../../../host/kernel/kinds/index.ts";
import type { HostParts } from "../../../host/kernel/staging.ts";
import { contractOf } from "./reload-scene.ts";
import { pluginOf } from "../../plugin-of.ts";

const limited = { timeout: 120_000 };
const RELOADS = 200;
const Point = defineExtensionPoint<object>("test.point");
const Own = defineExtensionPoint<object>("test.own");
const Thing = defineService<object>()("thing", "1.0.0");
const hook = defineHook<object>()("series", { name: "test-hook", owner: "all", when: "-", returns: "-", throws: "-" });
const all = contractOf("all", "one", "two");
const event = defineEvent({ name: "all.event", summary: "-", payload: Type.Unknown() });

/** Declares an entry of every kind; all closures hold one object, tracked in `weak`. */
function everything(ballast: object, weak: WeakRef<object>[]): Plugin {
  return pluginOf(
    "all",
    { provides: [Thing], config: Type.Object({ n: Type.Integer({ default: 1 }) }) as TSchema },
    (gateway) => {
      const held = { ballast, text: "x".repeat(10_000) };
      weak.push(new WeakRef(held));
      const keep = () => held.text.length;
      gateway.provide(Thing, held);
      gateway.serve(all, { one: () => ({ n: keep() }), two: () => ({ n: keep() }) });
      gateway.event(event);
      gateway.route({
        method: "GET",
        path: "/plugins/all/x",
        auth: "plugin",
        summary: "-",
        handler: () => ({ body: keep() }),
      });
      gateway.extend(Point, "x", held);
      gateway.own(Own);
      gateway.emits(hook);
      gateway.hook(hook).tap(() => void keep());
      gateway.hooks.hello.tap((value) => (keep(), value));
      gateway.hooks.admit.tap(() => void keep());
      gateway.hooks.rpcBefore.for("all.one").tap(() => void keep());
      gateway.hooks.connectionClosed.tap(async () => void keep());
      gateway.every(1_000, () => void keep());
      gateway.after(3_600_000, () => void keep());
      gateway.busy(() => keep() < 0);
      gateway.configChanged(() => void keep());
      gateway.start(() => {
        gateway.every(2_000, () => void keep());
        gateway.after(7_200_000, () => void keep());
        return () => void keep();
      });
    },
  );
}

const user = pluginOf("user", { requires: { thing: Thing } }, (gateway) => void gateway.own(Point));

function kernelOf(load: () => Plugin) {
  const clock = createFakeClock();
  const hooks = new HookBus();
  const kinds = new Kinds(hooks, KINDS);
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  const nobody: Principal = { id: "x", role: "operator", scopes: [], provenance: "plugin", epoch: 0 };
  const host: HostParts = {
    clock,
    stateDir: "/nowhere",
    publish: () => {},
    forward: () => {},
    actingFor: (asked) => asked,
    invoke: () => Promise.resolve(undefined),
  };
  const kernel = new Kernel({
    log,
    clock,
    kinds,
    isConfigured: () => false,
    configOf: () => ({ value: { n: 1 }, sections: {} }),
    logFor: () => log,
    principalFor: () => nobody,
  });
  const source = (plugin: () => Plugin) => ({
    origin: "inline",
    key: "inline",
    manifest: undefined,
    load: () => Promise.resolve(plugin()),
  });
  const boot = () => kernel.boot({ sources: [source(load), source(() => user)], disabled: new Set() }, host);
  /** Counts everything that could leak. */
  const count = () => ({
    ...kinds.sizes(),
    contributions: viewOf(kinds, Point).list().length,
    taps: hooks.taps().length,
    timers: clock.pending,
  });
  return { kernel, clock, boot, count };
}

describe(`${RELOADS} reloads`, limited, () => {
  it("leave the tables, taps, timers and the heap unchanged", async () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const weak: WeakRef<object>[] = [];
    const { kernel, clock, boot, count } = kernelOf(() => everything({}, weak));
    await boot();
    const first = count();
    assert.deepEqual(first, {
      services: 1,
      points: 2,
      emits: 1,
      events: 1,
      methods: 2,
      routes: 1,
      contributions: 1,
      taps: 5,
      timers: 4,
    });
    const heap = async () => {
      for (let turn = 0; turn < 3; turn++) {
        await new Promise((resolve) => setImmediate(resolve));
        collect();
      }
      return process.memoryUsage().heapUsed;
    };
    const turns = async (times: number) => {
      for (let turn = 0; turn < times; turn++) {
        const { ok, restarted, reason } = await kernel.reload("all");
        assert.deepEqual([ok, restarted, reason], [true, ["user"], undefined]);
        await clock.advance(1_000);
      }
    };
    /** Bytes leaked per reload. */
    const growth = async () => {
      const before = await heap();
      await turns(RELOADS / 2);
      return Math.round(((await heap()) - before) / (RELOADS / 2));
    };
    await turns(RELOADS / 2);
    // Code compiled meanwhile grows the heap once; a leak grows it every time.
    const grown = [await growth(), await growth(), await growth()];
    assert.deepEqual(count(), first);
    const alive = weak.filter((ref) => ref.deref() !== undefined).length;
    assert.ok(alive <= 2, `${alive} generations are still held`);
    assert.ok(Math.min(...grown) < 2_000, `${grown.join(", ")} bytes per reload`);
    await kernel.stop();
    const left = Object.entries(count()).filter(([, still]) => still > 0);
    assert.deepEqual(left, []);
  });

  const failures: [outcome: string, fail: Plugin["setup"], report: object][] = [
    ["refused", () => Promise.reject(new Error("boom")), { ok: false, rolledBack: false, state: "active" }],
    [
      "rolled back",
      (gateway) => gateway.start(() => Promise.reject(new Error("boom"))),
      { ok: false, rolledBack: true, state: "active" },
    ],
  ];
  for (const [outcome, fail, expected] of failures)
    it(`that are all ${outcome} leave nothing behind`, async () => {
      let broken = false;
      const { kernel, boot, count } = kernelOf(() => {
        const plugin = everything({}, []);
        if (!broken) return plugin;
        return { ...plugin, setup: async (gateway) => (await plugin.setup(gateway), fail(gateway)) };
      });
      await boot();
      const first = count();
      broken = true;
      for (let turn = 0; turn < 50; turn++) {
        const { ok, rolledBack, state } = await kernel.reload("all");
        assert.deepEqual({ ok, rolledBack, state }, expected);
      }
      assert.deepEqual(count(), first);
      await kernel.stop();
    });
});
