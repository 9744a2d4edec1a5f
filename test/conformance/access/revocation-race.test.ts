/** Connects that race with the end of their credential: in any order, none of them is connected afterwards. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ADMIN, createDevice, openScene, type Outcome, READ, type Scene } from "../../plugins/devices/scene.ts";
import { powers, probePlugin, until } from "./scene.ts";

const limited = { timeout: 120_000 };
const TURNS = 12;
/** Connects of one device at a time, some before the act, some after. */
const CONNECTS = 6;

type Role = "operator" | "node";
const ACTS = ["device.token.revoke", "device.token.rotate", "device.pair.remove"] as const;

/** Connections that were admitted and are still open. */
async function lasting(outcomes: readonly Outcome[]): Promise<Outcome[]> {
  const inside = outcomes.filter(({ ok }) => ok);
  // One round of calls: by then, connections with an ended credential are refused or closed.
  await Promise.all(inside.map(({ socket }) => powers(socket).catch(() => undefined)));
  return inside.filter(({ socket }) => socket.ws.readyState === 1);
}

async function race(scene: Scene, method: (typeof ACTS)[number], role: Role, turn: number): Promise<void> {
  const device = createDevice();
  const scopes = role === "node" ? [] : [READ];
  const { deviceToken } = (await scene.pair(device, { role, scopes })).auth;
  const come = () => scene.byToken(device, deviceToken, { role, scopes });
  const which = { deviceId: device.id, ...(method === "device.pair.remove" ? {} : { role }) };
  const early = Array.from({ length: turn % CONNECTS }, come);
  const act = scene.client.request(method, which);
  const late = Array.from({ length: CONNECTS - (turn % CONNECTS) }, come);
  const [, ...outcomes] = await Promise.all([act, ...early, ...late]);
  await until(async () => (await lasting(outcomes)).length === 0, `${method} of a ${role}: all connections are closed`);
  for (const { ok, auth } of outcomes)
    if (ok) assert.equal(auth?.deviceToken ?? deviceToken, deviceToken, "no newer token");
  assert.equal((await come()).ok, false);
}

describe("a connect by a token", limited, () => {
  for (const method of ACTS) {
    for (const role of ["operator", "node"] as const) {
      it(`of a ${role} that races with ${method}`, async (t) => {
        const scene = await openScene(t, { plugins: ["nodes", probePlugin] });
        for (let turn = 0; turn < TURNS; turn++) await race(scene, method, role, turn);
      });
    }
  }
});

describe("acts that race with each other", limited, () => {
  it("leave at most one valid token, the one issued last", async (t) => {
    const scene = await openScene(t, { plugins: [probePlugin] });
    for (let turn = 0; turn < TURNS; turn++) {
      const device = createDevice();
      const first = (await scene.pair(device, { scopes: [ADMIN] })).auth.deviceToken;
      const which = { deviceId: device.id, role: "operator" };
      const rotate = async () =>
        ((await scene.client.request("device.token.rotate", which)) as { token: string }).token;
      const others = turn % 2 === 0 ? [scene.client.request("device.token.revoke", which)] : [];
      const [tokens] = await Promise.all([Promise.all([rotate(), rotate(), rotate()]), ...others]);
      const all = [first, ...tokens];
      assert.equal(new Set(all).size, all.length);
      const live: string[] = [];
      for (const token of all) if ((await scene.byToken(device, token, { scopes: [ADMIN] })).ok) live.push(token);
      assert.ok(live.length <= 1, `${live.length} tokens of one role let in`);
      if (others.length === 0) assert.equal(live.length, 1, "a rotation is no lock-out");
      assert.ok(!live.includes(first));
    }
  });

  it("a removal wins over a simultaneous connect with the secret, or the device is paired again completely", async (t) => {
    const scene = await openScene(t, { plugins: [probePlugin], config: { devices: { localApproval: "ask" } } });
    for (let turn = 0; turn < TURNS; turn++) {
      const device = createDevice();
      const { details } = await scene.shared(device, { scopes: [ADMIN] });
      const { requestId } = details as { requestId: string };
      const [approved] = await Promise.all([
        scene.client.request("device.pair.approve", { requestId }).then(
          () => true,
          () => false,
        ),
        scene.client.request("device.pair.remove", { deviceId: device.id }).catch(() => undefined),
        scene.shared(device, { scopes: [ADMIN] }),
      ]);
      const record = await scene.paired(device);
      const { ok } = await scene.shared(device, { scopes: [ADMIN] });
      assert.equal(ok, record !== undefined, `approved ${approved}`);
      if (record)
        assert.deepEqual(
          record.tokens?.map(({ role }) => role),
          ["operator"],
        );
    }
  });
});
