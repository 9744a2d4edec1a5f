/**
 * Every method of the full bundle, through the real client: documented params give a result that matches the contract,
 * and errors name the cause. `authority.test.ts` tests the scopes. Generated from the contracts themselves.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { agents } from "@svc/sdk/agents";
import type { ChannelLoginSteps } from "@svc/sdk/channels";
import { config } from "@svc/sdk/config";
import { testGateway } from "@svc/sdk/testing";
import { attend, type Attendance, connectNode } from "./attendance.ts";
import { BUNDLE } from "./config-bundle.ts";
import { fileGateway } from "./file-gateway.ts";
import { HOOKS_SECTION, hookRuns } from "./hook-runs.ts";
import { pigeon } from "../plugins/channels/pigeon.ts";
import { good, MEDIA_SECTION, key, methods, unserved } from "./samples.ts";

/** Ids that name nothing. */
const NOBODY: Omit<Attendance, "node" | "invoked"> = {
  nodeId: "none",
  invokeId: "none",
  cronJobId: "none",
  approveDevice: "none",
  rejectDevice: "none",
  deviceId: "none",
  approveNode: "none",
  rejectNode: "none",
  olderNode: "none",
  questionId: "none",
  decidedId: "none",
  digest: "none",
  policyHash: "none",
};

describe("every method of the bundle", () => {
  it("is covered by this test", async (t) => {
    const { client } = await testGateway(t);
    assert.deepEqual(Object.keys(good).toSorted(), Object.keys(methods).toSorted());
    const advertised = Object.values(methods)
      .filter((method) => method.advertised !== false)
      .map(({ name }) => name);
    assert.deepEqual(client.hello.features.methods.toSorted(), advertised.toSorted());
  });

  it("returns its documented result for its documented params", async (t) => {
    const text = JSON.stringify({ hooks: HOOKS_SECTION, tools: { media: MEDIA_SECTION } });
    const login: ChannelLoginSteps = {
      start: () => ({ kind: "show", message: "scan this", qr: "code" }),
      next: async () => ({ kind: "done", message: "linked" }),
    };
    const bird = pigeon({
      more: { login, logout: async () => ({ cleared: true }), probe: async () => ({ up: true }) },
    });
    const plugins = [...BUNDLE, bird.plugin];
    const { client, stateDir, gateway } = await fileGateway(t, text, { plugins }); // compares every result with its schema
    const runs = await hookRuns(gateway.url);
    const there = await attend({ url: gateway.url, token: gateway.auth.token, client });
    t.after(() => there.node.close());
    const first = { message: "echo first", idempotencyKey: key(), sessionKey: "main" };
    await client.call(agents.run, first, { expectFinal: true });
    for (const [name, samples] of Object.entries(good)) {
      for (const sample of samples) {
        const { hash } = await client.call(config.get, {});
        const caller = methods[name]?.role === "node" ? there.node : client;
        await caller
          .request(name, sample({ stateDir, hash, ...runs, ...there }), { expectFinal: true })
          .catch((error: Error) => assert.fail(`${name}: ${error.message}`));
      }
    }
    assert.deepEqual((await there.invoked) as object, {
      ok: true,
      nodeId: there.nodeId,
      command: "system.which",
      payload: { bins: {} },
      payloadJSON: null,
    });
  });

  it("names the path of an invalid param, and accepts no unknown key if strict", async (t) => {
    const { connect, client: shared, gateway } = await testGateway(t);
    const node = await connectNode({ url: gateway.url, token: gateway.auth.token });
    t.after(() => node.close());
    for (const [name, method] of Object.entries(methods)) {
      // A connection without a device has its own budget.
      const client = method.role === "node" ? node : method.limit ? await connect() : shared;
      const strict = (method.params as { additionalProperties?: boolean }).additionalProperties === false;
      const refused = (params: unknown, message: string) =>
        assert.rejects(client.request(name, params), {
          code: "INVALID_REQUEST",
          message: `invalid ${name} params: at root: ${message}`,
        });
      await refused([], "must be object");
      if (!strict) continue;
      const [sample = unserved[name]] = good[name] ?? [];
      const place = { stateDir: "/nowhere", hash: "0", runId: "none", failedRunId: "none" };
      const params = sample?.({ ...NOBODY, ...place, node, invoked: Promise.resolve() }) as object;
      await refused({ ...params, "no-such-key": 1 }, "unexpected property 'no-such-key'");
    }
  });
});
