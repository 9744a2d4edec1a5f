/** The truth table of the policy: levels, kinds of entries, order and combinations. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { decide, type Remover, type ToolFacts } from "../../../plugins/tools/policy.ts";
import { words } from "../../../plugins/tools/names.ts";
import type { Levels } from "../../../plugins/tools/steps.ts";

/** Core tools, plugin tools, optional tools, and a tool of a plugin named like a core tool. */
const TOOLS: readonly ToolFacts[] = [
  from("workspace", "read write apply_patch exec"),
  from("web", "web_search web_fetch"),
  from("sessions", "memory_get sessions_list sessions_spawn sessions_send session_status"),
  from("nodes", "message cron gateway nodes"),
  { name: "Weather_Now", plugin: "weather" },
  { name: "weather_rare", plugin: "weather", optional: true },
  { name: "tides", plugin: "sea" },
  { name: "node_extra", plugin: "nodes" },
  { name: "in_run", plugin: "sea", runOnly: true },
].flat();
function from(plugin: string, names: string): ToolFacts[] {
  return words(names).map((name) => ({ name, plugin }));
}
const EVERYTHING = TOOLS.map(({ name }) => name).filter((name) => name !== "weather_rare" && name !== "node_extra");
const CORE = EVERYTHING.filter((name) => !["Weather_Now", "tides", "in_run"].includes(name));

type Change = Partial<Levels>;
const levels = (change: Change = {}): Levels => ({ surface: "run", global: {}, http: {}, ...change });

/** Allowed tools, in the order of `TOOLS`. */
function left(change: Change = {}): string[] {
  const verdicts = decide(TOOLS, levels(change));
  return TOOLS.map(({ name }) => name).filter((name) => verdicts.get(name)?.allowed);
}
const without = (...names: string[]) => EVERYTHING.filter((name) => !names.includes(name));
const only = (...names: string[]) => TOOLS.map(({ name }) => name).filter((name) => names.includes(name));

type Rules = { allow?: string[]; alsoAllow?: string[]; deny?: string[] };
const model = { provider: "Acme", id: "Big/1" };

/** Levels at which the same rules can be configured. */
const LEVELS: readonly (readonly [step: Remover, at: (rules: Rules) => Change])[] = [
  ["global", (rules) => ({ global: rules })],
  ["global by provider", (rules) => ({ global: { byProvider: { acme: rules } }, model })],
  ["agent", (rules) => ({ agent: rules })],
  ["agent by provider", (rules) => ({ agent: { byProvider: { "ACME/big/1": rules } }, model })],
  ["group", (rules) => ({ groups: [rules] })],
];

/** Tools that rules allow, at any level. */
const ROWS: readonly (readonly [what: string, rules: Rules, left: readonly string[]])[] = [
  ["nothing said", {}, EVERYTHING],
  ["an empty allow", { allow: [] }, EVERYTHING],
  ["a name", { allow: ["read"] }, ["read"]],
  ["a name in capitals with blanks around it", { allow: ["  READ "] }, ["read"]],
  ["a denied name", { deny: ["read"] }, without("read")],
  ["a name that is allowed and denied", { allow: ["read", "write"], deny: ["read"] }, ["write"]],
  ["all", { allow: ["*"] }, EVERYTHING],
  ["all denied", { deny: ["*"] }, []],
  ["all denied and one allowed", { allow: ["read"], deny: ["*"] }, []],
  ["a glob", { allow: ["web_*"] }, ["web_search", "web_fetch"]],
  ["a glob with a hole", { allow: ["s*_s*s"] }, ["session_status"]],
  ["a glob that only its ends fit", { deny: ["re*ad"] }, without("read")],
  ["a glob whose ends would overlap", { deny: ["rea*ad"] }, EVERYTHING],
  ["two stars", { deny: ["**"] }, []],
  ["a glob is anchored", { deny: ["*eb"] }, EVERYTHING],
  ["a dot is a dot", { deny: ["w.b_search"] }, EVERYTHING],
  ["a denied glob", { deny: ["sessions_*"] }, without("sessions_list", "sessions_spawn", "sessions_send")],
  ["a group", { allow: ["group:web"] }, ["web_search", "web_fetch"]],
  ["a group in capitals", { allow: ["Group:Web"] }, ["web_search", "web_fetch"]],
  ["a denied group", { deny: ["group:fs"] }, without("read", "write", "apply_patch")],
  ["the group of the service", { deny: ["group:svc"] }, ["read", "write", "apply_patch", "exec", ...without(...CORE)]],
  ["a denied group nobody knows", { deny: ["group:frogs"] }, EVERYTHING],
  ["the tools of plugins", { deny: ["group:plugins"] }, CORE],
  ["a plugin", { deny: ["weather"] }, without("Weather_Now")],
  ["a plugin of tools of the core", { deny: ["web"] }, without("web_search", "web_fetch")],
  ["a plugin called like a tool: the tool is meant", { deny: ["nodes"] }, without("nodes")],
  ["a plugin beside a tool", { allow: ["read", "sea"] }, ["read", "tides", "in_run"]],
  ["a tool of a plugin, whatever its case", { deny: ["weather_now"] }, without("Weather_Now")],
  ["an alias", { allow: ["bash"] }, ["apply_patch", "exec"]],
  ["an alias with a dash", { deny: ["apply-patch"] }, without("apply_patch")],
  ["exec brings apply_patch along", { allow: ["exec"] }, ["apply_patch", "exec"]],
  ["also by a glob", { allow: ["ex*"] }, ["apply_patch", "exec"]],
  ["but not where it is denied", { allow: ["exec"], deny: ["apply_patch"] }, ["exec"]],
  ["and apply_patch does not bring exec", { allow: ["apply_patch"] }, ["apply_patch"]],
  ["denying exec leaves apply_patch", { deny: ["exec"] }, without("exec")],
  ["alsoAllow alone takes nothing", { alsoAllow: ["read"] }, EVERYTHING],
  ["alsoAllow beside allow", { allow: ["read"], alsoAllow: ["tides"] }, ["read", "tides"]],
  ["alsoAllow does not lift a deny", { alsoAllow: ["read"], deny: ["read"] }, without("read")],
  ["a list of plugins only is left out", { allow: ["sea", "weather_now"] }, EVERYTHING],
  ["a list of the plugins' group only is left out", { allow: ["group:plugins"] }, [...EVERYTHING, "weather_rare"]],
  ["a list of mistakes only is left out", { allow: ["raed"] }, EVERYTHING],
  ["a list that is left out still denies", { allow: ["raed"], deny: ["read"] }, without("read")],
  ["a mistake beside a name", { allow: ["raed", "write"] }, ["write"]],
  ["a tool of the core nobody provides counts", { allow: ["browser"] }, []],
  ["a blank name allows nothing", { allow: [" "] }, []],
  ["a blank beside a mistake allows nothing", { allow: [" ", "raed"] }, []],
  ["a blank beside a plugin allows that plugin", { allow: ["", "sea"] }, ["tides", "in_run"]],
  ["a blank in deny denies nothing", { deny: ["", " "] }, EVERYTHING],
  ["an optional tool by its name", { alsoAllow: ["weather_rare"] }, [...EVERYTHING, "weather_rare"]],
  ["an optional tool by its plugin", { alsoAllow: ["weather"] }, [...EVERYTHING, "weather_rare"]],
  ["an optional tool by the plugins' group", { alsoAllow: ["group:plugins"] }, [...EVERYTHING, "weather_rare"]],
  ["an optional tool in a list that is left out", { allow: ["weather_rare"] }, [...EVERYTHING, "weather_rare"]],
  ["no glob names an optional tool", { allow: ["*", "weather_*"] }, EVERYTHING],
  ["an optional tool that is denied", { alsoAllow: ["weather_rare"], deny: ["weather"] }, without("Weather_Now")],
];

describe("the rules of a level", () => {
  for (const [step, at] of LEVELS) {
    for (const [what, rules, expected] of ROWS) {
      it(`${step}: ${what}`, () => assert.deepEqual(left(at(rules)), only(...expected)));
    }
    it(`${step}: names the step that removed a tool`, () => {
      const verdict = decide(TOOLS, levels(at({ deny: ["read"] }))).get("read");
      assert.equal(verdict?.allowed === false && verdict.step, step);
    });
  }
});

describe("profiles", () => {
  const coding = [
    "read",
    "write",
    "apply_patch",
    "exec",
    "memory_get",
    "sessions_list",
    "sessions_spawn",
    "sessions_send",
  ];
  const rows: readonly (readonly [what: string, change: Change, left: readonly string[]])[] = [
    ["full is none", { global: { profile: "full" } }, EVERYTHING],
    ["minimal", { global: { profile: "minimal" } }, ["session_status"]],
    ["coding", { global: { profile: "coding" } }, [...coding, "session_status", "cron"]],
    [
      "messaging",
      { global: { profile: "messaging" } },
      ["sessions_list", "sessions_send", "session_status", "message"],
    ],
    [
      "the agent's before that of all",
      { global: { profile: "coding" }, agent: { profile: "minimal" } },
      ["session_status"],
    ],
    ["full of the agent lifts that of all", { global: { profile: "minimal" }, agent: { profile: "full" } }, EVERYTHING],
    ["with alsoAllow", { global: { profile: "minimal", alsoAllow: ["read"] } }, ["read", "session_status"]],
    [
      "with a group in alsoAllow",
      { global: { profile: "minimal", alsoAllow: ["group:web"] } },
      ["web_search", "web_fetch", "session_status"],
    ],
    [
      "alsoAllow of all, for a profile of the agent",
      { global: { alsoAllow: ["read"] }, agent: { profile: "minimal" } },
      ["read", "session_status"],
    ],
    [
      "alsoAllow of the agent instead of that of all",
      { global: { profile: "minimal", alsoAllow: ["read"] }, agent: { alsoAllow: ["write"] } },
      ["write", "session_status"],
    ],
    [
      "an empty one of the agent counts, too",
      { global: { profile: "minimal", alsoAllow: ["read"] }, agent: { alsoAllow: [] } },
      ["session_status"],
    ],
    [
      "allow does not widen a profile",
      { global: { profile: "minimal", allow: ["read", "session_status"] } },
      ["session_status"],
    ],
    [
      "an optional tool that alsoAllow names",
      { global: { profile: "minimal", alsoAllow: ["weather_rare"] } },
      ["session_status", "weather_rare"],
    ],
    ["of a provider", { global: { byProvider: { acme: { profile: "minimal" } } }, model }, ["session_status"]],
    [
      "of a provider and of all: both count",
      { global: { profile: "messaging", byProvider: { acme: { profile: "coding" } } }, model },
      ["sessions_list", "sessions_send", "session_status"],
    ],
    [
      "of a provider with alsoAllow of the entry",
      { global: { byProvider: { acme: { profile: "minimal", alsoAllow: ["read"] } } }, model },
      ["read", "session_status"],
    ],
    [
      "of a provider: the agent's entry first",
      {
        global: { byProvider: { acme: { profile: "minimal" } } },
        agent: { byProvider: { acme: { profile: "messaging" } } },
        model,
      },
      ["sessions_list", "sessions_send", "session_status", "message"],
    ],
    [
      "of a provider: an agent's entry without one leaves that of all",
      {
        global: { byProvider: { acme: { profile: "minimal" } } },
        agent: { byProvider: { acme: { deny: ["read"] } } },
        model,
      },
      ["session_status"],
    ],
  ];
  for (const [what, change, expected] of rows) {
    it(what, () => assert.deepEqual(left(change), only(...expected)));
  }
});

describe("rules by provider", () => {
  const rows: readonly (readonly [what: string, byProvider: Record<string, Rules>, left: readonly string[]])[] = [
    ["the longer key counts, alone", { acme: { deny: ["read"] }, "acme/big/1": { deny: ["write"] } }, without("write")],
    ["in any case", { "ACME/BIG/1": { deny: ["write"] } }, without("write")],
    ["with blanks around it", { " acme ": { deny: ["write"] } }, without("write")],
    ["another model", { "acme/small": { deny: ["write"] } }, EVERYTHING],
    ["another provider", { ac: { deny: ["write"] }, "": { deny: ["*"] }, " ": { deny: ["*"] } }, EVERYTHING],
    ["a star is no key", { "*": { deny: ["*"] } }, EVERYTHING],
  ];
  for (const [what, entries, expected] of rows) {
    it(what, () => assert.deepEqual(left({ global: { byProvider: entries }, model }), expected));
  }
  it("are skipped without a model", () => {
    const byProvider = { acme: { deny: ["*"], profile: "minimal" as const } };
    assert.deepEqual(left({ global: { byProvider }, agent: { byProvider } }), EVERYTHING);
  });
});

describe("levels together", () => {
  it("allow only tools that each of them allows", () => {
    const change: Change = {
      global: { profile: "coding", deny: ["exec"], byProvider: { acme: { deny: ["write"] } } },
      agent: { allow: ["group:fs", "exec", "cron", "message"], byProvider: { acme: { deny: ["cron"] } } },
      groups: [{ deny: ["group:runtime"] }],
      model,
    };
    assert.deepEqual(left(change), ["read", "apply_patch"]);
  });

  it("are checked in order: the first one to remove a tool is named", () => {
    const deny = { deny: ["tides"] };
    const minimal = { profile: "minimal", ...deny } as const;
    const chain: readonly (readonly [step: Remover, without: Change])[] = [
      ["profile", {}],
      ["provider profile", { global: { ...deny, byProvider: { acme: minimal } } }],
      ["global", { global: { ...deny, byProvider: { acme: deny } } }],
      ["global by provider", { global: { byProvider: { acme: deny } } }],
      ["agent", { global: {} }],
      ["agent by provider", { agent: { byProvider: { acme: deny } } }],
      ["group", { agent: undefined }],
      ["subagent", { groups: [] }],
      ["http", { subagent: undefined }],
    ];
    let all: Levels = {
      surface: "http",
      global: { ...minimal, byProvider: { acme: minimal } },
      agent: { ...deny, byProvider: { acme: deny } },
      groups: [deny],
      subagent: { isLeaf: true, rules: deny },
      model,
      http: deny,
    };
    for (const [step, change] of chain) {
      all = { ...all, ...change };
      const verdict = decide(TOOLS, all).get("tides");
      assert.equal(verdict?.allowed === false && verdict.step, step);
    }
  });

  it("rules of all groups of a session apply", () => {
    assert.deepEqual(left({ groups: [{ deny: ["read"] }, { deny: ["write"] }] }), without("read", "write"));
  });
});

describe("sub-agents", () => {
  const always = ["gateway", "session_status", "cron", "memory_get", "sessions_send"];
  const leaf = [...always, "sessions_list", "sessions_spawn"];
  const rows: readonly (readonly [what: string, isLeaf: boolean, rules: Rules, left: readonly string[]])[] = [
    ["the deepest ones", true, {}, without(...leaf)],
    ["those that may start others", false, {}, without(...always)],
    ["a deny of their own", false, { deny: ["read"] }, without(...always, "read")],
    ["a group in deny", false, { deny: ["group:fs"] }, without(...always, "read", "write", "apply_patch")],
    [
      "alsoAllow lifts a fixed deny",
      true,
      { alsoAllow: ["Cron", "sessions_spawn"] },
      without(...leaf.filter((name) => !["cron", "sessions_spawn"].includes(name))),
    ],
    ["no glob lifts one", true, { alsoAllow: ["*", "sessions_*", "group:svc"] }, without(...leaf)],
    [
      "allow lifts one, and is all that is left",
      true,
      { allow: ["cron", "read", "sessions_send", "gateway"], deny: ["gateway"] },
      ["read", "sessions_send", "cron"],
    ],
    ["allow of a plugin only counts here", true, { allow: ["sea"] }, ["tides", "in_run"]],
    ["deny wins over what lifts", true, { alsoAllow: ["cron"], deny: ["cron"] }, without(...leaf)],
    ["a blank in allow allows nothing", true, { allow: [" "] }, []],
    [
      "an optional tool they are allowed by name",
      true,
      { alsoAllow: ["weather_rare"] },
      [...without(...leaf), "weather_rare"],
    ],
  ];
  for (const [what, isLeaf, rules, expected] of rows) {
    it(what, () => assert.deepEqual(left({ subagent: { isLeaf, rules } }), only(...expected)));
  }
});

describe("over HTTP", () => {
  const inRun = ["read", "write", "apply_patch", "exec", "in_run"];
  const denied = ["sessions_spawn", "sessions_send", "cron", "gateway"];
  const rows: readonly (readonly [what: string, http: Rules, left: readonly string[]])[] = [
    ["by itself", {}, without(...inRun, ...denied)],
    [
      "allow takes names off the list",
      { allow: ["cron", "gateway"] },
      without(...inRun, "sessions_spawn", "sessions_send"),
    ],
    ["deny adds names", { deny: ["tides"] }, without(...inRun, ...denied, "tides")],
    ["deny wins over allow", { allow: ["cron"], deny: ["cron"] }, without(...inRun, ...denied)],
    ["allow is no list of all that is left", { allow: ["tides"] }, without(...inRun, ...denied)],
    [
      "names in another case are other names",
      { allow: ["Cron"], deny: ["Tides", "weather_now"] },
      without(...inRun, ...denied),
    ],
    ["blanks belong to the name", { allow: [" cron"], deny: [" tides"] }, without(...inRun, ...denied)],
    ["no globs", { allow: ["*"], deny: ["*", "web_*"] }, without(...inRun, ...denied)],
    ["no groups", { allow: ["group:automation"], deny: ["group:web"] }, without(...inRun, ...denied)],
    ["no aliases", { deny: ["bash"] }, without(...inRun, ...denied)],
    ["nonsense", { allow: ["", " "], deny: ["", " "] }, without(...inRun, ...denied)],
    ["a tool as it is written", { deny: ["Weather_Now"] }, without(...inRun, ...denied, "Weather_Now")],
  ];
  for (const [what, http, expected] of rows) {
    it(what, () => assert.deepEqual(left({ surface: "http", http }), expected));
  }

  it("does not restore tools that an earlier step removed", () => {
    assert.ok(!left({ surface: "http", global: { deny: ["cron"] }, http: { allow: ["cron"] } }).includes("cron"));
  });

  it("has no run-only tools, whatever allows them", () => {
    const change: Change = { surface: "http", global: { allow: [...inRun, "tides"] }, http: { allow: inRun } };
    assert.deepEqual(left(change), ["tides"]);
  });

  it("does not affect runs", () => {
    assert.deepEqual(left({ http: { deny: ["tides"] } }), EVERYTHING);
  });
});

describe("tools that are ignored before any step", () => {
  it("an unlisted optional tool, and a tool of a plugin named like a core tool", () => {
    const verdicts = decide(TOOLS, levels());
    const of = (name: string) => {
      const verdict = verdicts.get(name);
      return verdict?.allowed === false ? verdict.step : "allowed";
    };
    assert.deepEqual([of("weather_rare"), of("node_extra"), of("nodes")], ["optional", "clash", "allowed"]);
  });
});
