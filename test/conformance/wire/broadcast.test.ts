/** Broadcasts and closes on the wire. Spec: protocol/frames-and-connect.md §12-§13; spec/README.md (seq, revoking). */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createFakeClock, testGateway } from "@svc/sdk/testing";
import { connectFrame, connectRaw } from "../../raw-socket.ts";
import { ask, shared, start, withProof } from "./scene.ts";

const limited = { timeout: 120_000 };

describe("seq", limited, () => {
  it("starts at 1, counts the events that everyone gets, and is the same for all [W12.1 W12.3 W12.4]", async (t) => {
    const { join } = await start(t);
    const [one, two] = [await join({ scopes: ["operator.admin"] }), await join({ scopes: [] })];
    for (let turn = 0; turn < 3; turn++) await ask(one, "wire.tell");
    const numbers = async (socket: typeof one) => {
      await socket.next(({ event, seq }) => event === "wire.told" && seq === 3);
      return socket.frames.flatMap(({ event, seq }) => (event === "wire.told" && seq !== undefined ? seq : []));
    };
    assert.deepEqual(await numbers(one), [1, 2, 3]);
    assert.deepEqual(await numbers(two), [1, 2, 3]);
    const unnumbered = one.frames.filter(({ type, seq }) => type === "event" && seq === undefined);
    const names = unnumbered.map(({ event }) => event);
    assert.deepEqual(new Set(names), new Set(["connect.challenge", "wire.guarded", "wire.told"]));
    assert.ok(!two.frames.some(({ event }) => event === "wire.guarded"), "a guarded event needs its scope");
  });

  it("nodes receive unguarded events, numbered, and no guarded ones [W12.7]", async (t) => {
    const { join, open } = await start(t);
    const node = await open();
    const claim = { role: "node", scopes: ["operator.approvals"], auth: { deviceToken: "issued" } };
    node.send(connectFrame(undefined, withProof(node, claim)));
    await node.next(({ id, ok }) => id === "c1" && ok === true);
    const operator = await join({ scopes: ["operator.approvals"] });
    await ask(operator, "wire.tell");
    await ask(operator, "wire.tell");
    await node.next(({ event, seq }) => event === "wire.told" && seq === 2);
    const heard = node.frames.flatMap(({ event }) => event ?? []);
    assert.deepEqual(heard, ["connect.challenge", "wire.told", "wire.told"]);
    assert.equal(operator.frames.filter(({ event }) => event === "wire.guarded").length, 2);
  });
});

describe("tick", limited, () => {
  it("is sent every 15 s as {ts}, numbered, without stateVersion [W2.5 W12.10]", async (t) => {
    const clock = createFakeClock();
    const { join } = await start(t, {}, { clock });
    const socket = await join();
    await clock.advance(14_999);
    await ask(socket, "wire.who");
    assert.ok(!socket.frames.some(({ event }) => event === "tick"));
    await clock.advance(1);
    const tick = await socket.next(({ event }) => event === "tick");
    assert.deepEqual(Object.keys(tick).toSorted(), ["event", "payload", "seq", "type"]);
    assert.deepEqual(Object.keys(tick.payload ?? {}), ["ts"]);
  });
});

describe("stateVersion", limited, () => {
  it("is set on presence and health, and on no other event [W12.9]", async (t) => {
    const { gateway } = await testGateway(t);
    const ui = { client: { id: "gateway-client", version: "1", platform: "linux", mode: "ui" } };
    const socket = await connectRaw(gateway.url, gateway.auth.token, ui);
    (await connectRaw(gateway.url, gateway.auth.token, ui)).ws.close();
    await socket.next(({ event }) => event === "presence");
    await socket.next(({ event }) => event === "health");
    for (const { event, stateVersion } of socket.frames.filter(({ type }) => type === "event"))
      assert.equal(stateVersion !== undefined, event === "presence" || event === "health", event);
  });
});

describe("stopping", limited, () => {
  const soon = { restartExpectedMs: 1_500 };
  const stops: [how: string, stop: unknown[], payload: object][] = [
    ["a stop [W12.11]", [], { reason: "gateway stopping", restartExpectedMs: null }],
    ["a restart [W12.11]", ["gateway restarting", soon], { reason: "gateway restarting", ...soon }],
  ];
  for (const [how, args, payload] of stops) {
    it(`by ${how} is announced, then closes every connection with 1012 service restart [W12.11 W13.7]`, async (t) => {
      const { join, open, gateway } = await start(t);
      const [accepted, stranger] = [await join(), await open()];
      const stop = gateway.stop.bind(gateway) as (...given: unknown[]) => Promise<void>;
      const stopped = stop(...args);
      assert.deepEqual(await accepted.closed, { code: 1012, reason: "service restart" });
      assert.deepEqual(await stranger.closed, { code: 1012, reason: "service restart" });
      await stopped;
      assert.deepEqual(accepted.frames.at(-1)?.payload, payload);
      assert.ok(!stranger.frames.some(({ event }) => event === "shutdown"), "strangers are told nothing");
    });
  }
});

describe("closes", limited, () => {
  const scene = shared();

  it("the flood guard closes with 1008 repeated unauthorized calls [W13.5 H8.6]", async () => {
    const socket = await scene().open();
    const claim = { role: "node", scopes: [], auth: { deviceToken: "issued" } };
    socket.send(connectFrame(undefined, withProof(socket, claim)));
    await socket.next(({ id, ok }) => id === "c1" && ok === true);
    for (let turn = 0; turn < 11; turn++) {
      assert.equal(socket.ws.readyState, socket.ws.OPEN);
      assert.equal((await ask(socket, "wire.echo")).error?.message, "unauthorized role: node");
    }
    assert.deepEqual(await socket.closed, { code: 1008, reason: "repeated unauthorized calls" });
  });

  it("nothing is answered after a close", async () => {
    const socket = await scene().open();
    socket.send(connectFrame("wrong"));
    socket.send(connectFrame(scene().token, {}, { id: "c2" }));
    assert.equal((await socket.closed).code, 1008);
    assert.ok(!socket.frames.some(({ ok }) => ok === true));
  });
});
