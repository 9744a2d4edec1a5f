/** Whatever is requested, approved, rotated and issued: the grant never exceeds record, approver and request. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { coversScope, isGatewayError, type Scope, SCOPES } from "@svc/sdk";
import { devices } from "@svc/sdk/devices";
import * as fc from "fast-check";
import { createDevice, openScene, PAIRING, READ } from "./scene.ts";

const STRANGE = ["operator.moon", "moon", "", "OPERATOR.ADMIN", "operator.admin ", "*"];
const scopes = fc.subarray([...SCOPES, ...STRANGE.filter(Boolean)]);
const step = fc.record({ asked: scopes, approver: fc.subarray([...SCOPES]), rotated: fc.option(scopes) });

const known = (list: readonly string[]) => SCOPES.filter((scope) => list.includes(scope));
const within = (held: readonly string[], wanted: readonly string[]) =>
  wanted.every((scope) => held.includes(scope) || coversScope(held, scope as Scope));

describe("what is granted", { timeout: 120_000 }, () => {
  it("never exceeds what was requested, approved, and held by the approver", async (t) => {
    const scene = await openScene(t);
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 4 }), async (steps) => {
        const device = createDevice();
        const approved = new Set<string>();
        for (const { asked, approver, rotated } of steps) {
          const attempt = { far: true, scopes: asked };
          const first = await scene.shared(device, attempt);
          const requestId = first.details["requestId"];
          const held = [...new Set([PAIRING, ...approver])];
          const client = await scene.connect({ scopes: held });
          if (typeof requestId === "string") {
            const wish = (await scene.list()).pending.find((one) => one.requestId === requestId)?.scopes ?? [];
            assert.deepEqual([...wish].sort(), known(asked).sort(), "what is shown is what was asked for");
            const given = await client.call(devices.approve, { requestId }).then(
              () => true,
              (error: unknown) => (
                assert.ok(isGatewayError(error)),
                assert.match(error.message, /^missing scope: /),
                false
              ),
            );
            assert.equal(given, within(held, wish));
            if (given) for (const scope of wish) approved.add(scope);
            else await scene.client.call(devices.reject, { requestId });
          }
          if (rotated && (await scene.paired(device))) {
            await client.call(devices.rotate, { deviceId: device.id, role: "operator", scopes: rotated }).then(
              (token) => assert.ok(within(held, token.scopes) && within([...approved], token.scopes)),
              (error: unknown) => assert.ok(isGatewayError(error)),
            );
          }
          await client.close();
          const again = await scene.shared(device, attempt);
          if (again.ok) assert.ok(within([...approved], known(asked)));
          else await scene.client.call(devices.reject, { requestId: String(again.details["requestId"]) });
          const record = await scene.paired(device);
          const tokens = record?.tokens?.flatMap((token) => token.scopes) ?? [];
          for (const granted of [again.auth?.scopes ?? [], record?.scopes ?? [], tokens])
            assert.ok(within([...approved], granted), JSON.stringify({ granted, approved: [...approved] }));
          first.socket.ws.terminate();
          again.socket.ws.terminate();
        }
      }),
      { numRuns: 40 },
    );
  });

  it("is empty for a node, whatever it requests", async (t) => {
    const scene = await openScene(t);
    const node = createDevice();
    const { auth } = await scene.pair(node, { role: "node", scopes: [...SCOPES] });
    assert.deepEqual(auth.scopes, []);
    assert.deepEqual((await scene.paired(node))?.scopes, []);
    const upgrade = await scene.shared(node, { scopes: [READ] });
    assert.equal(upgrade.details["reason"], "role-upgrade");
  });
});
