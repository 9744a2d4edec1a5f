/** The command policy of another gateway: what is taken of it, and that it never allows more than it did there. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { judgeExec, openExecPolicy, rulesFor } from "@svc/kit/exec";
import { execApprovals, type ExecPolicyFile } from "@svc/sdk/approvals";
import { CommandPolicyRecord, imports, type ImportOutcome } from "@svc/sdk/import";
import { testGateway } from "@svc/sdk/testing";
import * as fc from "fast-check";
import { policyImporter } from "../../../plugins/approvals/import.ts";
import { directory } from "../../directory.ts";

const limited = { timeout: 120_000 };
const SECRET = "canary-7c2d-socket-token";

/** As a gateway of another product wrote it; each case changes one thing. */
const march = {
  version: 1,
  socket: { path: "/home/ada/.openclaw/exec-approvals.sock", token: SECRET },
  defaults: { security: "allowlist", ask: "on-miss", askFallback: "deny" },
  agents: {
    main: {
      allowlist: [
        {
          pattern: "/usr/bin/rg",
          id: "605c45de",
          lastUsedAt: 1_795_379_829_753,
          lastUsedCommand: "rg x",
          lastResolvedPath: "/usr/bin/rg",
        },
        { pattern: "~/bin/*", id: "03006f47" },
      ],
    },
    work: { security: "full", ask: "off" },
  },
};
const { socket: _socket, ...withoutSocket } = march;

const facts = { title: "command policies", record: CommandPolicyRecord };

function open(t: TestContext) {
  const stateDir = directory(t);
  const policy = openExecPolicy(stateDir);
  const importer = policyImporter(facts, policy);
  const take = async (file: object): Promise<ImportOutcome> => {
    const [outcome] = await importer.take([{ id: "p", file } as CommandPolicyRecord]);
    return outcome ?? assert.fail("no outcome");
  };
  return { policy, importer, take, path: join(stateDir, "exec-approvals.json") };
}

describe("a command policy that comes from another gateway", limited, () => {
  it("is taken as it is, less its socket", async (t) => {
    const { take, policy, importer, path } = open(t);
    assert.equal(await importer.count(), 0);
    assert.equal(existsSync(path), false, "a count writes nothing");
    assert.deepEqual(await take(march), { id: "p", action: "take" });
    const { socket, ...file } = (await policy.get()).file;
    assert.deepEqual(file, withoutSocket);
    assert.equal(socket?.path, join(path, "../exec-approvals.sock"), "the socket of this gateway");
    assert.ok(!readFileSync(path, "utf8").includes(SECRET));
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.equal(await importer.count(), 1);
  });

  it("is skipped when a policy with a rule is here already", async (t) => {
    const { take, policy, importer } = open(t);
    assert.equal((await take(march)).action, "take");
    assert.equal((await take({ ...march, agents: {} })).action, "skip", "twice is once");
    assert.deepEqual((await policy.policy()).agents, march.agents);
    for (const rule of [{ defaults: { ask: "off" } }, { agents: { a: { allowlist: [{ pattern: "/x" }] } } }]) {
      const other = open(t);
      const { hash } = await other.policy.get();
      await other.policy.set({ version: 1, ...rule }, hash);
      const { action, reason, next } = await other.take(march);
      assert.deepEqual(
        [action, reason, next],
        ["skip", "this gateway has a command policy already", "svc approvals get"],
      );
    }
    assert.equal(await importer.count(), 1);
  });

  it("replaces the file without rules that a gateway creates", async (t) => {
    const { take, policy } = open(t);
    await policy.get();
    assert.equal((await take(march)).action, "take");
    assert.deepEqual((await policy.policy()).agents, march.agents);
  });

  for (const file of [
    { version: 1 },
    { version: 1, defaults: {}, agents: {} },
    { version: 1, agents: { main: { allowlist: [] }, work: {} } },
    { version: 1, agents: { main: { allowlist: ["rg"] } } },
  ]) {
    it(`without rules is dropped: ${JSON.stringify(file)}`, async (t) => {
      const { take, importer, path } = open(t);
      const { action, reason, next } = await take(file);
      assert.deepEqual([action, next], ["drop", "svc approvals security allowlist --ask on-miss"]);
      assert.match(reason ?? "", /^it has no rules, so commands are denied/);
      assert.deepEqual([await importer.count(), existsSync(path)], [0, false]);
    });
  }

  const CAPPED = "askFallback is allowlist instead of full, because the file does not say for all agents when to ask";
  const entries = (...allowlist: unknown[]) => ({ agents: { main: { allowlist } } });
  const rg = { id: "1", pattern: "/usr/bin/rg" };
  const converted: [what: string, changes: object, wanted: object, reason: string][] = [
    [
      "unknown words become the strictest",
      { defaults: { security: "FULL", ask: "never", askFallback: "*" } },
      { defaults: { security: "deny", ask: "always", askFallback: "deny" } },
      "defaults.security has an unknown value, so it is deny; defaults.ask has an unknown value, so it is always; " +
        "defaults.askFallback has an unknown value, so it is deny",
    ],
    [
      "null and other values count as unknown words",
      { agents: { main: { security: null, autoAllowSkills: "yes" } } },
      { agents: { main: { security: "deny", autoAllowSkills: false } } },
      "agents.main.security has an unknown value, so it is deny; " +
        "agents.main.autoAllowSkills has an unknown value, so it is false",
    ],
    [
      "rules that cannot be read deny all",
      { agents: { main: "full", "*": null } },
      { agents: { main: { security: "deny" }, "*": { security: "deny" } } },
      "agents.main has no rules that can be read, so it denies all commands; " +
        "agents.* has no rules that can be read, so it denies all commands",
    ],
    [
      "unknown keys are left out",
      {
        updatedAt: 1,
        defaults: { ...march.defaults, note: "x" },
        agents: { work: { ...march.agents.work, color: "red" } },
      },
      { agents: { work: march.agents.work } },
      "updatedAt is unknown here and left out; " +
        "agents.work.color is unknown here and left out; defaults.note is unknown here and left out",
    ],
    [
      "an entry with an unknown field is left out, because it may restrict it",
      entries(rg, { pattern: "/usr/bin/git", argPattern: "^status$" }, { pattern: "/usr/bin/jq", expiresAt: 1 }),
      entries(rg),
      "agents.main.allowlist is without /usr/bin/git: argPattern may restrict it; " +
        "agents.main.allowlist is without /usr/bin/jq: expiresAt may restrict it",
    ],
    [
      "entries that can allow nothing are left out",
      entries("rg", { pattern: "*" }, 7, { pattern: 5 }, rg),
      entries(rg),
      "",
    ],
    [
      "a list that is none is empty",
      { agents: { main: { security: "allowlist", allowlist: { pattern: "/usr/bin/rg" } } } },
      { agents: { main: { security: "allowlist", allowlist: [] } } },
      "agents.main.allowlist is no list, so it is empty",
    ],
    [
      "without a word when to ask, nobody's silence allows everything",
      {
        defaults: { security: "allowlist", askFallback: "full" },
        agents: { work: { askFallback: "full", ask: "on-miss" } },
      },
      {
        defaults: { security: "allowlist", askFallback: "allowlist" },
        agents: { work: { askFallback: "allowlist", ask: "on-miss" } },
      },
      `agents.work.${CAPPED}; defaults.${CAPPED}`,
    ],
    [
      "with an unknown word when to ask, neither",
      {
        defaults: { security: "allowlist", ask: "on-miss", askFallback: "full" },
        agents: { work: { ask: "sometimes" } },
      },
      {
        defaults: { security: "allowlist", ask: "on-miss", askFallback: "allowlist" },
        agents: { work: { ask: "always" } },
      },
      "",
    ],
  ];
  for (const [what, changes, wanted, reason] of converted) {
    it(`${what}, which the outcome says`, async (t) => {
      const { take, policy } = open(t);
      const outcome = await take({ ...march, ...changes });
      assert.equal(outcome.action, "convert");
      const said = (outcome.reason ?? "").split("; ").sort();
      if (reason !== "") assert.deepEqual(said, reason.split("; ").sort());
      const { socket: _own, ...file } = (await policy.get()).file;
      assert.deepEqual(file, { ...withoutSocket, ...wanted });
    });
  }

  const taken: [what: string, changes: object, wanted: object][] = [
    ["entries of the oldest format", entries("/usr/bin/rg"), { pattern: "/usr/bin/rg" }],
    ["entries that say where they are from", entries({ ...rg, source: "allow-always", commandText: "rg x" }), rg],
    [
      "entries of this product",
      entries({ ...rg, args: ["-n", "x"], cwd: "/srv" }),
      { ...rg, args: ["-n", "x"], cwd: "/srv" },
    ],
    [
      "entries with a broken id and usage",
      entries({ ...rg, id: "", lastUsedAt: "now", lastUsedCommand: 5 }),
      { pattern: rg.pattern },
    ],
  ];
  for (const [what, changes, wanted] of taken) {
    it(`has ${what}`, async (t) => {
      const { take, policy } = open(t);
      assert.deepEqual(await take({ ...march, ...changes }), { id: "p", action: "take" });
      const [first] = (await policy.policy()).agents?.["main"]?.allowlist ?? [];
      assert.deepEqual({ ...first, ...("id" in wanted ? {} : { id: undefined }) }, { id: undefined, ...wanted });
    });
  }

  it("names at most 20 differences", async (t) => {
    const { take } = open(t);
    const { reason = "" } = await take({ ...march, ...entries(rg, ...Array.from({ length: 30 }, (_, n) => `p${n}`)) });
    assert.equal(reason.split("; agents.main").length, 20);
    assert.match(reason, /; and 10 more$/);
  });

  it("full as the answer of nobody stays where the file says when to ask", async (t) => {
    const { take, policy } = open(t);
    const defaults = { security: "allowlist", ask: "on-miss", askFallback: "full" };
    assert.equal((await take({ ...march, defaults })).action, "take");
    assert.deepEqual((await policy.policy()).defaults, defaults);
  });

  it("has the rules of the agent default as those of main", async (t) => {
    const { take, policy } = open(t);
    await take({ ...march, agents: { default: { security: "full" }, main: { security: "nonsense" } } });
    assert.deepEqual((await policy.policy()).agents, { main: { security: "deny" } });
  });

  const refused: [what: string, changes: object, why: RegExp][] = [
    ["another version", { version: 2 }, /at \/version/],
    ["agents that are none", { agents: [march.agents.main] }, /at \/agents/],
    [
      "a key that may restrict commands",
      { denylist: ["/usr/bin/rm"] },
      /denylist is unknown here and may restrict commands/,
    ],
    ["such a key of an agent", { agents: { main: { sandboxMode: "all" } } }, /agents\.main\.sandboxMode is unknown/],
    ["such a key of the defaults", { defaults: { maxAskPerHour: 1 } }, /defaults\.maxAskPerHour is unknown/],
    ["an agent without an id", { agents: { " main": { security: "deny" } } }, /" main" is not an agent id/],
  ];
  for (const [what, changes, why] of refused) {
    it(`is refused with ${what}; nothing is written`, async (t) => {
      const { take, importer } = open(t);
      const { action, reason } = await take({ ...march, ...changes });
      assert.equal(action, "refuse");
      assert.match(reason ?? "", why);
      assert.equal(await importer.count(), 0);
    });
  }

  it("is skipped while the file here cannot be used, which counts as a policy", async (t) => {
    const { take, importer, path } = open(t);
    writeFileSync(path, "{", { mode: 0o600 });
    assert.equal(await importer.count(), 1);
    const { action, reason } = await take(march);
    assert.equal(action, "skip");
    assert.match(reason ?? "", /not a usable policy file/);
    assert.equal(readFileSync(path, "utf8"), "{");
    await assert.rejects(async () => importer.give?.(undefined), { code: "UNAVAILABLE" });
  });

  it("is taken once of several", async (t) => {
    const { importer, policy } = open(t);
    const records = [march, { ...march, agents: {} }].map((file, at) => ({ id: `p${at}`, file }));
    assert.deepEqual(
      (await importer.take(records)).map(({ action }) => action),
      ["take", "skip"],
    );
    assert.deepEqual((await policy.policy()).agents, march.agents);
  });

  it("is given, and taken by another gateway, which gives the same", async (t) => {
    const from = open(t);
    assert.deepEqual(await from.importer.give?.(undefined), { records: [] });
    const own = { ...rg, anyArguments: true, sha256: "0".repeat(64) };
    await from.take({
      ...march,
      defaults: { ...march.defaults, autoAllowSkills: true },
      agents: { ...march.agents, ops: { allowlist: [own] } },
    });
    const given = await from.importer.give?.(undefined);
    assert.ok(given && given.records.length === 1);
    assert.ok(!JSON.stringify(given).includes("socket"));
    const to = open(t);
    assert.deepEqual(await to.importer.take(given.records), [{ id: "exec-approvals", action: "take" }]);
    assert.deepEqual(await to.importer.give?.(undefined), given);
    assert.equal((await from.importer.take(given.records))[0]?.action, "skip");
  });
});

it("a gateway takes the policy of another one", limited, async (t) => {
  const { client } = await testGateway(t, { plugins: ["storage-sqlite", "approvals", "import"] });
  const records: { id: string; file?: object }[] = [{ id: "x", file: march }, { id: "y" }];
  const { outcomes } = await client.call(imports.take, { kind: "command-policy", records });
  assert.deepEqual(
    outcomes.map(({ action }) => action),
    ["take", "refuse"],
  );
  const { file } = await client.call(execApprovals.get, {});
  assert.deepEqual(file.agents, march.agents);
  const { kinds } = await client.call(imports.kinds, {});
  assert.deepEqual(kinds, [
    { kind: "command-policy", title: "command policies", plugin: "approvals", count: 1, gives: true },
  ]);
});

/** What a gateway of the other product does with a command. */
type Verdict = "allow" | "ask/allow" | "ask/deny" | "deny";
type Words = Record<"security" | "ask" | "askFallback", string>;
type Values = Readonly<Record<string, unknown>>;

/** The rules without any in the file, in two versions of the other product. */
const BUILT_IN: readonly Words[] = [
  { security: "deny", ask: "on-miss", askFallback: "deny" },
  { security: "full", ask: "off", askFallback: "deny" },
];
const WORDS: Words = { security: "deny allowlist full", ask: "off on-miss always", askFallback: "deny allowlist full" };

const valuesOf = (value: unknown): Values => Object(value) as Values; // of any JSON value
const listOf = (value: unknown) => (Array.isArray(value) ? (value as unknown[]) : []);

/** A pattern is a path or a glob, in any case. An entry with `argPattern` counts as a miss: the strictest reading. */
function isListed(allowlist: readonly unknown[], path: string): boolean {
  return allowlist.some((entry) => {
    const { pattern, argPattern } =
      typeof entry === "string" ? { pattern: entry } : (valuesOf(entry) as { pattern?: unknown; argPattern?: unknown });
    if (typeof pattern !== "string" || argPattern !== undefined) return false;
    if (pattern.trim() === "*") return true;
    if (!/[/\\~]/.test(pattern)) return false;
    const glob = pattern.trim().replace(/^~(?=\/)/, homedir());
    const parts = glob
      .split(/(\*\*|\*|\?)/)
      .map((part) => ({ "**": ".*", "*": "[^/]*", "?": "." })[part] ?? part.replace(/[.+^${}()|[\]\\]/g, "\\$&"));
    return new RegExp(`^${parts.join("")}$`, "i").test(path);
  });
}

/** Spec: protocol/stores.md §7: the agent, then `*`, then the defaults; an unknown word means the defaults. */
function theirs(file: Values, agentId: string, path: string, builtIn: Words): Verdict {
  const agents = valuesOf(file["agents"]);
  const [main, former] = [valuesOf(agents["main"]), valuesOf(agents["default"])];
  const own = agentId === "main" ? merged(main, former) : valuesOf(agents[agentId]);
  const all = valuesOf(agents["*"]);
  const word = (key: keyof Words) => {
    const known = (value: unknown, other: string) =>
      typeof value === "string" && WORDS[key].split(" ").includes(value) ? value : other;
    const usual = known(valuesOf(file["defaults"])[key], builtIn[key]);
    return known(own[key] ?? all[key] ?? usual, usual);
  };
  const isHit = isListed([...listOf(all["allowlist"]), ...listOf(own["allowlist"])], path);
  const [security, ask, fallback] = [word("security"), word("ask"), word("askFallback")];
  if (security === "deny") return "deny";
  if (ask === "always" || (ask === "on-miss" && security === "allowlist" && !isHit))
    return fallback === "full" || (fallback === "allowlist" && isHit) ? "ask/allow" : "ask/deny";
  return security === "full" || isHit ? "allow" : "deny";
}

function merged(main: Values, former: Values): Values {
  const words = Object.keys(WORDS).map((key) => [key, main[key] ?? former[key]]);
  return { ...Object.fromEntries(words), allowlist: [...listOf(main["allowlist"]), ...listOf(former["allowlist"])] };
}

describe("what an imported policy allows", limited, () => {
  const PROGRAMS = [
    "/usr/bin/cat",
    "/usr/bin/echo",
    "/usr/bin/rg",
    "/opt/tools/job",
    `${homedir()}/bin/deploy`,
    "/bin/sh",
  ];
  const patterns = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...PROGRAMS) },
    fc.constantFrom("/usr/bin/*", "/usr/**", "/opt/tools/?ob", "~/bin/*", "/USR/BIN/CAT", "*", "cat", "", "/**"),
  );
  const entry = fc.oneof(
    { weight: 3, arbitrary: fc.record({ pattern: patterns }) },
    patterns,
    fc.record({ pattern: patterns, source: fc.constant("allow-always"), commandText: fc.constant("x") }),
    fc.record({ pattern: patterns, argPattern: fc.constant("^x$") }),
    fc.constant(null),
  );
  const word = (key: keyof Words) =>
    fc.oneof(
      { weight: 5, arbitrary: fc.constantFrom(...WORDS[key].split(" ")) },
      fc.constantFrom("", "FULL", "*", null, true),
    );
  const words = { security: word("security"), ask: word("ask"), askFallback: word("askFallback") };
  const level = fc.record({ ...words, allowlist: fc.array(entry, { maxLength: 4 }) }, { requiredKeys: [] });
  const ids = fc.constantFrom("main", "*", "default", "work");
  const rules = fc.oneof({ weight: 12, arbitrary: level }, fc.constantFrom("full", null));
  const file = fc.record(
    {
      version: fc.constant(1),
      defaults: fc.oneof(
        { weight: 12, arbitrary: fc.record(words, { requiredKeys: [] }) },
        fc.constantFrom("full", null),
      ),
      agents: fc.dictionary(ids, rules),
    },
    { requiredKeys: ["version"] },
  );

  const HERE = { cwd: "/w", rawCommand: null, sessionKey: null };
  const ours = (policy: ExecPolicyFile, agentId: string, argv: string[], path: string): Verdict => {
    const verdict = judgeExec(rulesFor(policy, agentId), { argv, agentId, ...HERE }, path, { root: "/w" });
    return verdict.verdict === "ask" ? `ask/${verdict.fallback}` : verdict.verdict;
  };

  it("was allowed before, for 200 generated policies and commands", async (t) => {
    const RUNS = 200;
    const counted = { allow: 0, "ask/allow": 0, "ask/deny": 0, deny: 0 };
    const agentIds = fc.constantFrom("main", "work", "other");
    const args = fc.constantFrom([], ["x"], ["-c", "id"]);
    const { policy, take, path: stored } = open(t);
    await fc.assert(
      fc.asyncProperty(file, agentIds, fc.constantFrom(...PROGRAMS), args, async (given, agentId, path, rest) => {
        rmSync(stored, { force: true });
        const { action } = await take(JSON.parse(JSON.stringify(given)) as Values);
        assert.ok(["take", "convert", "drop"].includes(action));
        const here = ours(await policy.policy(), agentId, [path, ...rest], path);
        counted[here] += 1;
        for (const builtIn of BUILT_IN) {
          const there = theirs(given, agentId, path, builtIn);
          const context = `${here} here, ${there} there`;
          if (here === "allow") assert.equal(there, "allow", context);
          if (here === "ask/allow") assert.ok(there === "allow" || there === "ask/allow", context);
        }
      }),
      { numRuns: RUNS },
    );
    assert.ok(
      Object.values(counted).every((count) => count > 0),
      JSON.stringify(counted),
    );
  });
});
