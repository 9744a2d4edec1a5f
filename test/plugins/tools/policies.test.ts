import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { GroupToolPolicy, GroupToolRules, ToolPolicy, ToolScene } from "@svc/sdk/tools";
import type { Rules } from "../../../plugins/tools/config.ts";
import { Policies, type PolicySources } from "../../../plugins/tools/policies.ts";
import { MAIN, principal } from "../agents/script.ts";

const scene: ToolScene = { surface: "run", agentId: "main", sessionKey: MAIN, principal };
const none: Rules = { global: {}, subagents: { allow: [], alsoAllow: [], deny: [] }, http: {}, fromOutside: "ask" };
const agents = (toolPolicy?: ToolPolicy, maxSpawnDepth = 1) => ({ toolPolicy: () => toolPolicy, maxSpawnDepth });

/** The policies, and logged warnings. */
function make(changes: Partial<PolicySources> = {}) {
  const warnings: string[] = [];
  const log = { warn: (_fields: object, message: string) => void warnings.push(message) };
  const sources = { rules: () => none, agents: () => undefined, groups: () => undefined, log, ...changes };
  return { policies: new Policies(sources), warnings };
}
const may = (policies: Policies, name: string, changes: Partial<ToolScene> = {}) =>
  policies.of({ ...scene, ...changes }).judge({ name, plugin: "p" }).allowed;

describe("cached policies", () => {
  it("are compiled once for repeated requests", () => {
    const policy: ToolPolicy = { deny: ["read"] };
    const { policies } = make({ agents: () => agents(policy) });
    const first = policies.of(scene);
    assert.equal(policies.of({ ...scene, sessionKey: "agent:main:other" }), first);
    assert.notEqual(policies.of({ ...scene, model: { provider: "a", id: "b" } }), first);
    assert.notEqual(policies.of({ ...scene, surface: "http" }), first);
  });

  it("follow changes of configuration and agent at once", () => {
    let rules = none;
    let own: ToolPolicy | undefined;
    const { policies } = make({ rules: () => rules, agents: () => agents(own) });
    assert.equal(may(policies, "read"), true);
    rules = { ...none, global: { deny: ["read"] } };
    assert.equal(may(policies, "read"), false);
    rules = none;
    own = { deny: ["read"] };
    assert.equal(may(policies, "read"), false);
    own = undefined;
    assert.equal(may(policies, "read"), true);
  });

  it("detect the deepest sub-agents by the limit", () => {
    const limits = (depth: number) => make({ agents: () => agents(undefined, depth) }).policies;
    const sub = { sessionKey: "agent:main:subagent:1" };
    assert.equal(may(limits(1), "sessions_spawn", sub), false);
    assert.equal(may(limits(2), "sessions_spawn", sub), true);
    assert.equal(may(limits(2), "sessions_spawn", { sessionKey: "agent:main:subagent:1:subagent:2" }), false);
    assert.equal(may(make().policies, "sessions_spawn", sub), false, "1 while nobody says how deep");
    assert.equal(may(make().policies, "cron", sub), false);
  });

  it("follow the rules of the group, and allow nothing if they are not available", () => {
    let rules: GroupToolRules | undefined;
    const asked: object[] = [];
    const of: GroupToolPolicy["of"] = (group) => {
      asked.push(group);
      return rules;
    };
    const team = { sessionKey: "agent:main:irc:group:#team", address: { accountId: "work" } };
    const { policies } = make({ groups: () => ({ of }) });
    assert.equal(may(policies, "read", team), true);
    assert.deepEqual(asked, [{ channel: "irc", accountId: "work", groupId: "#team", principalId: principal.id }]);
    rules = { deny: ["read"] };
    assert.equal(may(policies, "read", team), false);
    assert.equal(may(policies, "read"), true);

    const broken = make({
      groups: () => ({
        of() {
          throw new Error("no file");
        },
      }),
    });
    assert.equal(may(broken.policies, "read", team), false);
    assert.match(broken.warnings[0] ?? "", /rules of a group could not be read/);
  });

  it("warn once about probable mistakes", () => {
    const rules = { ...none, global: { allow: ["raed"], deny: ["group:frogs", " "] } };
    const { policies, warnings } = make({ rules: () => rules });
    for (const agentId of ["main", "ada"]) policies.of({ ...scene, agentId });
    assert.deepEqual(warnings, [
      'tools: the allow list names no core tool and is ignored; add one, or "*", to activate it',
      'tools: "group:frogs", " " in deny cannot match any tool',
    ]);
  });
});
