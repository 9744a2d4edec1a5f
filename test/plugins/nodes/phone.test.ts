/**
 * A phone as a node, frame by frame: the recorded frames of a node (protocol/clients.md §4) and what mobile apps need beyond.
 * Raw sockets, so that a key that a client would reject is seen.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { nodes } from "@svc/sdk/nodes";
import { talk, voicewake } from "@svc/sdk/talk";
import { testGateway } from "@svc/sdk/testing";
import { DEVICE_ID, deviceConnect } from "../../device.ts";
import { openRaw, type RawFrame, type RawSocket } from "../../raw-socket.ts";
import { until } from "../../until.ts";

const limited = { timeout: 120_000 };
const PLUGINS = ["storage-sqlite", "devices", "nodes", "sessions", "talk", "canvas", "health"];
const COMMANDS = ["canvas.present", "canvas.snapshot", "location.get", "camera.snap"];

/** The frames of clients are strict: no further keys, and nothing is null. */
function checkFrame(frame: RawFrame): void {
  const known =
    frame.type === "event"
      ? ["type", "event", "payload", "seq", "stateVersion"]
      : ["type", "id", "ok", "payload", "error"];
  assert.deepEqual(
    Object.keys(frame).filter((key) => !known.includes(key)),
    [],
    JSON.stringify(frame),
  );
  for (const [key, value] of Object.entries(frame)) assert.notEqual(value, null, key);
  assert.ok(frame.seq === undefined || Number.isInteger(frame.seq));
}

async function phone(t: TestContext) {
  const scene = await testGateway(t, { plugins: PLUGINS });
  const socket = await openRaw(scene.gateway.url);
  const [challenge] = socket.frames;
  assert.deepEqual(
    [challenge?.event, typeof challenge?.payload?.["nonce"], "seq" in (challenge ?? {})],
    ["connect.challenge", "string", false],
  );
  const connect = deviceConnect(socket, {
    role: "node",
    token: scene.gateway.auth.token,
    client: { id: "svc-ios", mode: "node", platform: "iOS 18.1" },
  });
  const params = { ...(connect["params"] as object), commands: COMMANDS, caps: ["canvas", "location", "voice"] };
  socket.send({ ...connect, params });
  const hello = await socket.next(({ id }) => id === "c1");
  assert.equal(hello.ok, true, JSON.stringify(hello));
  let serial = 0;
  const call = async (method: string, given: object): Promise<RawFrame> => {
    const id = `p${++serial}`;
    socket.send({ type: "req", id, method, params: given });
    return socket.next((frame) => frame.id === id);
  };
  return { ...scene, socket, hello, call };
}

const event = ({ next }: RawSocket, name: string) => next((frame) => frame.event === name);
const broadcast = ({ next }: RawSocket, name: string) =>
  next((frame) => frame.event === name && frame.seq !== undefined);

describe("a phone", limited, () => {
  it("connects, and gets its token, its canvas and the wake words", async (t) => {
    const { socket, hello, gateway } = await phone(t);
    const { auth, canvasHostUrl, features } = hello.payload as {
      auth: { deviceToken: string; role: string };
      canvasHostUrl: string;
      features: { events: string[] };
    };
    assert.deepEqual([auth.role, typeof auth.deviceToken], ["node", "string"]);
    assert.match(canvasHostUrl, new RegExp(`^http://127\\.0\\.0\\.1:${gateway.port}/__svc__/cap/[\\w-]{24}$`));
    assert.ok(
      ["talk.mode", "voicewake.changed", "node.invoke.request"].every((name) => features.events.includes(name)),
    );
    const wake = await event(socket, "voicewake.changed");
    assert.deepEqual([wake.payload, "seq" in wake], [{ triggers: ["svc", "claude", "computer"] }, false]);
    socket.frames.forEach(checkFrame);
  });

  it("registers for push messages, reports events and gets a new canvas", async (t) => {
    const { call, hello, socket } = await phone(t);
    const registration = { token: "ab".repeat(32), topic: "com.example.app", environment: "sandbox" };
    const payloadJSON = JSON.stringify(registration);
    const registered = await call("node.event", { event: "push.apns.register", payloadJSON });
    assert.deepEqual(
      [registered.ok, registered.payload],
      [true, { ok: true, event: "push.apns.register", handled: true }],
    );
    assert.deepEqual((await call("node.event", { event: "made.up" })).payload, { ok: true, event: "made.up", handled: false, reason: "unknown event" }); // prettier-ignore
    const refreshed = (await call("node.canvas.capability.refresh", {})).payload ?? {};
    assert.deepEqual(Object.keys(refreshed).toSorted(), [
      "canvasCapability",
      "canvasCapabilityExpiresAtMs",
      "canvasHostUrl",
    ]);
    assert.ok(String(refreshed["canvasHostUrl"]).endsWith(`/__svc__/cap/${String(refreshed["canvasCapability"])}`));
    assert.equal((await fetch(`${String(refreshed["canvasHostUrl"])}/__svc__/canvas/`)).status, 200);
    assert.equal((await fetch(`${String(hello.payload?.["canvasHostUrl"])}/__svc__/canvas/`)).status, 401);
    const { error } = await call("node.list", {});
    assert.equal(error?.message, "unauthorized role: node");
    socket.frames.forEach(checkFrame);
  });

  it("answers a command, hears the mode of its person, and goes", async (t) => {
    const { call, socket, client } = await phone(t);
    const { nodes: listed } = await client.call(nodes.list, {});
    const view = listed.find(({ nodeId }) => nodeId === DEVICE_ID);
    assert.deepEqual([view?.connected, view?.paired, view?.caps], [true, true, ["canvas", "location", "voice"]]);
    assert.deepEqual(
      view?.commands,
      ["canvas.present", "canvas.snapshot", "location.get"],
      "the camera needs a setting",
    );
    const command = "canvas.present";
    const asked = client.call(nodes.invoke, { nodeId: DEVICE_ID, command, params: { x: 1 }, idempotencyKey: "k1" });
    const request = await event(socket, "node.invoke.request");
    const { id, ...rest } = request.payload ?? {};
    assert.deepEqual(rest, {
      nodeId: DEVICE_ID,
      command,
      paramsJSON: '{"x":1}',
      timeoutMs: 30_000,
      idempotencyKey: "k1",
    });
    assert.ok(!("seq" in request));
    const answered = await call("node.invoke.result", {
      id,
      nodeId: DEVICE_ID,
      ok: true,
      payloadJSON: '{"y":2}',
      error: null,
    });
    assert.deepEqual(answered.payload, { ok: true });
    assert.deepEqual((await asked).payload, { y: 2 });
    assert.deepEqual((await call("node.invoke.result", { id, nodeId: DEVICE_ID, ok: true })).payload, {
      ok: true,
      ignored: true,
    });

    const mode = await client.call(talk.mode, { enabled: true, phase: "listening" });
    const heard = await broadcast(socket, "talk.mode");
    assert.deepEqual([heard.payload, typeof heard.seq], [mode, "number"]);
    await client.call(voicewake.set, { triggers: ["hey"] });
    const words = await broadcast(socket, "voicewake.changed");
    assert.deepEqual([words.payload, typeof words.seq], [{ triggers: ["hey"] }, "number"]);
    socket.frames.forEach(checkFrame);
    socket.ws.close();
    await until(async () => (await client.call(nodes.list, {})).nodes.every(({ connected }) => !connected), "the end");
  });
});
