/** Metadata that a paired device sends when it reconnects, and the part that is stored. Spec: protocol/frames-and-connect.md §10, "After passing". */
import assert from "node:assert/strict";
import { it } from "node:test";
import { createDevice, openScene, READ, WRITE } from "../../plugins/devices/scene.ts";

it("a device that reconnects is shown with its new name, client and scopes, and with its first platform [W10.8]", async (t) => {
  const scene = await openScene(t);
  const device = createDevice();
  const first = { displayName: "First", id: "cli", mode: "cli", platform: "linux", deviceFamily: "Desk" };
  const { auth } = await scene.pair(device, { scopes: [READ, WRITE], client: first });
  const before = await scene.paired(device);
  const next = { displayName: "Second", id: "test", mode: "test", platform: " LINUX ", deviceFamily: "desk" };
  const { ok } = await scene.byToken(device, auth.deviceToken, { scopes: [READ], client: next });
  assert.ok(ok);
  const after = await scene.paired(device);
  assert.ok(before && after);
  const shown = {
    displayName: "Second",
    clientId: "test",
    clientMode: "test",
    platform: "linux",
    deviceFamily: "Desk",
  };
  assert.deepEqual({ ...after, ...shown, role: "operator", scopes: [READ, WRITE] }, after);
  assert.equal(after.approvedAtMs, before.approvedAtMs);
  // This approved nothing: a further scope needs approval again, or is admitted silently as before.
  const far = await scene.byToken(device, auth.deviceToken, { scopes: ["operator.admin"], client: next, far: true });
  assert.equal(far.ok, false);
});
