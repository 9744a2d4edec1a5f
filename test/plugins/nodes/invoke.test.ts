/** Invoking commands of nodes over the wire. Spec: protocol/methods-node.md §1-2. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { GatewayError } from "@svc/sdk";
import { createDevice } from "@svc/sdk/device";
import { nodes } from "@svc/sdk/nodes";
import { createFakeClock } from "@svc/sdk/testing";
import { Invocations, MAX_PENDING } from "../../../plugins/nodes/invocations.ts";
import { declarationOf } from "../../../plugins/nodes/registry.ts";
import { until } from "../webhook-scene.ts";
import { type InvokeResult, nodeScene } from "./scene.ts";

const limited = { timeout: 120_000 };

describe("node.invoke", limited, () => {
  it("sends the command to the node and its result to the caller, a hundred at once for two nodes [W14.4]", async (t) => {
    const { node, invoke } = await nodeScene(t);
    const one = await node();
    const result = await invoke(one.id, "system.notify", { title: "hi" }, { idempotencyKey: "k", timeoutMs: 5_000 });
    assert.deepEqual(result, {
      ok: true,
      nodeId: one.id,
      command: "system.notify",
      payload: { title: "hi" },
      payloadJSON: '{"title":"hi"}',
    });
    const [request] = one.asked;
    assert.ok(request);
    const { id, ...rest } = request;
    assert.match(id, /^[0-9a-f-]{36}$/);
    assert.deepEqual(rest, {
      nodeId: one.id,
      command: "system.notify",
      paramsJSON: '{"title":"hi"}',
      timeoutMs: 5_000,
      idempotencyKey: "k",
    });
    await invoke(one.id, "system.notify");
    assert.deepEqual([one.asked[1]?.paramsJSON, one.asked[1]?.timeoutMs], [null, 30_000], "the defaults");

    const both = [one, await node()];
    const numbers = Array.from({ length: 100 }, (_, n) => n);
    const answers = await Promise.all(numbers.map((n) => invoke(both[n % 2]?.id ?? "", "system.notify", { n })));
    assert.ok(answers.every(({ payload }, n) => (payload as { n: unknown }).n === n));
    assert.deepEqual([both[0]?.asked.length, both[1]?.asked.length], [52, 50]);
  });

  it("understands an answer as text or as a value", async (t) => {
    let sent: object = {};
    const { node, invoke } = await nodeScene(t);
    const one = await node({ answer: () => ({ ok: true, ...sent }) });
    const hostile = '{"__proto__":{"x":1}}';
    const rows: [sent: object, payload: unknown, payloadJSON: string | null][] = [
      [{ payloadJSON: '{"a":1}' }, { a: 1 }, '{"a":1}'],
      [{ payloadJSON: "{oops" }, { payloadJSON: "{oops" }, "{oops"],
      [{ payload: [1, 2] }, [1, 2], null],
      [{ payload: 1, payloadJSON: null }, 1, null],
      [{ payloadJSON: { a: 1 } }, { a: 1 }, null],
      [{}, undefined, null],
      [{ payloadJSON: hostile }, JSON.parse(hostile), hostile],
    ];
    for (const [answer, payload, payloadJSON] of rows) {
      sent = answer;
      const result = await invoke(one.id, "system.notify");
      assert.deepEqual([result.payload, result.payloadJSON], [payload, payloadJSON], JSON.stringify(answer));
    }
  });

  it("passes on a refusal, without characters that steer a terminal, and bounded", async (t) => {
    let error: InvokeResult["error"];
    const { node, invoke } = await nodeScene(t);
    const one = await node({ answer: () => ({ ok: false, ...(error !== undefined && { error }) }) });
    const rows: [sent: InvokeResult["error"], code: string, message: string][] = [
      [{ code: "SYSTEM_RUN_DENIED", message: "no" }, "SYSTEM_RUN_DENIED", "no"],
      [undefined, "UNAVAILABLE", "the node refused without a reason"],
      [null, "UNAVAILABLE", "the node refused without a reason"],
      [{ code: "A\u001b[31m", message: "b\u0007c\nd" }, "A [31m", "b c\nd"],
    ];
    for (const [sent, code, message] of rows) {
      error = sent;
      const refusal = {
        code: "UNAVAILABLE",
        message: `${code}: ${message}`,
        details: { nodeError: { code, message } },
      };
      await assert.rejects(invoke(one.id, "system.notify"), refusal);
    }
    error = { code: "C".repeat(500), message: "m".repeat(50_000) };
    await assert.rejects(invoke(one.id, "system.notify"), ({ message }: Error) => message.length < 8_200);
  });

  it("gives up after its timeout, and ignores a late answer", async (t) => {
    const { node, invoke, service } = await nodeScene(t);
    const one = await node({ answer: () => undefined });
    for (const [index, timeoutMs] of [0, 20].entries()) {
      const nodeError = { code: "TIMEOUT", message: `no answer to system.notify within ${timeoutMs} ms` };
      const refusal = { code: "UNAVAILABLE", message: `TIMEOUT: ${nodeError.message}`, details: { nodeError } };
      await assert.rejects(invoke(one.id, "system.notify", {}, { timeoutMs }), refusal);
      await until(() => one.asked.length === index + 1, "the request");
      const id = one.asked[index]?.id ?? "";
      const late = await one.client.call(nodes.invokeResult, { id, nodeId: one.id, ok: true });
      assert.deepEqual(late, { ok: true, ignored: true });
    }
    assert.equal((await service.list()).length, 1);
  });

  it("refuses an unknown node, one that is not connected, a broken timeout, and blank ids and commands", async (t) => {
    const { node, invoke, devices } = await nodeScene(t);
    await assert.rejects(invoke("nobody", "system.notify"), { code: "NOT_FOUND", message: /unknown nodeId "nobody"/ });
    const device = createDevice();
    devices.pair(device, { displayName: "Kitchen" });
    await assert.rejects(invoke(device.id, "system.notify"), {
      code: "UNAVAILABLE",
      message: "node Kitchen is not connected; start it there with: svc node run",
      details: { code: "NOT_CONNECTED" },
    });
    const phone = createDevice();
    devices.pair(phone, { role: "operator", roles: ["operator"] });
    await assert.rejects(invoke(phone.id, "system.notify"), { code: "NOT_FOUND" });

    const { id } = await node();
    for (const timeoutMs of [-1, 1.5, "5"]) {
      await assert.rejects(invoke(id, "system.notify", {}, { timeoutMs }), { code: "INVALID_REQUEST" });
    }
    for (const blank of ["", " "]) {
      await assert.rejects(invoke(blank, "system.notify"), { code: "INVALID_REQUEST" });
      await assert.rejects(invoke(id, blank), { code: "INVALID_REQUEST" });
    }
  });

  it("refuses the policy file to clients, whatever is allowed", async (t) => {
    for (const command of ["system.execApprovals.get", "system.execApprovals.set"]) {
      const { node, invoke } = await nodeScene(t, { nodes: { allowCommands: [command] } });
      const one = await node({ commands: [command] });
      await assert.rejects(invoke(one.id, command), { code: "INVALID_REQUEST", details: { command } });
      assert.deepEqual(one.asked, []);
    }
  });

  it("names the reason why a command is not forwarded, and goes by the platform of the device record [W4.6]", async (t) => {
    const { node, invoke, devices } = await nodeScene(t);
    const one = await node({ commands: ["camera.snap", "system.notify"], record: { commands: ["camera.snap"] } });
    devices.request("r1", { deviceId: one.id, commands: ["system.notify"] });
    const mute = await node({ commands: [] });
    const rows: [nodeId: string, command: string, reason: string][] = [
      [one.id, "camera.snap", "command not allowlisted"],
      [one.id, "made.up", "command not allowlisted"],
      [one.id, "system.which", "command not declared by node"],
      [one.id, "system.notify", "command waits for approval"],
      [mute.id, "system.notify", "node did not declare commands"],
      [mute.id, "camera.snap", "command not allowlisted"],
    ];
    for (const [nodeId, command, reason] of rows) {
      const refusal = await invoke(nodeId, command).catch((error: GatewayError) => error);
      assert.ok(refusal instanceof GatewayError);
      const { details } = refusal as { details?: { reason: string; command: string } };
      assert.deepEqual([refusal.code, details?.reason, details?.command], ["INVALID_REQUEST", reason, command]);
    }
    await assert.rejects(invoke(one.id, "system.notify"), { message: /svc devices approve r1$/ });
    await assert.rejects(invoke(one.id, "camera.snap"), { message: /gateway\.nodes\.allowCommands/ });
    devices.pair(one.identity, { commands: ["camera.snap", "system.notify"] });
    assert.equal((await invoke(one.id, "system.notify")).ok, true, "an approval counts at once");
    assert.equal((await invoke(one.id, " system.notify ")).command, "system.notify");

    const claims = await node({ record: { platform: "ios" }, client: { platform: "macos" } });
    await assert.rejects(invoke(claims.id, "system.run", { command: ["ls"] }), {
      details: { reason: "command not allowlisted", command: "system.run", platform: "ios" },
    });
  });

  it("rejects pending commands when the node disconnects, and lists it as disconnected [W11.21]", async (t) => {
    const { node, invoke, view } = await nodeScene(t);
    const one = await node({ answer: () => undefined });
    const asked = assert.rejects(invoke(one.id, "system.notify"), {
      code: "UNAVAILABLE",
      message: "Error: node disconnected (system.notify)",
    });
    await until(() => one.asked.length === 1, "the request");
    await one.client.close();
    await asked;
    await until(async () => (await view(one.id))?.connected === false, "the node to go");
    assert.deepEqual((await view(one.id))?.commands, []);
  });

  it("lets the newer connection of a node take over, and the older one go without harm", async (t) => {
    const { node, invoke, view } = await nodeScene(t);
    const older = await node({ answer: () => undefined });
    const waits = assert.rejects(invoke(older.id, "system.notify"), { message: /^Error: node disconnected/ });
    await until(() => older.asked.length === 1, "the request");
    const newer = await node({ identity: older.identity, commands: ["system.notify"] });
    await waits;
    const id = older.asked[0]?.id ?? "";
    const foreign = await older.client.call(nodes.invokeResult, { id, nodeId: older.id, ok: true });
    assert.deepEqual(foreign, { ok: true, ignored: true });
    await older.client.close();
    assert.equal((await invoke(newer.id, "system.notify")).ok, true);
    assert.deepEqual([(await view(newer.id))?.connected, (await view(newer.id))?.commands], [true, ["system.notify"]]);
    assert.equal(older.asked.length, 1);
  });

  it("accepts results only from the invoked connection, under its own id, while the caller is connected", async (t) => {
    const { node, invoke, connect } = await nodeScene(t);
    const one = await node({ answer: () => undefined });
    const other = await node();
    const asked = invoke(one.id, "system.notify");
    await until(() => one.asked.length === 1, "the request");
    const id = one.asked[0]?.id ?? "";
    const say = (who: typeof one, params: object) =>
      who.client.call(nodes.invokeResult, { id, nodeId: who.id, ok: true, ...params });
    assert.deepEqual(await say(other, { payload: "forged" }), { ok: true, ignored: true });
    await assert.rejects(say(other, { nodeId: one.id }), { code: "INVALID_REQUEST" });
    assert.deepEqual(await say(one, { id: "unknown" }), { ok: true, ignored: true });
    for (const hostile of [{ ok: "yes" }, { error: { code: "" } }, { error: "text" }, { id: "" }]) {
      await assert.rejects(say(one, hostile), { code: "INVALID_REQUEST" });
    }
    assert.deepEqual(await say(one, { payload: "mine" }), { ok: true });
    assert.deepEqual(await say(one, { payload: "twice" }), { ok: true, ignored: true });
    assert.equal((await asked).payload, "mine");

    const caller = await connect();
    const lost = assert.rejects(caller.call(nodes.invoke, { nodeId: one.id, command: "system.notify" }));
    await until(() => one.asked.length === 2, "the second request");
    await caller.close();
    await lost;
    await until(async () => (await say(one, { id: one.asked[1]?.id })).ignored === true, "the question to be given up");
  });

  it("keeps connected nodes when its plugin is reloaded", async (t) => {
    const { node, invoke, view, reload } = await nodeScene(t);
    const commands = ["system.notify", "location.get"];
    const one = await node({ commands, record: { displayName: "Kitchen", commands } });
    const gone = await node();
    await gone.client.close();
    const before = await view(one.id);
    assert.equal((await reload("nodes")).ok, true);
    const { connectedAtMs, ...after } = (await view(one.id)) ?? assert.fail();
    assert.ok(connectedAtMs && before?.connectedAtMs && connectedAtMs >= before.connectedAtMs);
    assert.deepEqual({ ...after, connectedAtMs: before.connectedAtMs }, before);
    assert.equal((await invoke(one.id, "system.notify")).ok, true);
    assert.equal((await view(gone.id))?.connected, false);
    await one.client.close();
    await until(async () => (await view(one.id))?.connected === false, "the node to go");
  });
});

describe("commands under way", () => {
  const connect = { client: { id: "x", version: "1", platform: "macos", mode: "node" } };
  const info = { id: "c1", remoteAddress: "::1", connect } as Parameters<typeof declarationOf>[1]; // the parts that are read
  const connected = {
    ...declarationOf("n1", info, undefined, { commands: [], withheld: [] }),
    connectedAtMs: 1,
  };

  it("are bounded for one node, end with the plugin or their caller, and leave nothing behind", async () => {
    const clock = createFakeClock();
    const sent: string[] = [];
    let n = 0;
    const pending = new Invocations({ clock, send: ({ id }) => sent.push(id), newId: () => `i${n++}` });
    const asked = Array.from({ length: MAX_PENDING }, () => pending.invoke(connected, { command: "x", params: {} }));
    const one = () => pending.invoke(connected, { command: "x", params: {} });
    assert.throws(one, { code: "UNAVAILABLE", retryAfterMs: 1_000 });
    for (const id of sent) assert.equal(pending.settle("c1", { id, ok: true, payload: id }), true);
    assert.equal((await Promise.all(asked)).length, MAX_PENDING);
    assert.deepEqual([pending.size, clock.pending], [0, 0]);

    await assert.rejects(pending.invoke(connected, { command: "x", params: {}, signal: AbortSignal.abort() }));
    const waits = pending.invoke(connected, { command: "x", params: {}, timeoutMs: 1e12 });
    pending.stop();
    await assert.rejects(waits, { code: "UNAVAILABLE" });
    assert.deepEqual([pending.size, clock.pending], [0, 0]);
  });
});
