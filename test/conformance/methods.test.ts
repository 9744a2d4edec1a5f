/**
 * Every method of the full bundle, through the real client: documented params give a result that matches the contract,
 * each scope lets in exactly whom it should, and what is wrong is named. Generated from the contracts themselves.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { agents, config, coversScope, SCOPES } from "@svc/sdk";
import { testGateway } from "@svc/sdk/testing";
import { fileGateway } from "./file-gateway.ts";
import { HOOKS_SECTION, hookRuns } from "./hook-runs.ts";
import { good, key, methods } from "./samples.ts";

describe("every method of the bundle", () => {
  it("stands in this test", async (t) => {
    const { client } = await testGateway(t);
    assert.deepEqual(Object.keys(good).toSorted(), Object.keys(methods).toSorted());
    const advertised = Object.values(methods)
      .filter((method) => method.advertised !== false)
      .map(({ name }) => name);
    assert.deepEqual(client.hello.features.methods.toSorted(), advertised.toSorted());
  });

  it("answers its documented params with its documented result", async (t) => {
    const text = JSON.stringify({ hooks: HOOKS_SECTION });
    const { client, stateDir, gateway } = await fileGateway(t, text); // compares every result with its schema
    const runs = await hookRuns(gateway.url);
    await client.call(
      agents.run,
      { message: "echo first", idempotencyKey: key(), sessionKey: "main" },
      { expectFinal: true },
    );
    for (const [name, samples] of Object.entries(good)) {
      for (const sample of samples) {
        const { hash } = await client.call(config.get, {});
        await client.request(name, sample({ stateDir, hash, ...runs }), { expectFinal: true });
      }
    }
  });

  it("names the path of what is wrong, and takes no unknown key where it is strict", async (t) => {
    const { connect, client: shared } = await testGateway(t);
    for (const [name, method] of Object.entries(methods)) {
      const client = method.limit ? await connect() : shared; // a connection without a device has a budget of its own
      const strict = (method.params as { additionalProperties?: boolean }).additionalProperties === false;
      await assert.rejects(client.request(name, []), {
        code: "INVALID_REQUEST",
        message: `invalid ${name} params: at root: must be object`,
      });
      if (!strict) continue;
      const [sample] = good[name] ?? [];
      const params = {
        ...(sample?.({ stateDir: "/nowhere", hash: "0", runId: "none", failedRunId: "none" }) as object),
        "no-such-key": 1,
      };
      await assert.rejects(client.request(name, params), {
        code: "INVALID_REQUEST",
        message: `invalid ${name} params: at root: unexpected property 'no-such-key'`,
      });
    }
  });
});

describe("the scope of every method", () => {
  for (const held of [[], ...SCOPES.map((scope) => [scope])]) {
    it(`with [${held.join()}] lets in exactly where it covers`, async (t) => {
      const { connect } = await testGateway(t);
      const client = await connect({ scopes: held });
      for (const [name, { scope }] of Object.entries(methods)) {
        const allowed = scope === "none" || coversScope(held, scope);
        const outcome = await client.request(name, []).then(
          () => "answered",
          (error: Error) => error.message,
        );
        // Params are judged behind the scope, so wrong ones tell which of the two refused.
        assert.match(
          outcome,
          allowed ? /^invalid .+ params: / : new RegExp(`^missing scope: ${scope}$`),
          `${name} with [${held.join()}]`,
        );
      }
    });
  }

  it("is not widened by a role, a client id or a mode", async (t) => {
    const { connect } = await testGateway(t);
    const client = await connect({ scopes: [], client: { id: "gateway-client", mode: "backend" } });
    await assert.rejects(client.request("sessions.list"), /missing scope: operator\.read/);
    await client.request("health");
  });
});
