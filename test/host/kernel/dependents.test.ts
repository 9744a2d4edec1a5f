/** Effects of a replacement on plugins that use services of the replaced plugin. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { defineService, live, notReady, optional, type Plugin } from "@svc/sdk";
import { PluginControl } from "@svc/sdk/plugins";
import { createFakeClock } from "@svc/sdk/testing";
import { barrier, contractOf, settled, slotOf, startScene, until } from "./reload-scene.ts";
import { pluginOf } from "../../plugin-of.ts";

const limited = { timeout: 120_000 };
interface Named {
  readonly name: string;
}
const Base = defineService<Named>()("base", "1.0.0");
const Middle = defineService<Named>()("middle", "1.0.0");
const methods = { ...contractOf("middle", "ask"), top: contractOf("top", "ask").ask };

/** Provides `Base`; records its starts and stops in `log`. */
const base = (name: string, log: string[] = [], begin: () => void | Promise<void> = () => {}): Plugin =>
  pluginOf("base", { provides: [Base] }, (gateway) => {
    gateway.provide(Base, { name });
    gateway.start(async () => {
      log.push(`start ${name}`);
      await begin();
      return () => void log.push(`stop ${name}`);
    });
  });

function chain(log: string[] = []) {
  const middle = pluginOf("middle", { requires: { base: Base }, provides: [Middle] }, (gateway) => {
    const { base: below } = gateway.services;
    gateway.provide(Middle, { name: `middle on ${below.name}` });
    gateway.serve({ ask: methods.ask }, { ask: () => ({ answer: below.name }) });
    gateway.start(() => (log.push("start middle"), () => void log.push(`stop middle on ${below.name}`)));
  });
  const top = pluginOf("top", { requires: { middle: Middle } }, (gateway) => {
    const { middle: below } = gateway.services;
    gateway.serve({ ask: methods.top }, { ask: () => ({ answer: below.name }) });
    gateway.start(() => (log.push("start top"), () => void log.push("stop top")));
  });
  return { middle, top };
}

describe("dependents", limited, () => {
  it("stop before it and start after it, in order, with the new service; its own providers do not stop", async (t) => {
    const log: string[] = [];
    const { middle, top } = chain(log);
    const slot = await slotOf(t, base("one", log));
    const { client, reload } = await startScene(t, [top, middle, slot]);
    log.length = 0;
    slot.become(base("two", log));
    const { ok, restarted } = await reload("base");
    assert.deepEqual([ok, restarted], [true, ["middle", "top"]]);
    assert.deepEqual(log, ["stop top", "stop middle on one", "stop one", "start two", "start middle", "start top"]);
    assert.deepEqual(await client.call(methods.top, {}), { answer: "middle on two" });

    log.length = 0;
    assert.deepEqual((await reload("middle")).restarted, ["top"]);
    assert.deepEqual(log, ["stop top", "stop middle on two", "start middle", "start top"]);
  });

  it("are held, too: their callers see no failure", async (t) => {
    const { middle, top } = chain();
    const gate = barrier();
    const slot = await slotOf(t, base("one"));
    const { client, reload, state } = await startScene(t, [slot, middle, top]);
    slot.become(base("two", [], () => gate.passed));
    const reloading = reload("base");
    await until(() => state("base") === "starting");
    assert.deepEqual([state("middle"), state("top")], ["reloading", "reloading"]);
    const held = [client.call(methods.ask, {}), client.call(methods.top, {})];
    await settled(20);
    gate.open();
    assert.deepEqual(await Promise.all(held), [{ answer: "two" }, { answer: "middle on two" }]);
    assert.equal((await reloading).ok, true);
  });

  it("restart with the old service after a rollback", async (t) => {
    const { middle, top } = chain();
    const slot = await slotOf(t, base("one"));
    const { client, reload } = await startScene(t, [slot, middle, top]);
    slot.become(base("two", [], () => Promise.reject(new Error("no"))));
    const { rolledBack, restarted } = await reload("base");
    assert.deepEqual([rolledBack, restarted], [true, ["middle", "top"]]);
    assert.deepEqual(await client.call(methods.top, {}), { answer: "middle on one" });
  });

  it("with an optional requirement restart; those with a live one keep running and see the new service", async (t) => {
    const setups: string[] = [];
    const loose = pluginOf("loose", { requires: { base: optional(Base) } }, (gateway) => {
      const name = gateway.services.base?.name ?? "none";
      setups.push(`loose ${name}`);
      gateway.serve({ ask: methods.ask }, { ask: () => ({ answer: name }) });
    });
    const following = pluginOf("following", { requires: { base: live(Base) } }, (gateway) => {
      setups.push("following");
      gateway.serve({ ask: methods.top }, { ask: () => ({ answer: gateway.services.base.get()?.name ?? "none" }) });
    });
    const slot = await slotOf(t, base("one"));
    const { client, reload } = await startScene(t, [slot, loose, following]);
    slot.become(base("two"));
    assert.deepEqual((await reload("base")).restarted, ["loose"]);
    assert.deepEqual(
      setups,
      ["following", "loose one", "loose two"].sort((a, b) => setups.indexOf(a) - setups.indexOf(b)),
    );
    assert.deepEqual(await client.call(methods.ask, {}), { answer: "two" });
    assert.deepEqual(await client.call(methods.top, {}), { answer: "two" });
  });

  it("of a service that no version provides wait for it, and their reports and refusals say so", async (t) => {
    const { middle, top } = chain();
    const none = pluginOf("base", () => {});
    const slot = await slotOf(t, none);
    const { client, reload, report } = await startScene(t, [slot, middle, top]);
    for (const back of ["two", "three"]) {
      assert.deepEqual([report("middle")?.state, report("top")?.state], ["pending", "pending"]);
      assert.match(report("middle")?.reason ?? "", /^waits for the service base 1\.0\.0/);
      slot.become(base(back));
      await reload("base");
      assert.deepEqual([report("middle")?.state, report("top")?.state], ["active", "active"]);
      assert.deepEqual(await client.call(methods.top, {}), { answer: `middle on ${back}` });
      slot.become(none);
      assert.equal((await reload("base")).ok, true);
      const refused = /provided by plugin middle, which is not enabled \(pending: waits for/;
      await assert.rejects(client.call(methods.ask, {}), refused);
    }
  });

  it("that fail to restart are `failed` and retried; the replacement succeeds", async (t) => {
    const clock = createFakeClock();
    let broken = false;
    const fragile = pluginOf("middle", { requires: { base: Base }, provides: [Middle] }, (gateway) => {
      gateway.provide(Middle, { name: `fragile on ${gateway.services.base.name}` });
      gateway.serve({ ask: methods.ask }, { ask: () => ({}) });
      gateway.start(() => (broken ? Promise.reject(new Error("cannot")) : undefined));
    });
    const { top } = chain();
    const slot = await slotOf(t, base("one"));
    const { client, reload, report, state } = await startScene(t, [slot, fragile, top], { gateway: { clock } });
    broken = true;
    slot.become(base("two"));
    assert.equal((await reload("base")).ok, true);
    assert.deepEqual([state("middle"), report("middle")?.reason, state("top")], ["failed", "start: cannot", "pending"]);
    await assert.rejects(client.call(methods.ask, {}), { code: "UNAVAILABLE", message: /plugin middle is failed/ });
    broken = false;
    await clock.advance(1_000);
    assert.deepEqual([state("middle"), state("top")], ["active", "active"]);
    assert.deepEqual(await client.call(methods.top, {}), { answer: "fragile on two" });
  });

  it("that are not ready after it restart at their own retry time", async (t) => {
    const clock = createFakeClock();
    let asleep = false;
    const sleepy = pluginOf("middle", { requires: { base: Base } }, () => {
      if (asleep) notReady("asleep", 2_000);
    });
    const slot = await slotOf(t, base("one"));
    const { reload, state } = await startScene(t, [slot, sleepy], { gateway: { clock } });
    asleep = true;
    await reload("base");
    assert.equal(state("middle"), "pending");
    asleep = false;
    await clock.advance(2_000);
    assert.equal(state("middle"), "active");
  });

  it("may reload their provider from a handler, which is not waited for", async (t) => {
    const clock = createFakeClock();
    const asking = pluginOf("middle", { requires: { base: Base, control: PluginControl } }, (gateway) => {
      const { base: below, control } = gateway.services;
      gateway.serve(
        { ask: methods.ask, top: methods.top },
        {
          ask: async () => ({ ok: (await control.reload("base")).ok, from: below.name }),
          top: () => ({ answer: below.name }),
        },
      );
    });
    const slot = await slotOf(t, base("one"));
    const { client } = await startScene(t, [slot, asking], { gateway: { clock } });
    slot.become(base("two"));
    assert.deepEqual(await client.call(methods.ask, {}), { ok: true, from: "one" });
    assert.deepEqual(await client.call(methods.top, {}), { answer: "two" });
  });
});
