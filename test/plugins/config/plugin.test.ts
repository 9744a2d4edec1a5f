import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { config, type Handlers, isPlugin, matches, type PluginGateway } from "@svc/sdk";
import type { ConfigSnapshot } from "@svc/sdk/services";
import configPlugin from "../../../plugins/config/plugin.ts";

const snapshot: ConfigSnapshot = {
  path: "/state/svc.json",
  exists: true,
  raw: "{}",
  parsed: {},
  resolved: {},
  valid: false,
  config: {},
  hash: "00",
  issues: [{ path: "gateway.port", message: "must be a number" }],
  warnings: [],
  legacyIssues: [],
};

async function handlers(): Promise<Handlers<typeof config>> {
  let served: Handlers<typeof config> | undefined;
  const store = {
    snapshot: async () => snapshot,
    schema: () => ({ schema: { type: "object" }, uiHints: {}, version: "1" }),
  };
  const gateway = {
    services: { store },
    clock: { now: () => 0 },
    serve: (_contract: unknown, given: Handlers<typeof config>) => (served = given),
  };
  await configPlugin.setup(gateway as unknown as PluginGateway<never, never>); // the parts config uses
  assert.ok(served);
  return served;
}

const call = {} as Parameters<Handlers<typeof config>["get"]>[0]; // neither method looks at its call

describe("the config plugin", () => {
  it("is a plugin", () => assert.ok(isPlugin(configPlugin)));

  it("answers config.get with the snapshot of the store", async () => {
    const answer = await (await handlers()).get(call);
    assert.deepEqual(answer, snapshot);
    assert.ok(matches(config.get.result, answer));
  });

  it("answers config.schema with the time it was made", async () => {
    const answer = await (await handlers()).schema(call);
    const generatedAt = "1970-01-01T00:00:00.000Z";
    assert.deepEqual(answer, { schema: { type: "object" }, uiHints: {}, version: "1", generatedAt });
  });
});
