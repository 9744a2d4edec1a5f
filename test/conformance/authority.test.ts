/**
 * Authorization against the table of the specification, not against the contracts: every method, every set of scopes, over
 * WebSocket and internally (`authority-http.test.ts`, `authority-cli.test.ts`: the other entry points); and every first frame
 * that is not a valid `connect`.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createDevice } from "@svc/sdk/device";
import { testGateway } from "@svc/sdk/testing";
import { connectFrame, connectRaw, openRaw } from "../raw-socket.ts";
import { sharedScene } from "../host/net/host-scene.ts";
import { connectNode } from "./attendance.ts";
import { expected, NODE_METHODS, required, SETS, verdict } from "./authority-table.ts";
import { relay, relayPlugin } from "./caller-scenes.ts";
import { BUNDLE } from "./config-bundle.ts";
import { methods } from "./samples.ts";

describe("the method x scope matrix", () => {
  it("names every method of the bundle", () => {
    assert.deepEqual([...required.keys(), ...NODE_METHODS].toSorted(), Object.keys(methods).toSorted());
  });

  const scene = sharedScene((t) => testGateway(t, { plugins: [relayPlugin, ...BUNDLE] }));

  for (const held of SETS)
    it(`with [${held.join()}], over WebSocket and from a plugin that acts for this caller`, async () => {
      const client = await scene().connect({ scopes: held });
      for (const name of Object.keys(methods)) {
        // Params are checked after the scope, so invalid ones change nothing and show which of the two checks refused.
        const outcome = await client.request(name, []).then(() => "past the scope", verdict);
        assert.equal(outcome, expected(name, held), name);
        const relayed = await client.call(relay.call, { name }).then(() => "past the scope", verdict);
        assert.equal(relayed, expected(name, held), `${name}, relayed`);
      }
    });

  it("is not widened by a client id or a mode", async () => {
    const client = await scene().connect({ scopes: [], client: { id: "gateway-client", mode: "backend" } });
    await assert.rejects(client.request("sessions.list"), /missing scope: operator\.read/);
  });

  it("a principal that a plugin invented may do no more than the plugin", async () => {
    const client = await scene().connect({ scopes: ["operator.admin"] });
    for (const name of Object.keys(methods)) {
      const outcome = await client.call(relay.forge, { name }).then(() => "past the scope", verdict);
      assert.equal(outcome, expected(name, []), name);
    }
  });

  it("a node may call only node methods and health, with any requested scopes", async (t) => {
    const { gateway } = await testGateway(t);
    const place = { url: gateway.url, token: gateway.auth.token };
    const device = createDevice();
    const names = Object.keys(methods);
    // Eleven refusals in a row close the connection, so each ten calls get a new one.
    for (let from = 0; from < names.length; from += 10) {
      const node = await connectNode(place, device, { scopes: ["operator.admin"] });
      t.after(() => node.close());
      for (const name of names.slice(from, from + 10)) {
        const isOurs = name === "health" || NODE_METHODS.includes(name);
        const outcome = await node.request(name, []).then(() => "past the scope", verdict);
        assert.equal(outcome, isOurs ? "past the scope" : "INVALID_REQUEST unauthorized role: node", name);
      }
    }
  });
});

describe("the first frame", () => {
  const notConnect = [
    ...Object.keys(methods).map((method) => ({ type: "req", id: "c1", method, params: {} })),
    { type: "req", id: "c1", method: "Connect", params: {} },
    { type: "req", id: "c1", method: "connect ", params: {} },
    { type: "req", id: "c1", method: "tools.invoke" },
  ];
  const notFrames = [
    "null",
    "[]",
    "{}",
    "1",
    '"connect"',
    '{"type":"req"}',
    '{"type":"req","id":"c1"}',
    '{"type":"req","id":"","method":"connect"}',
    '{"type":"res","id":"c1","ok":true}',
    '{"type":"event","event":"tick"}',
    '{"type":"req","id":1,"method":"connect"}',
    '{"type":"req","id":"c1","method":"connect","extra":1}',
    '{"type":"req","id":"c1","method":["connect"]}',
  ];

  it("of any other method is refused, and none of it runs [W3.2]", async (t) => {
    const { gateway } = await testGateway(t);
    for (const frame of notConnect) {
      const socket = await openRaw(gateway.url);
      socket.send(frame);
      const { error } = await socket.next(({ id }) => id === "c1");
      assert.equal(error?.message, "invalid handshake: first request must be connect", frame.method);
      assert.deepEqual(await socket.closed, { code: 1008, reason: "invalid handshake: first request must be connect" });
    }
  });

  it("that is not a request frame closes without a response", async (t) => {
    const { gateway } = await testGateway(t);
    for (const text of notFrames) {
      const socket = await openRaw(gateway.url);
      socket.send(text);
      assert.deepEqual(await socket.closed, { code: 1008, reason: "invalid request frame" }, text);
      assert.equal(socket.frames.length, 1, `${text}: only the challenge`);
    }
  });

  it("with an empty or malformed credential is refused in every mode", async (t) => {
    const odd = [undefined, "", " ", "\t", "*", "null", "undefined", "0", "\u0000", "Bearer"];
    for (const auth of [
      { mode: "token", token: "right" },
      { mode: "password", password: "right" },
    ]) {
      const { gateway } = await testGateway(t, { plugins: ["health"], config: { gateway: { auth } } });
      for (const value of odd) {
        for (const field of ["token", "password", "deviceToken"]) {
          const socket = await openRaw(gateway.url);
          socket.send(connectFrame(undefined, value === undefined ? {} : { auth: { [field]: value } }));
          const { ok } = await socket.next(({ id }) => id === "c1");
          assert.equal(ok, false, `${auth.mode}: ${field}=${JSON.stringify(value)}`);
          assert.equal((await socket.closed).code, 1008);
        }
      }
      (await connectRaw(gateway.url, "right")).ws.close();
    }
  });
});
