// long: waits for real reconnects
/** A node program with a scripted gateway: connecting, waiting, reconnecting, giving up and stopping. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { readDevice, readDeviceToken } from "@svc/sdk/device";
import { fakeGateway, type Welcome } from "./fake-gateway.ts";
import { startNode } from "./node.ts";

const auth = (deviceToken: string) => ({ auth: { deviceToken, role: "node", scopes: [] } });
const refused = (code: string, message: string, details: object): Welcome => ({ error: { code, message, details } });
const unapproved = (requestId: string) =>
  refused("NOT_PAIRED", "pairing required", { code: "PAIRING_REQUIRED", requestId, reason: "not-paired" });
const tokenGone = refused("INVALID_REQUEST", "unauthorized: device token mismatch", {
  code: "AUTH_DEVICE_TOKEN_MISMATCH",
});

describe("a node program", { timeout: 120_000 }, () => {
  it("declares its identity and commands", async (t) => {
    const gateway = await fakeGateway(t);
    const node = startNode(t, gateway.url, { env: { PATH: "/nowhere" } });
    const { nodeId } = await node.until("connected");
    const { client, device, ...connect } = gateway.connects[0] ?? {};
    assert.deepEqual(connect, {
      minProtocol: 3,
      maxProtocol: 3,
      role: "node",
      scopes: [],
      caps: ["system", "resume"],
      commands: "system.run.prepare system.run system.which system.execApprovals.get system.execApprovals.set".split(
        " ",
      ),
      pathEnv: "/nowhere",
      auth: { token: "shared-secret" },
    });
    const { id, mode, displayName, platform } = client as Record<string, string>;
    assert.deepEqual([id, mode, displayName, platform], ["node-host", "node", "workshop", process.platform]);
    assert.equal((device as { id: string }).id, nodeId);
    assert.equal(readDevice(join(node.stateDir, "identity"))?.id, nodeId);
  });

  it("stores its token in the token file only, and reconnects with it instead of the gateway's secret", async (t) => {
    const gateway = await fakeGateway(t, (nth) => auth(`device-${nth}`));
    const node = startNode(t, gateway.url);
    await gateway.connected(1);
    await node.until("connected");
    gateway.drop();
    await gateway.connected(2);
    assert.deepEqual(gateway.connects[1]?.["auth"], { token: "device-1", deviceToken: "device-1" });
    gateway.drop();
    await gateway.connected(3);
    assert.deepEqual(gateway.connects[2]?.["auth"], { token: "device-2", deviceToken: "device-2" });

    const identity = join(node.stateDir, "identity");
    assert.doesNotMatch(readFileSync(join(identity, "device.json"), "utf8"), /device-\d|shared/);
    assert.doesNotMatch(JSON.stringify(node.states), /device-\d|shared/);
  });

  it("tries again when nobody answers, waits until it is approved, and prints the command once", async (t) => {
    const answers = [refused("UNAVAILABLE", "not ready yet", {}), unapproved("req-1"), unapproved("req-1")];
    const gateway = await fakeGateway(t, (nth) => answers[nth - 1] ?? {});
    const node = startNode(t, gateway.url);
    assert.match((await node.until("reconnecting")).why, /not ready yet/);
    const waiting = await node.until("waiting");
    assert.equal(waiting.next, "svc devices approve req-1");
    await node.until("connected");
    assert.equal(node.states.filter(({ state }) => state === "waiting").length, 1);
  });

  it("stops when the gateway's secret is wrong, with the next step", async (t) => {
    const wrong = refused("INVALID_REQUEST", "unauthorized: gateway token mismatch", { code: "AUTH_TOKEN_MISMATCH" });
    const gateway = await fakeGateway(t, () => wrong);
    const node = startNode(t, gateway.url);
    assert.equal(await node.ended, 1);
    const told = await node.until("refused");
    assert.match(told.why, /token mismatch/);
    assert.match(told.next, /svc gateway token/);
    assert.equal(gateway.connects.length, 1);
  });

  it("deletes a refused token, and tries the gateway's secret", async (t) => {
    const gateway = await fakeGateway(t, (nth) => (nth === 1 ? auth("device-1") : nth === 2 ? tokenGone : {}));
    const node = startNode(t, gateway.url);
    await node.until("connected");
    gateway.drop(1008, "device token revoked");
    await gateway.connected(2);
    assert.deepEqual(gateway.connects[2]?.["auth"], { token: "shared-secret" });
    assert.equal(readDeviceToken(join(node.stateDir, "identity"), gateway.url, "node"), undefined);
  });

  it("ends at once while it waits for the next attempt", async (t) => {
    const gateway = await fakeGateway(t, () => unapproved("req-1"));
    const node = startNode(t, gateway.url);
    await node.until("waiting");
    assert.equal(await node.stop(), 0);
    assert.equal(node.states.at(-1)?.state, "stopped");
  });

  it("answers an invocation sent together with hello-ok", async (t) => {
    const which = { id: "early", command: "system.which", paramsJSON: '{"bins":[]}' };
    const greeting = (_nth: number, { device }: Record<string, unknown>) => {
      const payload = { ...which, nodeId: (device as { id: string }).id };
      return [{ type: "event", event: "node.invoke.request", payload }];
    };
    const gateway = await fakeGateway(t, () => ({}), greeting);
    startNode(t, gateway.url);
    const { ok, payloadJSON } = await gateway.answer("early");
    assert.deepEqual([ok, payloadJSON], [true, '{"bins":{}}']);
  });

  it("notes that its policy file allows no command, and the next step", async (t) => {
    const gateway = await fakeGateway(t);
    const fresh = startNode(t, gateway.url);
    const { text } = await fresh.until("note");
    assert.match(text, /allows no command yet; .*: svc approvals security allowlist .*--node [0-9a-f]{64}$/);
    const open = startNode(t, gateway.url, { policy: { version: 1, defaults: { security: "full" } } });
    await open.until("connected");
    assert.deepEqual([open.states.length, open.states[0]?.state], [1, "connected"]);
  });
});
