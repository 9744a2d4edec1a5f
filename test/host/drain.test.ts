/** A planned stop waits for work in flight, and clients are served meanwhile. Spec: design/reliability.md line 8. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { defineContract, definePlugin, Type } from "@svc/sdk";
import { connectRaw } from "../raw-socket.ts";
import { startHost } from "./net/host-scene.ts";

const contract = defineContract("work", {
  ping: { summary: "-", scope: "operator.read", params: Type.Object({}), result: Type.Object({}) },
});

async function start(t: TestContext, drainMs: number) {
  const work = { busy: true };
  const plugin = definePlugin({
    id: "work",
    api: "^1.0.0",
    setup(gateway) {
      gateway.busy(() => work.busy);
      gateway.serve(contract, { ping: () => ({}) });
    },
  });
  const gateway = await startHost(t, { plugins: [plugin], drainMs });
  const socket = await connectRaw(gateway.url, gateway.auth.token);
  t.after(() => socket.ws.terminate());
  return { gateway, work, socket };
}

describe("a planned stop", { timeout: 120_000 }, () => {
  it("waits until no plugin is busy, serves its clients meanwhile, and then notifies them", async (t) => {
    const { gateway, work, socket } = await start(t, 15_000);
    const stopped = gateway.stop();
    for (const id of ["1", "2", "3"]) {
      socket.send({ type: "req", id, method: "work.ping" });
      assert.equal((await socket.next((frame) => frame.id === id)).ok, true);
    }
    assert.equal(
      socket.frames.some(({ event }) => event === "shutdown"),
      false,
    );
    work.busy = false;
    await stopped;
    assert.equal(
      socket.frames.some(({ event }) => event === "shutdown"),
      true,
    );
    assert.deepEqual(await socket.closed, { code: 1012, reason: "service restart" });
  });

  it("waits no longer than the drain", async (t) => {
    const { gateway, socket } = await start(t, 300);
    await gateway.stop();
    assert.equal((await socket.closed).code, 1012);
  });
});
