/** Effects of session settings on commands: each value in each place, and `exec` with real programs. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { type ExecRules, judgeRun, judgeSession, limitsOf, type RunPlace, sessionLimits } from "@svc/kit/exec";
import { invalidRequest, isGatewayError } from "@svc/sdk";
import type { SessionEntry } from "@svc/sdk/sessions";
import { wordOf } from "../../../plugins/sessions/patching/levels.ts";
import { judged } from "../../../plugins/workspace/exec/judgement.ts";
import { FULL, MAIN, openScene, person } from "./scene.ts";

const posix = { timeout: 20_000, skip: process.platform === "win32" && "there is no /bin/sh" };
const entryOf = (settings: object) => ({ sessionId: "s", updatedAt: 1, ...settings }) as SessionEntry;
const limitsWith = (settings: object) => sessionLimits(MAIN, entryOf(settings)) ?? { sessionKey: MAIN };

const allowlist = [{ pattern: "/usr/bin/rg", anyArguments: true }];
const all: ExecRules = { security: "full", ask: "off", askFallback: "deny", allowlist };
const listed: ExecRules = { ...all, security: "allowlist", ask: "on-miss" };
const plan = (program: string) => ({ argv: [program], cwd: "/w", rawCommand: null, agentId: "main", sessionKey: MAIN });
const HERE: RunPlace = { kind: "gateway", isSandboxed: false };
const SANDBOX: RunPlace = { kind: "gateway", isSandboxed: true };
const N1: RunPlace = { kind: "node", nodeId: "n1" };
const N2: RunPlace = { kind: "node", nodeId: "n2" };

function verdictOf(settings: object, rules: ExecRules, program: string, place: RunPlace) {
  const judge = (narrowed: ExecRules) => judgeRun(narrowed, plan(program), `/usr/bin/${program}`, [], { root: "/w" });
  return judgeSession(limitsWith(settings), rules, place, judge);
}

describe("a setting of a session", () => {
  /** On the list or not, where the policy allows all, and where it has a list and asks for the rest. The same in every place. */
  const commands: [setting: string, value: unknown, all: [string, string], listed: [string, string]][] = [
    ["execSecurity", "deny", ["deny", "deny"], ["deny", "deny"]],
    ["execSecurity", "allowlist", ["allow", "deny"], ["allow", "ask"]],
    ["execSecurity", "full", ["allow", "allow"], ["allow", "allow"]],
    ["execSecurity", "none of the words", ["deny", "deny"], ["deny", "deny"]],
    ["execSecurity", "", ["deny", "deny"], ["deny", "deny"]],
    ["execSecurity", 7, ["deny", "deny"], ["deny", "deny"]],
    ["execAsk", "off", ["allow", "allow"], ["allow", "deny"]],
    ["execAsk", "on-miss", ["allow", "allow"], ["allow", "ask"]],
    ["execAsk", "always", ["ask", "ask"], ["ask", "ask"]],
    ["execAsk", "none of the words", ["ask", "ask"], ["ask", "ask"]],
    ["execAsk", "", ["ask", "ask"], ["ask", "ask"]],
    ["elevatedLevel", "off", ["allow", "allow"], ["allow", "ask"]],
    ["elevatedLevel", "ask", ["ask", "ask"], ["ask", "ask"]],
    // Stored by an earlier version, or brought along: nothing is widened, see the test of `judged`.
    ["elevatedLevel", "on", ["allow", "allow"], ["allow", "ask"]],
    ["elevatedLevel", "full", ["allow", "allow"], ["allow", "ask"]],
    ["elevatedLevel", "none of the words", ["ask", "ask"], ["ask", "ask"]],
  ];
  const places: readonly RunPlace[] = [HERE, SANDBOX, N1];
  for (const [setting, value, byAll, byList] of commands) {
    it(`${setting} ${JSON.stringify(value)}: ${[...byAll, ...byList].join(", ")}`, () => {
      for (const place of places) {
        const of = (rules: ExecRules) =>
          ["rg", "ls"].map((program) => verdictOf({ [setting]: value }, rules, program, place).verdict);
        assert.deepEqual([of(all), of(listed)], [byAll, byList], place.kind);
      }
    });
  }

  const hosts: [setting: string, value: unknown, here: string, sandbox: string, n1: string, n2: string][] = [
    ["execHost", "gateway", "allow", "allow", "deny", "deny"],
    ["execHost", "node", "deny", "deny", "allow", "allow"],
    ["execHost", "sandbox", "deny", "allow", "deny", "deny"],
    ["execHost", "none of the words", "deny", "deny", "deny", "deny"],
    ["execHost", "", "deny", "deny", "deny", "deny"],
    ["execNode", "n1", "allow", "allow", "allow", "deny"],
    ["execNode", "N1", "allow", "allow", "deny", "deny"],
    ["execNode", 7, "allow", "allow", "deny", "deny"],
  ];
  for (const [setting, value, ...expected] of hosts) {
    it(`${setting} ${JSON.stringify(value)}: ${expected.join(", ")}`, () => {
      const found = [HERE, SANDBOX, N1, N2].map((place) => verdictOf({ [setting]: value }, all, "ls", place).verdict);
      assert.deepEqual(found, expected);
    });
  }

  it("is named with the command that changes it, whenever it refuses or requires an approval", () => {
    const rows: [settings: object, place: RunPlace, reason: RegExp, option: RegExp][] = [
      [{ execSecurity: "deny" }, HERE, /^execSecurity of .* is deny$/, /--exec-security allowlist$/],
      [{ execSecurity: "allowlist" }, N1, /^execSecurity .* allowlist, .* not on/, /--exec-security full$/],
      [{ execSecurity: "allowlist", execAsk: "on-miss" }, HERE, /^execAsk .* on-miss$/, /--clear execAsk$/],
      [{ execAsk: "always" }, HERE, /^execAsk of session agent:main:main is always$/, /--clear execAsk$/],
      [{ elevatedLevel: "ask" }, N1, /^elevatedLevel .* is ask$/, /--clear elevatedLevel$/],
      [
        { execHost: "node", execNode: "n1" },
        HERE,
        /^execHost .* is node/,
        /^use the tool nodes .* the node n1; .*gateway$/,
      ],
      [{ execHost: "sandbox" }, HERE, /^execHost .* is sandbox, .* run without one$/, /--exec-host gateway$/],
      [{ execHost: "gateway" }, N1, /^execHost .* is gateway, not node$/, /--exec-host node$/],
      [{ execNode: "n1" }, N2, /^execNode .* is n1, not n2$/, /--exec-node n2$/],
    ];
    for (const [settings, place, reason, option] of rows) {
      const verdict = verdictOf(settings, all, "ls", place);
      assert.ok(verdict.verdict !== "allow", JSON.stringify(settings));
      assert.match(verdict.reason ?? "", reason);
      assert.match(verdict.next ?? "", option);
      assert.match(verdict.next ?? "", /svc sessions patch agent:main:main --/);
    }
  });

  it("is accepted by sessions.patch with each narrowing value, and no other", () => {
    const accepts = (setting: string, value: unknown) => {
      try {
        return wordOf(setting as Parameters<typeof wordOf>[0], String(value)) === value;
      } catch (error) {
        if (!isGatewayError(error)) throw error;
        return false;
      }
    };
    const rows = [...commands, ...hosts].filter(([setting]) => setting !== "execNode");
    const taken = rows.flatMap(([setting, value]) => (accepts(setting, value) ? [`${setting} ${String(value)}`] : []));
    assert.deepEqual(taken, [
      ...["deny", "allowlist", "full"].map((word) => `execSecurity ${word}`),
      ...["off", "on-miss", "always"].map((word) => `execAsk ${word}`),
      ...["off", "ask"].map((word) => `elevatedLevel ${word}`),
      ...["gateway", "node", "sandbox"].map((word) => `execHost ${word}`),
    ]);
  });

  it("never widens what the policy file and the configuration allow, in any combination", () => {
    const securities = ["deny", "allowlist", "full"] as const;
    const asks = ["off", "on-miss", "always"] as const;
    const strictness = ({ verdict, ...more }: ReturnType<typeof judged>) =>
      verdict === "allow" ? 0 : verdict === "deny" ? 3 : "fallback" in more && more.fallback === "allow" ? 1 : 2;
    let count = 0;
    for (const security of securities)
      for (const ask of asks)
        for (const config of [
          {},
          ...securities.map((one) => ({ security: one })),
          ...asks.map((one) => ({ ask: one })),
        ])
          for (const execSecurity of [undefined, ...securities])
            for (const execAsk of [undefined, ...asks])
              for (const elevatedLevel of [undefined, "off", "ask", "on", "full"])
                for (const program of ["rg", "ls"]) {
                  const rules: ExecRules = { security, ask, askFallback: "allowlist", allowlist };
                  const wish = {
                    plan: plan(program),
                    file: `/usr/bin/${program}`,
                    envNames: [],
                    place: { root: "/w" },
                  };
                  const limits = [limitsWith({ execSecurity, execAsk, elevatedLevel })];
                  const without = judged(rules, config, wish);
                  const narrowed = judged(rules, config, wish, { limits, isSandboxed: false });
                  const cell = JSON.stringify({ security, ask, config, execSecurity, execAsk, elevatedLevel, program });
                  assert.ok(strictness(narrowed) >= strictness(without), cell);
                  count++;
                }
    assert.equal(count, 9 * 7 * 4 * 4 * 5 * 2);
  });

  it("of a session applies to sessions it started", async () => {
    const entries: Record<string, object> = {
      child: { spawnedBy: "Parent", execAsk: "always" },
      parent: { spawnedBy: "agent:", execSecurity: "deny" },
      a: { spawnedBy: "b", execHost: "node" },
      b: { spawnedBy: "a", execNode: "n" },
    };
    const sessions = {
      canonicalKey: (key: string) => (key === "agent:" ? invalidRequest("malformed") : key.toLowerCase()),
      get: async (key: string) => (entries[key] ? entryOf(entries[key]) : undefined),
    };
    const found = async (key: string) => (await limitsOf(sessions, key)).map(({ sessionKey }) => sessionKey);
    assert.deepEqual(await found("Child"), ["child", "parent"]);
    assert.deepEqual(await found("a"), ["a", "b"], "a circle ends");
    assert.deepEqual(await found("nobody"), []);
  });
});

describe("exec in a session with settings", posix, () => {
  const touch = { command: "touch ran; true" };
  const ran = (root: string) => existsSync(join(root, "ran"));
  const always = { [MAIN]: { execAsk: "always" } };

  const refused: [settings: object, message: RegExp][] = [
    [
      { execSecurity: "deny" },
      /did not run: execSecurity of session agent:main:main is deny\. Next: .* --exec-security/,
    ],
    [{ execHost: "node" }, /execHost .* is node, .* Next: use the tool nodes .* --exec-host gateway/],
    [{ execAsk: "always" }, /no plugin that asks people is running \(execAsk of session agent:main:main is always\)/],
  ];
  for (const [settings, message] of refused) {
    it(`refuses by ${JSON.stringify(settings)}, and only there`, async (t) => {
      const { root, use } = await openScene(t, { policy: FULL, sessions: { [MAIN]: settings } });
      await assert.rejects(use("exec", touch), { code: "FORBIDDEN", message });
      await assert.rejects(use("exec", { ...touch, background: true }), { code: "FORBIDDEN" });
      assert.equal(ran(root), false);
      await use("exec", touch, { sessionKey: "agent:main:else" });
      assert.equal(ran(root), true);
    });
  }

  it("refuses a sub-agent of it", async (t) => {
    const sessions = { [MAIN]: { execSecurity: "deny" }, "agent:main:subagent:1": { spawnedBy: MAIN } };
    const scene = await openScene(t, { policy: FULL, sessions });
    const sub = { sessionKey: "agent:main:subagent:1" };
    await assert.rejects(scene.use("exec", touch, sub), { message: /execSecurity of session agent:main:main is deny/ });
    assert.equal(ran(scene.root), false);
  });

  it("runs a program of the list by itself, as with any list", async (t) => {
    const allowlist = [{ pattern: "/usr/bin/head" }, { pattern: "/usr/bin/true" }, { pattern: "/bin/true" }];
    const policy = { ...FULL, agents: { main: { allowlist } } };
    const scene = await openScene(t, { policy, sessions: { [MAIN]: { execSecurity: "allowlist" } } });
    await scene.use("write", { path: "note", content: "one\n" });
    assert.match(await scene.say("exec", { command: "head -n 1 note" }), /^one\n\[exit code 0/);
    await assert.rejects(scene.use("exec", { command: "head -n 1 note; touch ran" }), { code: "FORBIDDEN" });
    assert.equal(ran(scene.root), false);
  });

  it("asks people, and runs what they allow", async (t) => {
    const { ask, questions } = person();
    const scene = await openScene(t, { policy: FULL, ask, sessions: always });
    await scene.use("exec", touch);
    assert.deepEqual([questions.map(({ title }) => title), ran(scene.root)], [[touch.command], true]);
    const other = await openScene(t, { policy: FULL, ask: person(null).ask, sessions: always });
    await assert.rejects(other.use("exec", touch), { message: /nobody approved it \(execAsk of session/ });
    assert.equal(ran(other.root), false);
  });

  it("runs in a sandbox where the agent has one", async (t) => {
    const sessions = { [MAIN]: { execHost: "sandbox" }, "agent:other:main": { execHost: "sandbox" } };
    const scene = await openScene(t, { policy: FULL, sessions, sandboxed: (agentId) => agentId === "main" });
    await scene.use("exec", touch);
    assert.equal(ran(scene.root), true);
    await assert.rejects(scene.use("exec", touch, { agentId: "other" }), { message: /execHost .* sandbox/ });
  });

  it("checks the settings again after people have answered", async (t) => {
    const { ask, questions, hands } = person();
    const scene = await openScene(t, { policy: FULL, ask, sessions: always });
    hands.meanwhile = () => (scene.state.sessions = { [MAIN]: { execSecurity: "deny" } });
    await assert.rejects(scene.use("exec", touch), { code: "FORBIDDEN", message: /execSecurity .* is deny/ });
    assert.deepEqual([questions.length, ran(scene.root)], [1, false]);
  });

  it("runs nothing while the settings cannot be read", async (t) => {
    const scene = await openScene(t, { policy: FULL });
    scene.state.keepsSessions = false;
    await assert.rejects(scene.use("exec", touch), {
      code: "UNAVAILABLE",
      message: /no running plugin provides sessions/,
    });
    assert.equal(ran(scene.root), false);
  });
});
