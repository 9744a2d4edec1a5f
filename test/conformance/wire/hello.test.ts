/** The response to `connect`, field by field. Spec: protocol/frames-and-connect.md §11; spec/README.md (tick). */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { matches } from "@svc/sdk";
import { HelloOk } from "@svc/sdk/protocol";
import { testGateway } from "@svc/sdk/testing";
import { connectFrame, connectRaw, type RawSocket } from "../../raw-socket.ts";
import { ask, shared, withProof } from "./scene.ts";

const limited = { timeout: 120_000 };
const helloOf = (socket: RawSocket) => socket.frames.find(({ id }) => id === "c1")?.payload ?? {};

describe("hello-ok", limited, () => {
  const scene = shared();
  const greet = async (params: object = {}) => helloOf(await scene().join(params));

  it("has its type, protocol 3, and only the keys of the table, with the values of the table [W11.1 W1.8 W11.7 H8.7 W11.6 W11.3 W11.4 W11.10 W11.11]", async () => {
    const hello = await greet();
    assert.ok(matches(HelloOk, hello));
    const { type, protocol, policy, auth, features, snapshot, server, ...others } = hello;
    assert.deepEqual([type, protocol, typeof server, others], ["hello-ok", 3, "object", {}]);
    assert.deepEqual(policy, { maxPayload: 26_214_400, maxBufferedBytes: 52_428_800, tickIntervalMs: 15_000 });
    assert.deepEqual(Object.keys(auth ?? {}).toSorted(), ["role", "scopes"], "no token without a device");
    assert.equal(auth?.role, "operator");
    const { methods, events } = features;
    assert.ok(methods.includes("wire.echo") && !methods.includes("connect"));
    assert.ok(["connect.challenge", "tick", "shutdown", "wire.told"].every((name) => events.includes(name)));
    assert.equal(new Set(events).size, events.length);
    assert.deepEqual(snapshot.stateVersion, { presence: 1, health: 1 });
    assert.ok(Number.isInteger(snapshot.uptimeMs) && snapshot.uptimeMs > 0);
    assert.equal(snapshot["authMode"], "token");
  });

  it("server has a version and the connection's uuid, and nothing else [W11.2]", async () => {
    const socket = await scene().join();
    const server = helloOf(socket)["server"] as Record<string, string>;
    assert.deepEqual(Object.keys(server).toSorted(), ["connId", "version"]);
    assert.match(String(server["version"]), /^(\d+\.\d+\.\d+|dev)/);
    assert.match(String(server["connId"]), /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
    assert.equal((await ask(socket, "wire.who")).payload?.["id"], server["connId"]);
  });

  it("auth gives a device its token, role, scopes and time of issue [W11.6 W5.12]", async () => {
    const socket = await scene().open();
    const auth = { token: String(scene().token) };
    socket.send(connectFrame(undefined, withProof(socket, { auth, scopes: ["operator.read"] })));
    await socket.next(({ id }) => id === "c1");
    const issued = { deviceToken: "t".repeat(43), role: "operator", scopes: ["operator.read"], issuedAtMs: 1 };
    assert.deepEqual(helloOf(socket)["auth"], issued);
  });

  it("paths are sent to admins only, by choice [W11.12]", async () => {
    for (const scopes of [["operator.admin"], ["operator.read", "operator.write"], []]) {
      const { configPath, stateDir } = (await greet({ scopes }))["snapshot"] as Record<string, unknown>;
      const type = scopes[0] === "operator.admin" ? "string" : "undefined";
      assert.deepEqual([typeof configPath, typeof stateDir], [type, type]);
    }
  });
});

/** Spec: protocol/events.md. */
const EVENTS = (
  "connect.challenge agent chat presence tick talk.mode shutdown health heartbeat cron node.pair.requested node.pair.resolved " +
  "node.invoke.request device.pair.requested device.pair.resolved voicewake.changed exec.approval.requested exec.approval.resolved " +
  "update.available"
).split(" ");

describe("hello-ok of the full bundle", limited, () => {
  it("has every key of the snapshot [W11.9 W11.13]", async (t) => {
    const { gateway } = await testGateway(t);
    const socket = await connectRaw(gateway.url, gateway.auth.token, { scopes: ["operator.admin"] });
    const snapshot = helloOf(socket)["snapshot"] as Record<string, unknown>;
    const keys = "authMode configPath health presence sessionDefaults stateDir stateVersion uptimeMs";
    assert.equal(Object.keys(snapshot).toSorted().join(" "), keys);
    assert.ok(Array.isArray(snapshot["presence"]));
    const names = { defaultAgentId: "main", mainKey: "main", mainSessionKey: "agent:main:main" };
    assert.deepEqual(snapshot["sessionDefaults"], { ...names, scope: "per-sender" });
  });

  it("features.events has every event of the table [W11.4]", async (t) => {
    const { client } = await testGateway(t);
    const { events } = client.hello.features;
    assert.deepEqual(
      EVENTS.filter((name) => !events.includes(name)),
      [],
    );
  });

  it("names no file of this machine to clients without admin, and neither does health", async (t) => {
    const { gateway, stateDir } = await testGateway(t);
    for (const scopes of [["operator.read", "operator.write"], []]) {
      const socket = await connectRaw(gateway.url, gateway.auth.token, { scopes });
      socket.send({ type: "req", id: "h1", method: "health", params: {} });
      await socket.next(({ id }) => id === "h1");
      assert.ok(!JSON.stringify(socket.frames).includes(stateDir), JSON.stringify(scopes));
    }
  });

  it("a connect is followed by a health event and no presence event, its close by a presence event [W11.16 W11.20]", async (t) => {
    const { gateway } = await testGateway(t);
    const ui = { client: { id: "gateway-client", version: "1", platform: "linux", mode: "ui" } };
    const first = await connectRaw(gateway.url, gateway.auth.token, ui);
    await first.next(({ event }) => event === "health");
    const second = await connectRaw(gateway.url, gateway.auth.token, ui);
    assert.ok(!first.frames.some(({ event }) => event === "presence"));
    second.ws.close();
    const { stateVersion } = await first.next(({ event }) => event === "presence");
    assert.deepEqual(Object.keys(stateVersion as object).toSorted(), ["health", "presence"]);
  });

  it("a connect increases the version of presence, except for untracked clients [W11.17]", async (t) => {
    const { gateway } = await testGateway(t);
    const versionBeside = async (mode: string) => {
      const client = { id: "gateway-client", version: "1", platform: "linux", mode };
      await connectRaw(gateway.url, gateway.auth.token, { client });
      const other = await connectRaw(gateway.url, gateway.auth.token, { client: { ...client, mode: "cli" } });
      return (helloOf(other)["snapshot"] as { stateVersion: { presence: number } }).stateVersion.presence;
    };
    assert.deepEqual([await versionBeside("cli"), await versionBeside("ui"), await versionBeside("ui")], [1, 2, 3]);
  });
});
