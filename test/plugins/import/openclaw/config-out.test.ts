/** The configuration that an export writes. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { configOut, withSecrets } from "../../../../plugins/import/openclaw/config-out.ts";
import type { Values } from "../../../../plugins/import/openclaw/config-paths.ts";

function out(now: Values, imported: Values = {}, original: Values = {}, workspaces: readonly [string, string][] = []) {
  return configOut({ now, imported, original, workspaces: new Map(workspaces), defaultAgentId: "main" });
}
const LOCAL = { gateway: { mode: "local" } };

describe("configOut", () => {
  it("writes what the import converted as it was there", () => {
    const original = { channels: { telegram: { streamMode: "partial" } }, sandbox: { mode: "off" }, ...LOCAL };
    const imported = { channels: { telegram: { streaming: "draft" } }, gateway: { aliases: ["openclaw"] } };
    assert.deepEqual(out(structuredClone(imported), imported, original), { config: original, leftOut: [] });
  });

  it("writes a changed setting if it is known there, and names it if not", () => {
    const imported = { gateway: { port: 1 }, cron: { enabled: true } };
    const now = { gateway: { port: 2, drainMs: 5 }, cron: { enabled: true }, mcp: { servers: { a: {} } } };
    assert.deepEqual(out(now, imported, { gateway: { port: 1, mode: "local" }, cron: { enabled: true, store: "x" } }), {
      config: { gateway: { port: 2, mode: "local" }, cron: { enabled: true, store: "x" } },
      leftOut: ["gateway.drainMs", "mcp.servers.a"],
    });
  });

  it("leaves out a setting that was removed here", () => {
    const imported = { hooks: { enabled: true, presets: ["gmail"] } };
    const { config } = out({ hooks: { enabled: true } }, imported, { ...LOCAL, ...imported });
    assert.deepEqual(config, { ...LOCAL, hooks: { enabled: true } });
  });

  it("replaces a list of objects as a whole", () => {
    const mapping = { id: "a", match: { path: "a" }, action: "wake" };
    const imported = { hooks: { mappings: [mapping, { id: "b", match: { path: "b" } }] } };
    const { config, leftOut } = out({ hooks: { mappings: [{ ...mapping, enabled: false }] } }, imported, {
      ...LOCAL,
      ...imported,
    });
    assert.deepEqual([config["hooks"], leftOut], [{ mappings: [mapping] }, ["hooks.mappings[0].enabled"]]);
  });

  it("keeps a value whose key has a dot or a slash, and an empty object", () => {
    const models = { "fake/model-1.5": {}, "fake/b": { alias: "b" } };
    const { config } = out({ agents: { defaults: { models } } });
    assert.deepEqual(config["agents"], { defaults: { models } });
  });

  it("writes the workspace of each agent, and a place of transforms that is not absolute", () => {
    const original = { ...LOCAL, hooks: { transformsDir: "/other/hooks/transforms/x" } };
    const now = { hooks: { transformsDir: "x" }, agents: { list: [{ id: "main" }, { id: "work" }] } };
    const workspaces = [
      ["main", "/a"],
      ["work", "/b"],
    ] as [string, string][];
    assert.deepEqual(out(now, { hooks: { transformsDir: "x" } }, original, workspaces).config, {
      ...LOCAL,
      hooks: { transformsDir: "x" },
      agents: {
        defaults: { workspace: "/a" },
        list: [
          { id: "main", workspace: "/a" },
          { id: "work", workspace: "/b" },
        ],
      },
    });
  });
});

describe("withSecrets", () => {
  it("puts imported secrets in the place of their references, and leaves other references", () => {
    const other = { source: "env", provider: "default", id: "KEY" };
    const value = { a: [{ source: "file", provider: "imported", id: "/k" }], b: other, c: 1 };
    assert.deepEqual(withSecrets(value, { k: "secret" }), { a: ["secret"], b: other, c: 1 });
  });
});
