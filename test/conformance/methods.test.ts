/**
 * Every method of the full bundle, through the real client: documented params give a result that matches the contract,
 * each scope lets in exactly whom it should, and what is wrong is named. Generated from the contracts themselves.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { agents, chat, config, coversScope, health, type Method, models, SCOPES, sessions } from "@svc/sdk";
import { testGateway } from "@svc/sdk/testing";

const methods = Object.fromEntries(
  [agents, chat, config, health, models, sessions]
    .flatMap((contract) => Object.values<Method>(contract))
    .map((method) => [method.name, method]),
);

let serial = 0;
const key = () => `conformance-${++serial}`;

/** Params that are accepted, by method; more than one where the documentation shows several. */
const good: Record<string, (() => unknown)[]> = {
  agent: [
    () => ({ message: "echo hi", idempotencyKey: key() }),
    () => ({
      message: "echo hi",
      sessionKey: "agent:main:side",
      agentId: "main",
      timeout: 5,
      label: key(),
      idempotencyKey: key(),
    }),
  ],
  "agent.wait": [() => ({ runId: "nobody", timeoutMs: 1 })],
  "agents.list": [() => ({}), () => undefined],
  "chat.history": [() => ({ sessionKey: "main" }), () => ({ sessionKey: "main", limit: 1000 })],
  "chat.send": [
    () => ({ sessionKey: "main", message: "echo hi", idempotencyKey: key() }),
    () => ({ sessionKey: "main", message: "/stop", idempotencyKey: key(), deliver: false, timeoutMs: 0 }),
  ],
  "chat.abort": [() => ({ sessionKey: "main" }), () => ({ sessionKey: "main", runId: "nobody" })],
  "chat.inject": [() => ({ sessionKey: "main", message: "by hand", label: "note" })],
  "config.get": [() => ({})],
  "config.schema": [() => ({})],
  health: [() => undefined, () => ({ probe: true })],
  status: [() => undefined, () => ({})],
  "system-presence": [() => undefined],
  "models.list": [() => undefined, () => ({})],
  "sessions.list": [
    () => undefined,
    () => ({
      limit: 5,
      activeMinutes: 60,
      includeGlobal: true,
      includeUnknown: true,
      includeDerivedTitles: true,
      includeLastMessage: true,
      agentId: "main",
      search: "m",
    }),
  ],
  "sessions.preview": [() => ({ keys: ["main", "no-such"], limit: 3, maxChars: 20 })],
  "sessions.resolve": [() => ({ key: "main" })],
  "sessions.reset": [() => ({ key: "main" }), () => ({ key: "fresh", reason: "new" })],
  "sessions.delete": [
    () => ({ key: "no-such" }),
    () => ({ key: "fresh", deleteTranscript: false, emitLifecycleHooks: false }),
  ],
};

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
    const { client } = await testGateway(t); // compares every result with its schema
    await client.call(
      agents.run,
      { message: "echo first", idempotencyKey: key(), sessionKey: "main" },
      { expectFinal: true },
    );
    for (const [name, samples] of Object.entries(good)) {
      for (const sample of samples) await client.request(name, sample(), { expectFinal: true });
    }
  });

  it("names the path of what is wrong, and takes no unknown key where it is strict", async (t) => {
    const { client } = await testGateway(t);
    for (const [name, method] of Object.entries(methods)) {
      const strict = (method.params as { additionalProperties?: boolean }).additionalProperties === false;
      await assert.rejects(client.request(name, []), {
        code: "INVALID_REQUEST",
        message: `invalid ${name} params: at root: must be object`,
      });
      if (!strict) continue;
      const [sample] = good[name] ?? [];
      const params = { ...(sample?.() as object), "no-such-key": 1 };
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
