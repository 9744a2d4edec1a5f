/** Plugins in their own thread or process that flood the gateway: they are named, and others are not affected. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { it, type TestContext } from "node:test";
import { defineEvent, Type } from "@svc/sdk";
import type { GatewayClient } from "@svc/sdk/client";
import { packageAt } from "../host/carriers/scene.ts";
import { until } from "../until.ts";
import { floodScene } from "./flood-scene.ts";
import { pause, refusalOf } from "./workload.ts";

const LINES = 200_000;
const CALLS = 20_000;
const limited = { timeout: 120_000 };
const note = defineEvent({ name: "guest.note", summary: "-", payload: Type.Unknown() });

/** Methods of the plugin, each a flood. */
const SETUP = `
  const note = gateway.event(defineEvent({ name: "guest.note", summary: "-", payload: Any }));
  const flood = (count, text) => setInterval(() => { for (let n = 0; n < count; n++) note({ n, text }); }, 10);
  serve("ok", () => "ok");
  serve("lines", () => { for (let n = 0; n < ${LINES}; n++) gateway.log.info({ n }, "one more line"); return "sent"; });
  serve("events", () => { flood(2_000, "x".repeat(500)); return "begun"; });
  serve("large-events", () => { flood(20, "x".repeat(1_000_000)); return "begun"; });
  serve("calls", async () => {
    const all = await Promise.all(Array.from({ length: ${CALLS} }, () => gateway.call(health.check, {})));
    return all.filter(({ ok }) => ok).length;
  });
  serve("answer", () => "x".repeat(300_000_000));
  serve("rows", () => Array.from({ length: 3_000_000 }, (_, n) => ({ n })));
  serve("event", () => { note("x".repeat(100_000_000)); return "sent"; });
`;

async function scene(t: TestContext, run: string) {
  const made = await floodScene(
    t,
    {
      plugins: { load: { paths: ["./guest"] }, entries: { guest: { run } } },
      agents: { defaults: { skipBootstrap: true } },
    },
    (stateDir) =>
      packageAt(join(stateDir, "guest"), { setup: SETUP, before: `import { health } from "@svc/sdk/health";` }),
  );
  return { ...made, ask: (key: string) => asked(made.client, key) };
}

const asked = (client: GatewayClient, key: string) =>
  client.request(`guest.${key}`, {}, { timeoutMs: 60_000 }).catch(refusalOf);

/** Lines that arrived, plus those dropped on the way to the gateway or to this process. */
function countLines(log: string): number {
  const leftOut = [...log.matchAll(/"leftOut":(\d+)/g)].map(([, count]) => Number(count));
  return leftOut.reduce((sum, count) => sum + count, log.split("one more line").length - 1);
}

for (const run of ["worker", "process"]) {
  it(`in a ${run}: ${CALLS} calls at once are all answered`, limited, async (t) => {
    const { ask, during, plugin, othersServe, stops } = await scene(t, run);
    await during(async () => assert.equal(await ask("calls"), CALLS));
    assert.equal((await plugin("guest")).state, "active");
    await othersServe();
    await stops();
  });

  it(
    `in a ${run}: of ${LINES} lines of the log each arrives or is counted; a stop under events`,
    limited,
    async (t) => {
      const { gateway, ask, during, plugin, othersServe, stops } = await scene(t, run);
      assert.equal(await ask("ok"), "ok");
      await during(async () => {
        assert.equal(await ask("lines"), "sent");
        await until(async () => (await pause(300), countLines(gateway.log()) >= LINES), "all lines");
      });
      assert.match(gateway.log(), /"plugin":"guest","leftOut":\d+,"msg":"log lines: \d+ dropped, sent faster/);
      assert.equal((await plugin("guest")).state, "active");
      await othersServe();
      assert.equal(await ask("events"), "begun");
      await pause(1_000);
      await stops();
    },
  );

  for (const flood of ["events", "large-events"])
    it(`in a ${run}: endless ${flood} put the plugin into quarantine`, limited, async (t) => {
      const { client, ask, during, plugin, othersServe, stops } = await scene(t, run);
      let heard = 0;
      client.on(note, () => heard++);
      await during(async () => {
        assert.equal(await ask(flood), "begun");
        await until(async () => (await plugin("guest")).state === "quarantined", "the quarantine");
      });
      const { blame } = await plugin("guest");
      t.diagnostic(`${heard} events; ${JSON.stringify(blame)}`);
      assert.equal(blame?.where, "event guest.note");
      assert.match(blame.message, /^\d+ dropped, sent faster than the gateway can receive$/);
      assert.ok(heard > 0);
      await othersServe("guest");
      await stops();
    });

  it(`in a ${run}: answers and events of 100 MB and more are refused`, limited, async (t) => {
    const { ask, during, plugin, othersServe, stops } = await scene(t, run);
    const tooLarge = /: more than 33554432 bytes cannot be sent to another thread or process at once$/;
    await during(async () => {
      for (const [key, where] of [
        ["answer", "method guest.answer"],
        ["rows", "method guest.rows"],
      ] as const) {
        assert.equal(((await ask(key)) as { code: string }).code, "INTERNAL");
        const { blame } = await plugin("guest");
        assert.equal(blame?.where, where);
        assert.match(blame.message, tooLarge);
      }
      assert.equal(await ask("event"), "sent");
      await until(async () => (await plugin("guest")).blame?.where === "event guest.note", "the charge");
      assert.match((await plugin("guest")).blame?.message ?? "", tooLarge);
    });
    assert.equal(await ask("ok"), "ok");
    await othersServe();
    await stops();
  });
}

it("unread lines on stderr block nothing", limited, async (t) => {
  const { gateway, ask, during, plugin, othersServe, stops } = await scene(t, "worker");
  await during(async () => {
    gateway.child.stderr?.pause();
    assert.equal(await ask("lines"), "sent");
    await pause(2_000);
  });
  gateway.child.stderr?.resume();
  await until(
    () => /"leftOut":\d+,.*"standard error is read too slowly/.test(gateway.log()),
    "the count of lines left out",
  );
  assert.equal((await plugin("guest")).state, "active");
  await othersServe();
  await stops();
});
