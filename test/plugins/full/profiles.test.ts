/** The profiles of the bundle: each starts without missing plugins, and serves its methods. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { testGateway } from "@svc/sdk/testing";
import { bundleProfiles } from "../../../host/kernel/profiles.ts";

/** First part of the names of methods that a client of the profile needs. */
const PROMISES: Readonly<Record<string, readonly string[]>> = {
  minimal: ["config", "health", "plugins", "status"],
  chat: [
    "agent",
    "agents",
    "chat",
    "config",
    "device",
    "health",
    "models",
    "panel",
    "plugins",
    "secrets",
    "sessions",
    "status",
  ],
};

const profiles = bundleProfiles();

describe("a profile of the bundle", () => {
  it("is one that is named here, and the full one lists nothing", () => {
    assert.deepEqual([...profiles.keys()], [...Object.keys(PROMISES), "full"]);
    assert.equal(profiles.get("full")?.plugins, undefined);
  });

  for (const [name, namespaces] of Object.entries(PROMISES)) {
    it(`${name} starts with every plugin active, and answers what it promises`, async (t) => {
      const use = profiles.get(name)?.plugins ?? [];
      const { client, gateway } = await testGateway(t, { config: { plugins: { use: [...use] } } });
      const states = gateway.plugins().map(({ id, state, reason }) => [id, state, reason]);
      assert.deepEqual(
        states,
        [...use].sort().map((id) => [id, "active", undefined]),
      );
      const served = new Set(client.hello.features.methods.map((method) => method.split(".")[0]));
      assert.deepEqual(
        namespaces.filter((namespace) => !served.has(namespace)),
        [],
      );
      const health = (await client.request("health")) as { ok?: boolean };
      assert.equal(health.ok, true);
    });
  }
});
