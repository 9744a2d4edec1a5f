/** A device with a token for reading tries to get more by what it sends. Spec: design/security.md "authority declared by the caller". */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SCOPES } from "@svc/sdk";
import { ADMIN, type Attempt, READ, SECRET } from "../../plugins/devices/scene.ts";
import { holder } from "./holder.ts";
import { ask, assertWithin, powers } from "./scene.ts";

const limited = { timeout: 120_000 };

const WIDER: readonly (readonly string[])[] = [
  ...SCOPES.filter((scope) => scope !== READ).map((scope) => [scope]),
  [READ, ADMIN],
  [...SCOPES],
  ["admin"],
];

/** Every field that can carry a token. */
const places = (token: string): readonly Attempt["auth"][] => [
  { token },
  { deviceToken: token },
  { token, deviceToken: token },
  { token: "wrong", deviceToken: token },
  { token, deviceToken: "wrong" },
  { token: ` ${token}`, deviceToken: `${token} ` },
  { password: token },
  { token, password: token },
];

/** Values that might be read as a scope. */
const SPELLINGS = [
  "OPERATOR.ADMIN",
  "Operator.Admin",
  "Admin",
  "ADMIN",
  " admin",
  "operator.admin ",
  " operator.admin",
  "\toperator.admin",
  "operator.admin\u0000",
  "operator.\u0430dmin",
  "operator.admin\u200b",
  "\uff4fperator.admin",
  "operator.*",
  "*",
  "operator",
  "operator.",
  ".admin",
  "operator.read,operator.admin",
  "operator.read operator.admin",
  "operator/admin",
  "__proto__",
  "constructor",
  "toString",
  "operator.talk.secrets",
];

describe("a device that may read", limited, () => {
  it("gets no wider scope by its token, in any field", async (t) => {
    const { scene, device, token } = await holder(t);
    for (const scopes of WIDER) {
      for (const auth of places(token)) {
        for (const far of [false, true]) {
          const outcome = await scene.knock({ device, scopes, auth, far });
          assert.equal(outcome.ok, false, `${scopes.join()} ${JSON.stringify(Object.keys(auth ?? {}))}`);
        }
      }
    }
    assert.deepEqual((await scene.list()).pending, [], "and nobody is asked for it");
    assert.deepEqual((await scene.paired(device))?.scopes, [READ]);
  });

  it("gets no scope by another spelling of it", async (t) => {
    const { scene, device, token } = await holder(t);
    for (const scope of SPELLINGS) {
      for (const scopes of [[scope], [READ, scope], [scope, READ]]) {
        await assertWithin(await scene.byToken(device, token, { scopes }), [READ], JSON.stringify(scopes));
        const known = await scene.shared(device, { scopes });
        await assertWithin(known, [READ], `with the secret: ${JSON.stringify(scopes)}`);
        known.socket.ws.terminate();
      }
    }
    const held = (await scene.paired(device)) ?? assert.fail();
    assert.deepEqual(
      held.scopes?.filter((scope) => SCOPES.some((known) => known === scope)),
      [READ],
    );
  });

  it("gets nothing by headers", async (t) => {
    const { scene, device, token } = await holder(t);
    const values: [name: string, value: string][] = ["x-svc-scopes", "x-svc-scope", "x-svc-role", "x-svc-device-id"]
      .flatMap((name) => [ADMIN, SCOPES.join(","), "operator", "*"].map((value): [string, string] => [name, value]))
      .concat([
        ["authorization", `Bearer ${token}`],
        ["authorization", `Bearer ${SECRET}`],
        ["x-svc-token", SECRET],
        ["x-svc-client-id", "gateway-client"],
        ["cookie", `token=${SECRET}`],
        ["x-forwarded-for", "127.0.0.1"],
        ["x-real-ip", "127.0.0.1"],
        ["forwarded", "for=127.0.0.1;host=localhost"],
        ["x-forwarded-host", "localhost"],
        ["tailscale-user-login", "admin@example.com"],
        ["x-user", "admin"],
      ]);
    for (const [name, value] of values) {
      const headers = { [name]: value };
      await assertWithin(await scene.byToken(device, token, { scopes: [READ], headers }), [READ], `${name}: ${value}`);
      assert.equal((await scene.byToken(device, token, { scopes: [ADMIN], headers })).ok, false, `${name}: ${value}`);
      const bare = await scene.knock({ device, scopes: [ADMIN], headers });
      assert.equal(bare.ok, false, `a header is no credential for a WebSocket: ${name}`);
    }
  });

  it("gets nothing for one role by the token of the other", async (t) => {
    const { scene, device, token, nodeToken } = await holder(t);
    for (const scopes of [[], [READ], [ADMIN]]) {
      assert.equal(
        (await scene.byToken(device, nodeToken, { scopes })).ok,
        false,
        `node token, operator ${scopes.join()}`,
      );
      const asNode = await scene.byToken(device, token, { scopes, role: "node" });
      assert.equal(asNode.ok, false, `operator token, node ${scopes.join()}`);
    }
    const node = await scene.byToken(device, nodeToken, { role: "node" });
    assert.deepEqual(await powers(node.socket), ["node"]);
    for (const method of ["probe.read", "device.pair.list", "device.token.rotate", "probe.admin"])
      assert.equal((await ask(node.socket, method)).error?.message, "unauthorized role: node", method);
    const operator = await scene.byToken(device, token, { scopes: [READ] });
    assert.deepEqual(await powers(operator.socket), [READ]);
    assert.equal((await ask(operator.socket, "probe.node")).error?.message, "unauthorized role: operator");
    for (const role of ["admin", "NODE", "operator ", "Operator", "device"]) {
      const odd = await scene.byToken(device, token, { scopes: [READ], role: role as "node" });
      assert.equal(odd.ok, false, role);
    }
  });
});
