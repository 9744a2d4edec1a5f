import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Strict } from "@svc/sdk";
import { defineTool } from "@svc/sdk/tools";
import { catalogOf } from "../../../plugins/tools/catalog.ts";
import { CORE_TOOLS, words } from "../../../plugins/tools/names.ts";
import type { KnownTool } from "../../../plugins/tools/shelf.ts";

function known(name: string, plugin: string, changes: object = {}): KnownTool {
  const tool = defineTool({ description: `does ${name}`, params: Strict({}), scope: "operator.read", run: () => "" });
  return { name, tool: { ...tool, ...changes }, contribution: { id: name, plugin } };
}

/** The catalogue as a table: group, label, tools. */
const rows = ({ groups }: ReturnType<typeof catalogOf>) =>
  groups.map(({ id, label, tools }) => [id, label, tools.map((tool) => tool.id).join(" ")]);

describe("the catalogue", () => {
  it("lists core tools in order, from any plugin, with the profiles that allow them", () => {
    const everything = [...CORE_TOOLS].toReversed().map((name) => known(name, "any", { label: "Any" }));
    const catalog = catalogOf(everything, "main", false);
    assert.deepEqual(rows(catalog), [
      ["fs", "Files", "read write edit apply_patch"],
      ["runtime", "Runtime", "exec process"],
      ["web", "Web", "web_search web_fetch"],
      ["memory", "Memory", "memory_search memory_get"],
      ["sessions", "Sessions", "sessions_list sessions_history sessions_send sessions_spawn subagents session_status"],
      ["ui", "UI", "browser canvas"],
      ["messaging", "Messaging", "message"],
      ["automation", "Automation", "cron gateway"],
      ["nodes", "Nodes", "nodes"],
      ["agents", "Agents", "agents_list"],
      ["media", "Media", "image tts"],
    ]);
    const all = catalog.groups.flatMap(({ tools }) => tools);
    const inProfile = (profile: string) => {
      return all.filter((tool) => tool.defaultProfiles.some((one) => one === profile)).map(({ id }) => id);
    };
    assert.deepEqual(inProfile("minimal"), ["session_status"]);
    assert.deepEqual(
      inProfile("coding"),
      words(
        "read write edit apply_patch exec process memory_search memory_get sessions_list sessions_history " +
          "sessions_send sessions_spawn subagents session_status cron image",
      ),
    );
    assert.deepEqual(
      inProfile("messaging"),
      words("sessions_list sessions_history sessions_send session_status message"),
    );
    assert.deepEqual(inProfile("full"), [], "it allows everything");
    const status = all.find(({ id }) => id === "session_status");
    assert.deepEqual(status, {
      id: "session_status",
      label: "session_status",
      description: "does session_status",
      source: "core",
      defaultProfiles: ["minimal", "coding", "messaging"],
    });
  });

  it("lists tools of plugins in one group per plugin", () => {
    const tools = [
      known("zeta", "sea"),
      known("tides", "sea", { label: "Tides", optional: true }),
      known("wind", "air"),
    ];
    const catalog = catalogOf([...tools, known("exec", "sea")], "ada", true);
    assert.equal(catalog.agentId, "ada");
    assert.deepEqual(rows(catalog), [
      ["runtime", "Runtime", "exec"],
      ["plugin:air", "air", "wind"],
      ["plugin:sea", "sea", "tides zeta"],
    ]);
    const sea = catalog.groups.find(({ id }) => id === "plugin:sea");
    assert.deepEqual([sea?.source, sea?.pluginId], ["plugin", "sea"]);
    assert.deepEqual(sea?.tools[0], {
      id: "tides",
      label: "Tides",
      description: "does tides",
      source: "plugin",
      pluginId: "sea",
      optional: true,
      defaultProfiles: [],
    });
    assert.equal("optional" in (sea?.tools[1] ?? {}), false);
  });

  it("lists the profiles, and has no empty groups", () => {
    const { profiles, groups } = catalogOf([], "main", true);
    const labels = ["Minimal", "Coding", "Messaging", "Full"].map((label) => ({ id: label.toLowerCase(), label }));
    assert.deepEqual([profiles, groups], [labels, []]);
  });
});
