/** Races and leaks in the plugin lifecycle that occur only in unusual orders of events. */
import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { describe, it } from "node:test";
import { definePlugin, defineService, type Plugin, Type } from "@svc/sdk";
import { ConfigStore } from "@svc/sdk/config";
import { PluginControl } from "@svc/sdk/plugins";
import { createFakeClock, testGateway } from "@svc/sdk/testing";
import { WorkSignal } from "../../../host/hooks/work-signal.ts";
import { pluginOf } from "../../plugin-of.ts";
import { barrier, contractOf, directoryOf, settled, slotOf, startScene, until } from "../kernel/reload-scene.ts";

const limited = { timeout: 120_000 };
const api = "^1.0.0";

describe("a service", limited, () => {
  const Care = defineService<{ who: string }>()("care", "1.0.0");
  const nurse: Plugin = pluginOf("nurse", { provides: [Care] }, (gateway) => gateway.provide(Care, { who: "nurse" }));

  it("of another plugin or of the host cannot be provided by the new version of another plugin", async (t) => {
    const asks = contractOf("asks", "care", "config");
    const asker = pluginOf("asks", { requires: { care: Care, config: ConfigStore } }, (gateway) =>
      gateway.serve(asks, {
        care: () => ({ who: gateway.services.care.who }),
        config: () => ({ hash: typeof gateway.services.config.snapshot }),
      }),
    );
    const slot = await slotOf(t, definePlugin({ id: "thief", api, setup: () => undefined }));
    const { client, reload, report } = await startScene(t, [nurse, asker, slot]);
    for (const token of [Care, ConfigStore]) {
      slot.become(
        pluginOf("thief", { provides: [token] }, (gateway) => gateway.provide(token as typeof Care, { who: "thief" })),
      );
      const { ok, reason } = await reload("thief");
      assert.equal(ok, false);
      assert.match(reason ?? "", /service \S+ is already declared by (nurse|host)/);
      assert.equal(report("thief")?.state, "active");
      await reload("asks");
      assert.deepEqual(await client.call(asks.care, {}), { who: "nurse" });
      assert.deepEqual(await client.call(asks.config, {}), { hash: "function" });
    }
  });
});

it(
  "quarantine does not affect the new version for failures of the old one during the replacement",
  limited,
  async (t) => {
    const [staging, begun] = [barrier(), barrier()];
    let fail!: () => void;
    const bad = pluginOf("ill", (gateway) => {
      fail = () => {
        for (let count = 0; count < 5; count++)
          gateway.after(0, () => {
            throw new Error("boom");
          });
      };
    });
    const good = pluginOf("ill", { version: "2.0.0" }, async () => {
      begun.open();
      await staging.passed;
    });
    const slot = await slotOf(t, bad);
    const { reload, report } = await startScene(t, [slot]);
    slot.become(good);
    const reloaded = reload("ill");
    await begun.passed;
    fail();
    await until(() => report("ill")?.errors === 5, "five failures");
    staging.open();
    assert.equal((await reloaded).ok, true);
    await settled();
    assert.equal(report("ill")?.state, "active");
    assert.equal(report("ill")?.version, "2.0.0");
  },
);

it("a start that outlives its deadline is stopped when it finally completes", limited, async (t) => {
  const clock = createFakeClock();
  const late = barrier();
  let begun = false;
  let released = 0;
  const slow = pluginOf("slow", (gateway) => {
    gateway.start(async () => {
      if (begun) return () => undefined;
      begun = true;
      await late.passed;
      return () => void released++;
    });
  });
  const running = startScene(t, [slow], { gateway: { clock } });
  await until(() => begun);
  await clock.advance(10_000);
  const { state } = await running;
  assert.equal(state("slow"), "failed");
  late.open();
  await settled();
  assert.equal(released, 1, "what it acquired is still there");
});

it("after the stop no plugin is loaded", limited, async (t) => {
  let control: PluginControl | undefined;
  let setups = 0;
  const clerk = pluginOf("clerk", { requires: { control: PluginControl } }, (gateway) => {
    setups++;
    control = gateway.services.control;
  });
  const { gateway } = await testGateway(t, { plugins: [clerk] });
  await gateway.stop();
  await assert.rejects(async () => control?.reload("clerk"), { code: "UNAVAILABLE", message: /stopping/ });
  assert.equal(setups, 1);
});

it("a rollback restores the last applied configuration", limited, async (t) => {
  const stateDir = await directoryOf(t);
  const config = Type.Object({ n: Type.Integer({ default: 1, reload: "hot" }) });
  let store: ConfigStore | undefined;
  const admin = pluginOf(
    "admin",
    { requires: { config: ConfigStore } },
    (gateway) => void (store = gateway.services.config),
  );
  const says = contractOf("says", "n");
  const version = (start: () => void): Plugin =>
    pluginOf("says", { config }, (gateway) => {
      let { n } = gateway.config;
      gateway.configChanged((next) => void (n = next.n));
      gateway.serve(says, { n: () => ({ n }) });
      gateway.start(start);
    });
  const slot = await slotOf(
    t,
    version(() => undefined),
  );
  const { client, reload } = await startScene(t, [admin, slot], { stateDir, gateway: { config: undefined } });
  await store?.edit({ actor: "test", action: "test" }, () => [{ path: ["says", "n"], value: 2 }]);
  assert.deepEqual(await client.call(says.n, {}), { n: 2 });
  slot.become(
    version(() => {
      throw new Error("no");
    }),
  );
  assert.equal((await reload("says")).rolledBack, true);
  assert.deepEqual(await client.call(says.n, {}), { n: 2 });
});

it(
  "a plugin that edits the configuration within its change handler is refused at once, and can do so afterwards",
  limited,
  async (t) => {
    const stateDir = await directoryOf(t);
    let store: ConfigStore | undefined;
    const [told, over, edited] = [barrier<string>(), barrier(), barrier<readonly string[]>()];
    const author = { actor: "test", action: "test" };
    const edit = (n: number) => store?.edit(author, () => [{ path: ["admin", "n"], value: n }]);
    const admin = pluginOf(
      "admin",
      { requires: { config: ConfigStore }, config: Type.Object({ n: Type.Integer({ default: 1, reload: "hot" }) }) },
      (gateway) => {
        store = gateway.services.config;
        gateway.configChanged(async ({ n }) => {
          if (n !== 2) return;
          await edit(3)?.then(
            () => told.open("written"),
            ({ code, message }: { code: string; message: string }) => told.open(`${code}: ${message}`),
          );
          void over.passed.then(() => edit(4)).then((result) => edited.open(result?.changed ?? []));
        });
      },
    );
    const { report } = await startScene(t, [admin], { stateDir, gateway: { config: undefined } });
    await edit(2);
    assert.match(
      await told.passed,
      /^UNAVAILABLE: code called during a configuration change cannot change the configuration/,
    );
    assert.deepEqual([report("admin")?.generation, report("admin")?.errors], [1, 0]);
    over.open();
    assert.deepEqual(await edited.passed, ["admin.n"], "begun in the change, done after it");
  },
);

it("follows its sources until the work is done, then leaves no listener on them", () => {
  const [plugin, caller] = [new AbortController(), new AbortController()];
  const listeners = () => getEventListeners(plugin.signal, "abort").length;
  const done = new WorkSignal(plugin.signal, caller.signal);
  const signal = done.get();
  assert.equal(listeners(), 1);
  done.ended();
  assert.equal(listeners(), 0);

  const unlooked = new WorkSignal(plugin.signal);
  assert.equal(listeners(), 0);
  unlooked.abort();
  assert.equal(unlooked.get().aborted, true, "aborted before anybody looked");

  const running = new WorkSignal(plugin.signal, caller.signal);
  const other = running.get();
  caller.abort();
  assert.deepEqual([other.aborted, signal.aborted], [true, false]);
  running.ended();
  assert.equal(listeners(), 0);
  assert.equal(new WorkSignal(caller.signal).get().aborted, true, "its source was aborted before");
});
