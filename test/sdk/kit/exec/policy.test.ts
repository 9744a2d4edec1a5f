import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type ExecVerdict, judgeExec, rulesFor, withAllowed } from "@svc/kit/exec";
import type { ExecPolicyFile, SystemRunPlan } from "@svc/sdk/approvals";
import * as fc from "fast-check";

const BASE = { cwd: "/w", rawCommand: null, agentId: null, sessionKey: null };
const plan = (...argv: string[]): SystemRunPlan => ({ argv, ...BASE });
const file = (rest: Omit<ExecPolicyFile, "version">): ExecPolicyFile => ({ version: 1, ...rest });
const rules = (over: object = {}) => ({
  security: "allowlist" as const,
  ask: "on-miss" as const,
  askFallback: "deny" as const,
  allowlist: [{ pattern: "/usr/bin/rg" }],
  ...over,
});
const at = { root: "/w" };
const short = (verdict: ExecVerdict) => (verdict.verdict === "ask" ? `ask/${verdict.fallback}` : verdict.verdict);

describe("which rules hold for an agent", () => {
  it("are its own, then those of *, then the defaults, key by key", () => {
    const layered = file({
      defaults: { security: "full", ask: "off", askFallback: "full" },
      agents: { "*": { security: "allowlist", ask: "always" }, ops: { security: "deny" } },
    });
    const outer = { ask: "always", askFallback: "full", allowlist: [] };
    assert.deepEqual(rulesFor(layered, "ops"), { security: "deny", ...outer });
    assert.deepEqual(rulesFor(layered, "x"), { security: "allowlist", ...outer });
    assert.deepEqual(rulesFor(layered, null).security, "allowlist");
  });

  const words: [value: string | undefined, security: string, ask: string, askFallback: string][] = [
    [undefined, "deny", "on-miss", "deny"],
    ["", "deny", "always", "deny"],
    ["FULL", "deny", "always", "deny"],
    ["toString", "deny", "always", "deny"],
    ["allowlist", "allowlist", "always", "allowlist"],
    ["full", "full", "always", "full"],
    ["off", "deny", "off", "deny"],
    ["on-miss", "deny", "on-miss", "deny"],
    ["always", "deny", "always", "deny"],
  ];
  for (const [value, security, ask, askFallback] of words) {
    it(`${JSON.stringify(value)} means ${security}, ${ask} and ${askFallback}, whatever wider levels say`, () => {
      const said = value === undefined ? {} : { security: value, ask: value, askFallback: value };
      const wide = { security: "full", ask: "off", askFallback: "full" };
      const expected = { security, ask, askFallback, allowlist: [] };
      assert.deepEqual(rulesFor(file({ agents: { a: said } }), "a"), expected);
      if (value !== undefined) assert.deepEqual(rulesFor(file({ defaults: wide, agents: { a: said } }), "a"), expected);
    });
  }

  it("take allowlists of the agent and of * together; an empty one changes nothing", () => {
    const both = file({
      agents: { "*": { allowlist: [{ pattern: "/a" }] }, x: { allowlist: [{ pattern: "/b" }] }, y: { allowlist: [] } },
    });
    const patterns = (id: string) => rulesFor(both, id).allowlist.map(({ pattern }) => pattern);
    assert.deepEqual(patterns("x"), ["/b", "/a"]);
    assert.deepEqual(patterns("y"), ["/a"]);
    assert.deepEqual(patterns("*"), ["/a"]);
  });

  it("of no agent are those of main; ids that objects have by nature are nobody", () => {
    const named = file({ agents: { main: { security: "full" } } });
    assert.equal(rulesFor(named, null).security, "full");
    for (const id of ["", " ", "constructor", "__proto__", "Main", "default"])
      assert.equal(rulesFor(named, id).security, "deny");
  });
});

describe("whether a command runs", () => {
  const hit = "/usr/bin/rg";
  const miss = "/usr/bin/other";
  const table: [over: object, path: string | undefined, expected: string][] = [
    [{ security: "deny", ask: "always", askFallback: "full" }, hit, "deny"],
    [{ security: "deny", ask: "off" }, hit, "deny"],
    [{ security: "full" }, miss, "allow"],
    [{ security: "full" }, undefined, "allow"],
    [{ security: "full", ask: "off" }, miss, "allow"],
    [{ security: "full", ask: "always" }, hit, "ask/deny"],
    [{ security: "full", ask: "always", askFallback: "allowlist" }, hit, "ask/allow"],
    [{ security: "full", ask: "always", askFallback: "allowlist" }, miss, "ask/deny"],
    [{ security: "full", ask: "always", askFallback: "full" }, miss, "ask/allow"],
    [{}, hit, "allow"],
    [{}, miss, "ask/deny"],
    [{}, undefined, "ask/deny"],
    [{ askFallback: "allowlist" }, miss, "ask/deny"],
    [{ askFallback: "full" }, miss, "ask/allow"],
    [{ ask: "always" }, hit, "ask/deny"],
    [{ ask: "always", askFallback: "allowlist" }, hit, "ask/allow"],
    [{ ask: "off" }, hit, "allow"],
    [{ ask: "off", askFallback: "full" }, miss, "deny"],
    [{ allowlist: [] }, hit, "ask/deny"],
  ];
  for (const [over, path, expected] of table) {
    it(`${JSON.stringify(over)} and ${path}: ${expected}`, () => {
      assert.equal(short(judgeExec(rules(over), plan("rg", "x"), path, at)), expected);
    });
  }

  it("says which pattern allowed it, and why not", () => {
    assert.deepEqual(judgeExec(rules(), plan("rg", "x"), hit, at), { verdict: "allow", pattern: hit });
    const reason = (...argv: string[]) => {
      const denied = judgeExec(rules({ ask: "off" }), plan(...argv), argv[0] === "rg" ? hit : miss, at);
      return denied.verdict === "deny" ? denied.reason : "";
    };
    assert.match(reason("other"), /^the program is not on the allowlist/);
    assert.match(
      reason("rg", "--pre", "sh"),
      /not on the allowlist of this agent \(rg may not be called with "--pre"\)/,
    );
  });

  it("never runs nothing", () => {
    assert.equal(judgeExec(rules({ security: "full", ask: "off" }), plan(), hit).verdict, "deny");
  });
});

describe("patterns of an allowlist", () => {
  const home = "/home/ada";
  const allows = (pattern: string, path: string) =>
    judgeExec(rules({ allowlist: [{ pattern, anyArguments: true }], ask: "off" }), plan("x"), path, { home })
      .verdict === "allow";

  const table: [pattern: string, path: string, expected: boolean][] = [
    ["/usr/bin/rg", "/usr/bin/rg", true],
    ["/usr/bin/rg", "/usr/bin/RG", false],
    ["/usr/bin/rg", "/usr/bin/rga", false],
    ["/usr/bin/rg", "/opt/usr/bin/rg", false],
    ["rg", "/usr/bin/rg", false],
    ["*", "/usr/bin/rg", false],
    ["", "/usr/bin/rg", false],
    [" /usr/bin/rg", "/usr/bin/rg", false],
    ["/usr/bin/*", "/usr/bin/rg", true],
    ["/usr/bin/*", "/usr/bin/x/rg", false],
    ["/usr/*", "/usr/bin/rg", false],
    ["/usr/**", "/usr/bin/rg", true],
    ["/usr/**/rg", "/usr/local/bin/rg", true],
    ["/**", "/a", true],
    ["/usr/bin/r?", "/usr/bin/rg", true],
    ["/usr/bin/r?", "/usr/bin/r", false],
    ["/usr?bin/rg", "/usr/bin/rg", false],
    ["/usr/bin/r.", "/usr/bin/rg", false],
    ["/usr/bin/[r]g", "/usr/bin/rg", false],
    ["/usr/bin/(a|b)+$", "/usr/bin/(a|b)+$", true],
    ["/opt/é?", "/opt/é😀", true],
    ["~/bin/*", "/home/ada/bin/x", true],
    ["~/bin/*", "/home/adam/bin/x", false],
    ["~/bin/*", "/home/ada/bin/y/x", false],
    ["~ada/bin/x", "/home/ada/bin/x", false],
    ["/usr/../usr/bin/rg", "/usr/bin/rg", false],
    ["/usr/bin/rg", "usr/bin/rg", false],
  ];
  for (const [pattern, path, expected] of table) {
    it(`${JSON.stringify(pattern)} ${expected ? "means" : "does not mean"} ${path}`, () => {
      assert.equal(allows(pattern, path), expected);
    });
  }

  it("have a home with stars in its name stand for itself", () => {
    const inHome = (path: string) =>
      judgeExec(rules({ allowlist: [{ pattern: "~/x", anyArguments: true }], ask: "off" }), plan("x"), path, {
        home: "/h*",
      }).verdict;
    assert.equal(inHome("/h*/x"), "allow");
    assert.equal(inHome("/hello/x"), "deny");
  });

  it("mean exactly the path they are, when they have no wildcards", () => {
    const name = fc.string({ minLength: 1, maxLength: 8 }).filter((text) => !/[/*?\p{Cc}]|^\.{1,2}$/u.test(text));
    // No shell or interpreter ends so; for these an entry does not suffice.
    const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => `/${names.join("/")}_`);
    fc.assert(fc.property(path, path, (left, right) => allows(left, right) === (left === right)));
    fc.assert(fc.property(path, (one) => allows(one, one)));
  });

  it("cost no more for many stars", () => {
    assert.equal(allows(`/${"**a".repeat(300)}b`, `/${"a".repeat(4_000)}`), false);
  });
});

describe("adding an entry to the allowlist", () => {
  const before = file({
    agents: {
      ops: { security: "allowlist", allowlist: [{ id: "1", pattern: "/a", lastUsedAt: 1 }] },
      "*": { allowlist: [{ pattern: "/all" }] },
    },
  });

  it("keeps ids and all else", () => {
    const after = withAllowed(before, "ops", { pattern: "/b", args: ["x"], cwd: "/w" }, () => "2");
    assert.deepEqual(after.agents?.["ops"], {
      security: "allowlist",
      allowlist: [
        { id: "1", pattern: "/a", lastUsedAt: 1 },
        { id: "2", pattern: "/b", args: ["x"], cwd: "/w" },
      ],
    });
    assert.deepEqual(after.agents?.["*"], before.agents?.["*"]);
    assert.equal(before.agents?.["ops"]?.allowlist?.length, 1);
  });

  it("gives each entry an id of its own", () => {
    const after = withAllowed(withAllowed(file({}), "x", { pattern: "/a" }), "x", { pattern: "/b" });
    const ids = after.agents?.["x"]?.allowlist?.map(({ id }) => id) ?? [];
    assert.equal(new Set(ids).size, 2);
    for (const id of ids) assert.match(id ?? "", /^[0-9a-f-]{36}$/);
  });

  it("changes nothing for one that means the same, also for all agents", () => {
    assert.equal(withAllowed(before, "ops", { pattern: "/a" }), before);
    assert.equal(withAllowed(before, "ops", { pattern: "/all", anyArguments: false }), before);
  });

  it("takes no entry for another: pattern, arguments and directory count", () => {
    const meanings = [
      { pattern: "/a" },
      { pattern: "/a", anyArguments: true },
      { pattern: "/a", args: [] },
      { pattern: "/a", args: ["x"] },
      { pattern: "/a", args: ["x"], cwd: "/w" },
      { pattern: "/a", args: ["x y"] },
    ];
    let all = file({});
    for (const entry of [...meanings, ...meanings]) all = withAllowed(all, null, entry);
    assert.deepEqual(rulesFor(all, null).allowlist, meanings);
  });

  it("goes to main without an agent, and to nobody else", () => {
    const after = withAllowed(file({}), null, { pattern: "/a" });
    assert.deepEqual(Object.keys(after.agents ?? {}), ["main"]);
    assert.deepEqual(rulesFor(after, "other").allowlist, []);
  });
});
