/** A stop and a reload let work and HTTP requests in flight finish, streams to their last chunk. Spec: design/reliability.md line 8. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { defineContract, definePlugin, Type } from "@svc/sdk";
import { testGateway } from "@svc/sdk/testing";
import { pluginOf } from "../../plugin-of.ts";
import { barrier, slotOf, startScene } from "../kernel/reload-scene.ts";
import { connectRaw } from "../../raw-socket.ts";
import { startHost } from "../net/host-scene.ts";

function pluginWith(gate: Promise<void>, seen: () => void) {
  return pluginOf("slow", (gateway) => {
    gateway.route({
      method: "GET",
      path: "/plugins/slow/answer",
      auth: "plugin",
      summary: "-",
      async handler() {
        seen();
        await gate;
        return { body: { stopped: gateway.signal.aborted } };
      },
    });
    gateway.route({
      method: "GET",
      path: "/plugins/slow/stream",
      auth: "plugin",
      summary: "-",
      handler: () => ({
        body: (async function* () {
          yield "first ";
          seen();
          await gate;
          yield gateway.signal.aborted ? "after the stop" : "last";
        })(),
      }),
    });
  });
}

const http = (url: string) => url.replace(/^ws/, "http");

for (const [path, text] of [
  ["answer", '{"stopped":false}'],
  ["stream", "first last"],
] as const)
  for (const how of ["stop", "reload"] as const)
    it(`a ${how} waits for the ${path}`, { timeout: 120_000 }, async (t) => {
      const [gate, begun] = [barrier(), barrier()];
      const plugin = pluginWith(gate.passed, () => begun.open());
      const { gateway, reload } = await startScene(t, [await slotOf(t, plugin)], { gateway: { drainMs: 10_000 } });
      const answer = fetch(`${http(gateway.url)}/plugins/slow/${path}`).then((response) => response.text());
      await begun.passed;
      const over = how === "stop" ? gateway.stop() : reload("slow");
      setTimeout(() => gate.open(), 50);
      assert.equal(await answer, text);
      assert.notEqual((await over)?.ok, false);
    });

it(
  "a stopping gateway refuses new requests on open connections, and says when to come back",
  { timeout: 20_000 },
  async (t) => {
    const [gate, begun] = [barrier(), barrier()];
    const { gateway } = await testGateway(t, {
      plugins: [pluginWith(gate.passed, () => begun.open())],
      gateway: { drainMs: 10_000 },
    });
    const held = fetch(`${http(gateway.url)}/plugins/slow/answer`);
    await begun.passed;
    const socket = connect(gateway.port, "127.0.0.1");
    await once(socket, "connect");
    socket.write("GET /plugins/slow/answer HTTP/1.1\r\nHost: 127.0.0.1\r\n"); // incomplete, so the connection is not idle
    const stopped = gateway.stop();
    socket.write("\r\n");
    const text = String((await once(socket, "data"))[0]);
    assert.match(text, /^HTTP\/1\.1 503 /);
    assert.match(text, /retry-after: 1\r\n/i);
    gate.open();
    assert.equal((await held).status, 200);
    await stopped;
  },
);

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
