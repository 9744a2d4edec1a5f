// long: waits for real closes
/** An ended credential has ended everywhere. Spec: design/security.md "a changed credential does not reach live state"; spec/README.md "revoking". */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { READ, requestOf } from "../../plugins/devices/scene.ts";
import { type Crowd, crowd, start, type Way, WAYS } from "./revocation-scene.ts";
import { ask, until } from "./scene.ts";

const limited = { timeout: 120_000 };
const MISMATCH = /^unauthorized: device token mismatch/;

interface Act {
  readonly what: string;
  /** Connections that end; all others stay. */
  readonly ends: readonly Way[];
  readonly reason: RegExp;
  /** Roles whose token is dead afterwards. */
  readonly dead: readonly ("operator" | "node")[];
  run(crowd: Crowd): Promise<unknown>;
}

const token = (method: string, role: "operator" | "node") => (all: Crowd) =>
  all.scene.client.request(`device.token.${method}`, { deviceId: all.device.id, role });

const OWN = ["opToken", "opSecret", "nodeToken", "nodeSecret"] as const;
const OPERATOR = { ends: ["opToken"], reason: MISMATCH, dead: ["operator"] } as const;
const NODE = { ends: ["nodeToken", "nodeSecret"], reason: MISMATCH, dead: ["node"] } as const;

const ACTS: readonly Act[] = [
  { ...OPERATOR, what: "rotating the operator token", run: token("rotate", "operator") },
  { ...OPERATOR, what: "revoking the operator token", run: token("revoke", "operator") },
  { ...NODE, what: "rotating the node token", run: token("rotate", "node") },
  { ...NODE, what: "revoking the node token", run: token("revoke", "node") },
  {
    what: "removing the device",
    ends: OWN,
    reason: /removed by an operator/,
    dead: ["operator", "node"],
    run: ({ scene, device }) => scene.client.request("device.pair.remove", { deviceId: device.id }),
  },
  {
    ...OPERATOR,
    what: "approving more scopes",
    async run({ scene, device }) {
      const asked = await scene.shared(device, { scopes: ["operator.pairing"], far: true });
      return scene.client.request("device.pair.approve", { requestId: requestOf(asked) });
    },
  },
  {
    what: "approving another platform",
    ends: [],
    reason: /never/,
    dead: [],
    async run({ scene, device }) {
      const asked = await scene.shared(device, { scopes: [READ], client: { platform: "darwin" } });
      return scene.client.request("device.pair.approve", { requestId: requestOf(asked) });
    },
  },
  {
    what: "another token of the gateway",
    ends: ["opSecret", "nodeSecret", "noDevice"],
    reason: /^unauthorized/,
    dead: [],
    run: ({ patch }) => patch({ gateway: { auth: { token: "another-secret-of-this-test" } } }),
  },
];

/** With the approved platform, if an act changed it. */
const platformOf = ({ what }: Act) => (what === "approving another platform" ? { platform: "darwin" } : {});

const UNDER_WAY = [
  ["token", "operator"],
  ["token", "node"],
  ["secret", "operator"],
  ["secret", "node"],
] as const;

/** The connections end, and another platform was approved in the meantime. */
function endsUnderWay(act: Act, way: "token" | "secret", role: "operator" | "node"): boolean {
  const name = `${role === "node" ? "node" : "op"}${way === "token" ? "Token" : "Secret"}`;
  return platformOf(act).platform !== undefined || act.ends.some((one) => one === name);
}

for (const act of ACTS) {
  describe(act.what, limited, () => {
    it("closes exactly the connections that relied on it; their calls and events end", async (t) => {
      const all = await crowd(t);
      const { sockets, holds } = all;
      assert.equal(holds.calls.size, WAYS.length);
      await act.run(all);
      holds.publish("after it");
      for (const way of act.ends) {
        const { code, reason } = await sockets[way].closed;
        assert.equal(code, 1008, way);
        assert.match(reason, act.reason, way);
        assert.ok(Buffer.byteLength(reason) <= 120, way);
        const heard = sockets[way].frames.filter(({ payload }) => payload?.["text"] === "after it");
        assert.deepEqual(heard, [], `${way} still heard events`);
        assert.ok(!sockets[way].frames.some(({ id, ok }) => id === "held" && ok === true));
      }
      await until(
        () => holds.calls.size === WAYS.length - act.ends.length,
        "the end of the calls of closed connections",
      );
      for (const way of WAYS.filter((one) => !act.ends.includes(one))) {
        assert.equal((await ask(sockets[way], "health")).ok, true, `${way} stays`);
        const hears = () => sockets[way].frames.some(({ payload }) => payload?.["text"] === "after it");
        await until(hears, `the event at ${way}`);
      }
    });

    it("leaves its old token useless: over WebSocket, over HTTP, and after a restart", async (t) => {
      const all = await crowd(t);
      const { scene, device, tokens, stateDir, holds } = all;
      const refused = async (here: typeof scene) => {
        for (const role of ["operator", "node"] as const) {
          const isDead = act.dead.includes(role);
          for (const auth of [{ token: tokens[role], deviceToken: tokens[role] }, { token: tokens[role] }]) {
            const { ok, details, message } = await here.knock({ device, role, auth, client: platformOf(act) });
            assert.equal(ok, !isDead, `${role}: ${message}`);
            if (isDead) assert.match(String(details["code"]), /^AUTH_(DEVICE_)?TOKEN_MISMATCH$/);
          }
          const post = (authorization: string) =>
            fetch(`${here.url.replace("ws", "http")}/plugins/hold/closed`, {
              method: "POST",
              headers: { authorization, "content-type": "application/json" },
              body: "{}",
            });
          assert.equal((await post(`Bearer ${tokens[role]}`)).status, 401, "a device token is none for HTTP, ever");
        }
      };
      await act.run(all);
      await refused(scene);
      await scene.gateway.stop();
      await refused(await start(t, holds, stateDir));
    });

    for (const [way, role] of UNDER_WAY) {
      it(`affects a connect of the ${role} by ${way} that is in progress`, async (t) => {
        const all = await crowd(t);
        const { there, go } = all.holds.holdConnect();
        const connecting = way === "token" ? all.byToken(role) : all.scene.shared(all.device, { role, scopes: [] });
        await there;
        await act.run(all);
        go();
        const { ok, frame, socket } = await connecting;
        assert.equal(ok, !endsUnderWay(act, way, role), JSON.stringify(frame));
        if (ok) assert.equal((await ask(socket, "health")).ok, true);
        else assert.doesNotMatch(JSON.stringify(frame), /deviceToken/, "nor does it get a token to reconnect with");
      });
    }
  });
}
