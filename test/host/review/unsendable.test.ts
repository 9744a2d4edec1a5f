/** A result that cannot be serialized as JSON fails its call, never the gateway. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { defineContract, GatewayError, Type } from "@svc/sdk";
import { testGateway } from "@svc/sdk/testing";
import { pluginOf } from "../../plugin-of.ts";

const method = { summary: "-", scope: "operator.read", params: Type.Object({}), result: Type.Unknown() } as const;
const contract = defineContract("odd", {
  now: method,
  later: method,
  circular: method,
  details: method,
  accepted: method,
  fine: method,
});

const circular: Record<string, unknown> = {};
circular["self"] = circular;

const odd = pluginOf("odd", (gateway) => {
  gateway.serve(contract, {
    now: () => ({ size: 1n }),
    later: () => Promise.resolve({ size: 1n }),
    circular: () => circular,
    details: () => Promise.reject(new GatewayError("CONFLICT", "no", { details: circular })),
    accepted: ({ accept }) => (accept({ size: 1n }), {}),
    fine: () => ({ ok: true }),
  });
});

it("is refused with INTERNAL, and the gateway keeps running", { timeout: 120_000 }, async (t) => {
  const { client, gateway } = await testGateway(t, { plugins: [odd], gateway: { checkResults: false } });
  for (const name of ["now", "later", "circular", "accepted"] as const) {
    await assert.rejects(client.call(contract[name], {}), { code: "INTERNAL" }, name);
  }
  await assert.rejects(client.call(contract.details, {}), { code: "CONFLICT", message: "no" });
  assert.deepEqual(await client.call(contract.fine, {}), { ok: true });
  assert.equal(gateway.plugins().find(({ id }) => id === "odd")?.errors, 4, "charged to whoever answered it");
});
