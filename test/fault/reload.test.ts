/** Plugins are replaced under load by working and broken versions: no call fails, no socket closes, nothing leaks. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { defineEvent, type Plugin, Type } from "@svc/sdk";
import { startLeakCheck } from "@svc/sdk/testing";
import { contractOf, settled, slotOf, startScene } from "../host/kernel/reload-scene.ts";
import { pluginOf } from "../plugin-of.ts";

const limited = { timeout: 120_000 };
const ROUNDS = Number(process.env["SVC_FAULT_ROUNDS"] ?? 40);
const load = contractOf("load", "sync", "late", "through");
const beat = defineEvent({ name: "load.beat", summary: "-", payload: Type.Unknown() });

/** @param broken fault of this version */
const version = (number: number, broken: "nothing" | "setup" | "start"): Plugin =>
  pluginOf("load", (gateway) => {
    const emit = gateway.event(beat);
    gateway.serve(load, {
      sync: () => ({ number }),
      late: async () => (await settled(3), { number }),
      through: ({ principal }) => gateway.call(load.late, {}, { principal }),
    });
    gateway.route({
      method: "GET",
      path: "/plugins/load/x",
      auth: "plugin",
      summary: "-",
      handler: async () => (await settled(2), { body: "x" }),
    });
    gateway.hooks.rpcBefore.for("load.sync").tap(() => settled(1));
    gateway.every(5, () => emit(number));
    if (broken === "setup") throw new Error("broken in setup");
    gateway.start(async () => {
      await settled();
      if (broken === "start") throw new Error("broken in start");
      return () => settled();
    });
  });

describe(`a plugin that is replaced ${ROUNDS} times under load`, limited, () => {
  it("loses no call over WebSocket or HTTP, even if the new version fails", async (t) => {
    const slot = await slotOf(t, version(0, "nothing"));
    const { gateway, reload, connect, state } = await startScene(t, [slot]);
    const clients = await Promise.all(Array.from({ length: 4 }, () => connect()));
    const leaks = startLeakCheck();
    const lost: string[] = [];
    let [calls, closed] = [0, 0];
    const ongoing = new AbortController();
    const loop = async (work: () => Promise<unknown>) => {
      while (!ongoing.signal.aborted) {
        await work().then(
          () => calls++,
          (error: Error) => lost.push(error.message),
        );
      }
    };
    const methods = Object.values(load);
    const loops = clients.flatMap((client) => {
      client.onClose(() => closed++);
      return methods.map((method) => {
        let last = 0;
        return loop(async () => {
          const { number } = (await client.call(method, {})) as { number: number };
          assert.ok(number >= last, `version ${number} answered after version ${last}`);
          last = number;
        });
      });
    });
    const base = gateway.url.replace("ws", "http");
    const fetchOnce = async () => {
      const answer = await fetch(`${base}/plugins/load/x`);
      if (answer.status !== 200) throw new Error(`HTTP ${answer.status}: ${await answer.text()}`);
      await answer.text();
    };
    loops.push(loop(fetchOnce), loop(fetchOnce));
    for (let round = 1; round <= ROUNDS; round++) {
      const broken = round % 5 === 0 ? "setup" : round % 7 === 0 ? "start" : "nothing";
      slot.become(version(round, broken));
      const { ok, rolledBack } = await reload("load");
      assert.deepEqual([ok, rolledBack, state("load")], [broken === "nothing", broken === "start", "active"]);
    }
    ongoing.abort();
    await Promise.all(loops);
    assert.deepEqual([lost, closed], [[], 0]);
    assert.ok(calls > ROUNDS, `${calls} calls`);
    await leaks
      .expectNone(10_000)
      .catch((error: Error) => assert.match(error.message, /^left open: \d+ TCPSocketWrap$/)); // fetch keeps its own sockets
  });
});
