/** The plugin in a running gateway. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { definePlugin, Strict } from "@svc/sdk";
import { AgentDirectory } from "@svc/sdk/agents";
import { testGateway } from "@svc/sdk/testing";
import { defineTool, Tool, tools, Tools, type ToolScene, ToolSource } from "@svc/sdk/tools";

const tool = defineTool({ description: "-", params: Strict({}), scope: "operator.read", run: () => "" });

/** Two kinds of tools, an agent `ada`, and the tools that others see. */
function shed() {
  const found: { tools?: Tools } = {};
  const shedPlugin = definePlugin({
    id: "shed",
    api: "^1.0.0",
    requires: { tools: Tools },
    provides: [AgentDirectory],
    setup(gateway) {
      for (const name of ["exec", "read", "own"]) gateway.extend(Tool, name, tool);
      gateway.extend(ToolSource, "more", { tools: () => new Map([["fetched", tool]]) });
      gateway.provide(AgentDirectory, {
        defaultId: "ada",
        list: () => [],
        has: (id) => id === "ada",
        toolPolicy: () => ({ deny: ["read"] }),
        heartbeat: () => undefined,
        memorySearch: () => ({}),
        timeZone: "UTC",
        skills: () => undefined,
        maxSpawnDepth: 1,
      });
      gateway.start(() => void (found.tools = gateway.services.tools));
    },
  });
  return { plugin: shedPlugin, found };
}

describe("the plugin tools", () => {
  it("serves the catalogue for an existing agent", async (t) => {
    const { client } = await testGateway(t, { plugins: ["tools", shed().plugin] });
    const { agentId, groups } = await client.call(tools.catalog, {});
    assert.equal(agentId, "ada");
    assert.deepEqual(
      groups.map(({ id, tools: entries }) => [id, entries.map((entry) => entry.id)]),
      [
        ["fs", ["read"]],
        ["runtime", ["exec"]],
        ["plugin:shed", ["fetched", "own"]],
      ],
    );
    const core = await client.call(tools.catalog, { agentId: "Ada", includePlugins: false });
    assert.deepEqual(core.groups, groups.slice(0, 2));
    await assert.rejects(client.call(tools.catalog, { agentId: "bob" }), {
      code: "NOT_FOUND",
      message: 'no agent "bob"; agents.list shows the configured ones',
    });
    await assert.rejects(client.request("tools.catalog", { agent: "ada" }), { code: "INVALID_REQUEST" });
  });

  it("says what an agent may use, and which step excludes the others, only if asked", async (t) => {
    const config = { tools: { deny: ["fetched"], byProvider: { "acme/big": { deny: ["exec"] } } } };
    const { client } = await testGateway(t, { plugins: ["tools", shed().plugin], config });
    const verdicts = async (params: object) => {
      const { groups } = await client.call(tools.catalog, params);
      return Object.fromEntries(groups.flatMap((group) => group.tools).map(({ id, verdict }) => [id, verdict]));
    };
    assert.deepEqual(new Set(Object.values(await verdicts({ model: "acme/big" }))), new Set([undefined]));
    assert.deepEqual(await verdicts({ verdicts: true }), {
      read: { allowed: false, step: "agent", why: "agents.list[].tools denies it" },
      exec: { allowed: true },
      fetched: { allowed: false, step: "global", why: "tools denies it" },
      own: { allowed: true },
    });
    const { exec } = await verdicts({ verdicts: true, model: "acme/big" });
    assert.deepEqual(exec, { allowed: false, step: "global by provider", why: "tools.byProvider denies it" });
  });

  it("offers a run the tools that configuration and agent allow", async (t) => {
    const { plugin: tooled, found } = shed();
    const config = {
      tools: { deny: ["fetched"], byProvider: { "acme/big": { deny: ["exec"] } }, web: { own: "key" } },
    };
    const { gateway } = await testGateway(t, { plugins: ["tools", tooled], config });
    assert.deepEqual(
      gateway.plugins().map(({ state }) => state),
      ["active", "active"],
    );
    const principal = { id: "p", role: "operator", scopes: ["operator.read"], provenance: "token", epoch: 0 } as const;
    const scene: ToolScene = { surface: "run", agentId: "ada", sessionKey: "agent:ada:main", principal };
    const offered = (model?: ToolScene["model"]) =>
      found.tools?.specs(model ? { ...scene, model } : scene).map(({ name }) => name);
    assert.deepEqual(offered(), ["exec", "own"]);
    assert.deepEqual(offered({ provider: "acme", id: "big" }), ["own"]);
  });
});
