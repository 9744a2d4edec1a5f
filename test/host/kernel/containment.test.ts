/** A failing plugin affects only itself: wherever it fails, the others serve, and the report names it. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import {
  authRequired,
  defineContract,
  defineEvent,
  defineExtensionPoint,
  defineService,
  GatewayError,
  misconfigured,
  notReady,
  type Plugin,
  Type,
} from "@svc/sdk";
import { createFakeClock, type HostedGateway, testGateway } from "@svc/sdk/testing";
import { join } from "node:path";
import { directory, put } from "../../directory.ts";
import { pluginOf } from "../../plugin-of.ts";
import { contractOf } from "./reload-scene.ts";

const Empty = Type.Object({});
const good = defineContract("good", {
  ping: { summary: "-", scope: "operator.read", params: Empty, result: Type.Object({ pong: Type.Boolean() }) },
});
const bad = defineContract("bad", { ping: { summary: "-", scope: "operator.read", params: Empty, result: Empty } });
const goodPlugin = pluginOf("good", (gateway) => gateway.serve(good, { ping: () => ({ pong: true }) }));

async function startWith(
  t: TestContext,
  plugin: Plugin | string,
  more: (Plugin | string)[] = [],
  gateway: Record<string, unknown> = {},
) {
  const running = await testGateway(t, { plugins: [goodPlugin, plugin, ...more], gateway });
  assert.deepEqual(await running.client.call(good.ping, {}), { pong: true }, "the others serve");
  const report = () => running.gateway.plugins().find(({ id }) => id !== "good" && id !== "hook-probe");
  return { ...running, report };
}

const boom = () => {
  throw new Error("boom");
};

describe("a plugin that fails before it runs", () => {
  it("is reported with the reason; nothing it declared takes effect, and the others serve", async (t) => {
    const [throwing, other] = ["throwing.mjs", "other.mjs"].map((name) => join(directory(t), name)) as [string, string];
    put(throwing, 'throw new Error("broken at import");');
    put(other, "export default 42;");
    const declaring = (id: string, fail: Plugin["setup"]) =>
      pluginOf(id, (gateway) => {
        gateway.serve(contractOf(id, "ping"), { ping: () => ({}) });
        gateway.hooks.admit.tap(() => ({ allow: false, reason: "half a plugin" }));
        return fail(gateway);
      });
    const Thing = defineService<object>()("thing", "1.0.0");
    const rows: [id: string, plugin: Plugin | string, state: string, reason: RegExp][] = [
      [throwing, throwing, "failed", /import: broken at import/],
      [other, other, "failed", /does not export a plugin; write: export default definePlugin/],
      ["no-such-plugin", "no-such-plugin", "blocked", /no plugin or package "no-such-plugin" is installed; next:/],
      ["throws", declaring("throws", boom), "failed", /setup: boom/],
      ["rejects", declaring("rejects", () => Promise.reject(new Error("boom"))), "failed", /setup: boom/],
      ["asks", declaring("asks", () => authRequired("open the page")), "blocked", /log in first: open the page/],
      ["bounds", declaring("bounds", () => misconfigured("/max", "low")), "blocked", /configuration: \/max: low/],
      ["Bad Id", pluginOf("Bad Id", () => {}), "blocked", /./],
      ["lists", pluginOf("lists", { provides: [Thing] }, () => {}), "failed", /but its setup did not provide it/],
    ];
    const { gateway, client } = await testGateway(t, { plugins: [goodPlugin, ...rows.map(([, plugin]) => plugin)] });
    const reports = gateway.plugins();
    for (const [id, , state, reason] of rows) {
      const report = reports.find((plugin) => plugin.id === id);
      assert.equal(report?.state, state, id);
      assert.match(report.reason ?? "", reason);
    }
    for (const id of ["throws", "rejects", "asks", "bounds"])
      await assert.rejects(client.request(`${id}.ping`, {}), { message: new RegExp(`unknown method: ${id}\\.ping`) });
    assert.deepEqual(await client.call(good.ping, {}), { pong: true });
  });

  it("throws in start: its declarations are withdrawn, and it is retried", async (t) => {
    const seen: string[] = [];
    const plugin = pluginOf("bad", (gateway) => {
      gateway.serve(bad, { ping: () => ({}) });
      gateway.hooks.hello.tap((hello) => (seen.push("hello"), hello));
      gateway.start(boom);
    });
    const { report, client } = await startWith(t, plugin);
    assert.deepEqual([report()?.state, report()?.reason], ["failed", "start: boom"]);
    await assert.rejects(client.call(bad.ping, {}), { code: "UNAVAILABLE", message: /plugin bad is failed/ });
    assert.deepEqual(seen, [], "its hooks are gone");
  });

  it("rejects in start: the gates it taps stay closed", async (t) => {
    const plugin = pluginOf("bad", (gateway) => {
      gateway.hooks.admit.tap(() => undefined);
      gateway.start(() => Promise.reject(new Error("boom")));
    });
    const refused = testGateway(t, { plugins: [goodPlugin, plugin] });
    await assert.rejects(refused, { message: "plugin bad is not running", retryAfterMs: 1_000 });
  });

  it("gets an unknown setting, though its schema does not forbid further keys", async (t) => {
    const config = { "storage-sqlite": { flie: "x" } };
    const started = testGateway(t, { plugins: [goodPlugin, "storage-sqlite"], config });
    await assert.rejects(started, /^ {2}storage-sqlite: unexpected property 'flie'$/m);
  });

  it("serves a method of another plugin", async (t) => {
    const thief = pluginOf("zbad", (gateway) => gateway.serve(good, { ping: () => ({ pong: false }) }));
    const { report } = await startWith(t, thief);
    assert.match(report()?.reason ?? "", /method good\.ping is already declared by good/);
  });
});

describe("a plugin that fails while it runs", () => {
  it("returns a result that violates its contract: INTERNAL while results are checked", async (t) => {
    const wrong = defineContract("bad", {
      ping: { summary: "-", scope: "operator.read", params: Empty, result: Type.Object({ n: Type.Integer() }) },
    });
    const plugin = pluginOf("bad", (gateway) =>
      gateway.serve(wrong, { ping: () => ({ n: "one" as unknown as number }) }),
    );
    const { client } = await startWith(t, plugin);
    await assert.rejects(client.call(wrong.ping, {}), { code: "INTERNAL" });
  });

  it("returns what JSON cannot represent: INTERNAL, charged to the plugin", async (t) => {
    const method = { summary: "-", scope: "operator.read", params: Empty, result: Type.Unknown() } as const;
    const odd = defineContract("bad", {
      now: method,
      later: method,
      circular: method,
      details: method,
      accepted: method,
    });
    const circular: Record<string, unknown> = {};
    circular["self"] = circular;
    const plugin = pluginOf("bad", (gateway) =>
      gateway.serve(odd, {
        now: () => ({ size: 1n }),
        later: () => Promise.resolve({ size: 1n }),
        circular: () => circular,
        details: () => Promise.reject(new GatewayError("CONFLICT", "no", { details: circular })),
        accepted: ({ accept }) => (accept({ size: 1n }), {}),
      }),
    );
    const { client, report } = await startWith(t, plugin, [], { checkResults: false });
    for (const name of ["now", "later", "circular", "accepted"] as const)
      await assert.rejects(client.call(odd[name], {}), { code: "INTERNAL" }, name);
    await assert.rejects(client.call(odd.details, {}), { code: "CONFLICT", message: "no" });
    assert.deepEqual(await client.call(good.ping, {}), { pong: true });
    assert.equal(report()?.errors, 4);
  });

  it("throws or rejects in every() and after(): attributed, and the timer continues", async (t) => {
    const clock = createFakeClock();
    let ticks = 0;
    const plugin = pluginOf("bad", (gateway) => {
      gateway.every(1_000, () => {
        ticks++;
        if (ticks === 1) throw new Error("boom");
        return Promise.reject(new Error("boom later"));
      });
      gateway.after(500, () => {
        throw new Error("once");
      });
    });
    const { report } = await startWith(t, plugin, [], { clock });
    await clock.advance(3_000);
    assert.equal(ticks, 3);
    assert.equal(report()?.errors, 4);
  });

  it("throws or rejects in a contribution: attributed to the contributor", async (t) => {
    const Point = defineExtensionPoint<() => unknown>("test.point");
    const contributor = pluginOf("bad", (gateway) => {
      gateway.extend(Point, "thrower", boom);
      gateway.extend(Point, "rejecter", () => Promise.reject(new Error("boom")));
    });
    const owner = pluginOf("point-owner", (gateway) => {
      const view = gateway.own(Point);
      gateway.start(async () => {
        for (const contribution of view.list())
          await (async () => view.call(contribution, (run) => run()))().catch(() => undefined);
      });
    });
    const { gateway } = await testGateway(t, { plugins: [owner, contributor] });
    const errors = Object.fromEntries(gateway.plugins().map((plugin) => [plugin.id, plugin.errors]));
    assert.deepEqual(errors, { bad: 2, "point-owner": 0 });
  });
});

describe("waiting", () => {
  const states = (gateway: HostedGateway) => gateway.plugins().map(({ state }) => state);
  const Thing = defineService<{ n: number }>()("thing", "1.0.0");
  const user = pluginOf("user", { requires: { thing: Thing } }, (gateway) => gateway.serve(bad, { ping: () => ({}) }));

  it("a plugin that is notReady is retried, and its dependents start after it", async (t) => {
    const clock = createFakeClock();
    let attempts = 0;
    const provider = pluginOf("provider", { provides: [Thing] }, (gateway) => {
      if (++attempts < 3) notReady("the other side sleeps", 1_000);
      gateway.provide(Thing, { n: 1 });
    });
    const { gateway, client } = await testGateway(t, { plugins: [provider, user], gateway: { clock } });
    assert.deepEqual(states(gateway), ["pending", "pending"]);
    await clock.advance(1_000);
    assert.deepEqual(states(gateway), ["pending", "pending"]);
    await clock.advance(1_000);
    assert.deepEqual(states(gateway), ["active", "active"]);
    assert.deepEqual(await client.call(bad.ping, {}), {});
  });

  it("two plugins that are not ready are each retried exactly at their own times", async (t) => {
    const clock = createFakeClock();
    const attempts = { aa: 0, bb: 0 };
    const make = (id: "aa" | "bb", ms: number) =>
      pluginOf(id, () => {
        attempts[id]++;
        notReady("not yet", ms);
      });
    await testGateway(t, { plugins: [make("aa", 1_000), make("bb", 1_000)], gateway: { clock } });
    await clock.advance(5_000);
    assert.deepEqual(attempts, { aa: 6, bb: 6 });
  });

  it("a plugin retried while another one starts is set up once", async (t) => {
    const clock = createFakeClock();
    const seen: string[] = [];
    let ready = false;
    const late = (id: string, ms: number) =>
      pluginOf(id, async (gateway) => {
        if (!ready) notReady("not yet", ms);
        seen.push(`${id} setup`);
        await new Promise((resolve) => gateway.clock.setTimeout(() => resolve(undefined), 100));
        gateway.start(() => void seen.push(`${id} start`));
      });
    const { gateway } = await testGateway(t, { plugins: [late("aa", 1_000), late("bb", 1_050)], gateway: { clock } });
    ready = true;
    await clock.advance(2_000);
    assert.deepEqual(seen, ["aa setup", "aa start", "bb setup", "bb start"]);
    assert.deepEqual(states(gateway), ["active", "active"]);
  });

  it("a stop waits for a plugin that is starting, and stops it", async (t) => {
    const clock = createFakeClock();
    const seen: string[] = [];
    let ready = false;
    const late = pluginOf("late", async (gateway) => {
      if (!ready) notReady("not yet", 1_000);
      await new Promise((resolve) => setTimeout(resolve, 50));
      gateway.start(() => {
        seen.push("start");
        return () => void seen.push("stop");
      });
    });
    const { gateway } = await testGateway(t, { plugins: [late], gateway: { clock } });
    ready = true;
    await clock.advance(1_000);
    await gateway.stop();
    assert.deepEqual(seen, ["start", "stop"]);
  });
});

describe("the rules of setup", () => {
  it("a declaration after setup throws and names the rule", async (t) => {
    const errors: string[] = [];
    const event = defineEvent({ name: "bad.event", summary: "-", payload: Empty });
    const plugin = pluginOf("bad", (gateway) => {
      gateway.start(() => {
        const late: (() => unknown)[] = [
          () => gateway.serve(bad, { ping: () => ({}) }),
          () => gateway.event(event),
          () => gateway.hooks.hello.tap((value) => value),
          () => gateway.start(() => {}),
        ];
        for (const declare of late)
          try {
            declare();
          } catch (error) {
            errors.push((error as Error).message);
          }
      });
    });
    await startWith(t, plugin);
    assert.equal(errors.length, 4);
    for (const message of errors) assert.match(message, /plugin bad: .+ is only allowed inside setup\(\)/);
  });

  it("stop functions run in reverse order, even if one of them throws", async (t) => {
    const seen: string[] = [];
    const make = (id: string, after: string[] = []) =>
      pluginOf(id, { after }, (gateway) => {
        gateway.start(() => () => void seen.push(`${id} 1`));
        gateway.start(() => () => {
          seen.push(`${id} 2`);
          throw new Error("boom");
        });
      });
    const { gateway } = await testGateway(t, { plugins: [make("aa"), make("bb", ["aa"])] });
    await gateway.stop();
    assert.deepEqual(seen, ["bb 2", "bb 1", "aa 2", "aa 1"]);
  });

  it("a contribution to an unowned point, and a tap of a hook without an emitter, are listed as inert", async (t) => {
    const Point = defineExtensionPoint<object>("nobody.owns");
    const { report } = await startWith(
      t,
      pluginOf("bad", (gateway) => gateway.extend(Point, "x", {})),
    );
    assert.deepEqual(report()?.inert, ['nobody.owns "x": no plugin owns this extension point']);
  });

  it("a plugin calls methods only with the scopes its package lists", async (t) => {
    const results: string[] = [];
    const caller = pluginOf("bad", (gateway) =>
      gateway.start(async () => {
        await gateway.call(good.ping, {}).catch((error: Error) => results.push(error.message));
      }),
    );
    await startWith(t, caller);
    assert.deepEqual(results, ["missing scope: operator.read"]);
  });
});
