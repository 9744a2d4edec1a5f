/** What may run, how it is found and shown, and what it gets: without a process. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ExecRules } from "@svc/kit/exec";
import type { SystemRunPlan } from "@svc/sdk/approvals";
import type { Command } from "../../../plugins/workspace/exec/command.ts";
import { addedVariables, commandEnvironment } from "../../../plugins/workspace/exec/environment.ts";
import { judged, nextStep, type Wish } from "../../../plugins/workspace/exec/judgement.ts";
import { questionTitle } from "../../../plugins/workspace/exec/permission.ts";
import { plainWords } from "../../../plugins/workspace/exec/words.ts";
import { nameWithin } from "../../../plugins/workspace/place.ts";
import { endText, withNote } from "../../../plugins/workspace/process/report.ts";

describe("words of a command", () => {
  const cases: [command: string, words: string[]][] = [
    ["git status -s", ["git", "status", "-s"]],
    ["  ls\t-la  ", ["ls", "-la"]],
    [`grep 'a b' "c d" e'f'"g"`, ["grep", "a b", "c d", "efg"]],
    ["printf ''", ["printf", ""]],
    ["./run.sh a=b", ["./run.sh", "a=b"]],
    ["grep '$HOME `x` $(y)' f", ["grep", "$HOME `x` $(y)", "f"]],
  ];
  /** Between commas. */
  const forShell = `ls; rm x, ls && rm x, ls | sh, ls & rm x, ls > f, cat < f, (ls), ! ls, ls # x, A=b ls, 'A=b' c, '',
    ls *, ls a?, ls [a], ls ~, echo $HOME, echo \`x\`, echo $(x), echo "$HOME", echo "\`x\`", echo "a\\b", echo a\\ b,
    echo 'a, echo "a, ls ä`;
  const shells = [...forShell.split(/,\s+/), "", "   ", "ls {a,b}", "ls\nrm x", "ls\rrm", "echo 'a\0b'", "ls\u00a0rm"];
  for (const [command, words] of [...cases, ...shells.map((command) => [command, undefined] as const)]) {
    it(`${JSON.stringify(command)}: ${words ? JSON.stringify(words) : "it takes a shell"}`, () =>
      assert.deepEqual(plainWords(command), words));
  }
});

describe("what may run", () => {
  const rules = (
    security: ExecRules["security"],
    ask: ExecRules["ask"],
    askFallback: ExecRules["askFallback"] = "deny",
  ) => ({ security, ask, askFallback, allowlist: [{ pattern: "/usr/bin/rg" }] });
  const plan = (...argv: string[]): SystemRunPlan => ({
    argv,
    cwd: "/w",
    rawCommand: null,
    agentId: "main",
    sessionKey: "s",
  });
  const place = { root: "/w", isWorkspace: true };
  const listed = { plan: plan("rg", "x"), file: "/usr/bin/rg", envNames: [], place };
  const elsewhere = { ...listed, plan: plan("rg", "x", "/etc") };
  const other = { plan: plan("ls"), file: "/usr/bin/ls", envNames: [], place };
  const shell = { plan: plan("sh", "-c", "rg x"), file: "/bin/sh", envNames: [], place };
  const configured = { ...listed, envNames: ["RIPGREP_CONFIG_PATH"] };
  type Limits = Parameters<typeof judged>[1];
  const cases: [what: string, file: ExecRules, limits: Limits, wish: Wish, verdict: string][] = [
    ["the file denies", rules("deny", "off"), { security: "full", ask: "off" }, listed, "deny by file"],
    ["the configuration denies", rules("full", "off"), { security: "deny" }, shell, "deny by config"],
    ["the configuration has only the list", rules("full", "off"), { security: "allowlist" }, other, "deny by config"],
    ["it is on the list", rules("full", "off"), { security: "allowlist" }, listed, "allow"],
    ["its arguments leave the workspace", rules("allowlist", "off"), {}, elsewhere, "deny by file"],
    ["the file asks for what is not on it", rules("allowlist", "on-miss"), {}, shell, "ask, else deny"],
    ["nobody is to be asked", rules("allowlist", "on-miss"), { ask: "off" }, shell, "deny by config"],
    ["the configuration asks each time", rules("full", "off"), { ask: "always" }, shell, "ask, else deny"],
    ["the file asks each time", rules("full", "always"), { ask: "off" }, shell, "ask, else deny"],
    ["silence is a yes on the list", rules("allowlist", "always", "allowlist"), {}, listed, "ask, else allow"],
    ["a variable makes another program of it", rules("allowlist", "off"), {}, configured, "deny by file"],
    ["a harmless variable does not", rules("allowlist", "off"), {}, { ...listed, envNames: ["LANG"] }, "allow"],
  ];
  for (const [what, file, limits, wish, expected] of cases) {
    it(`${what}: ${expected}`, () => {
      const verdict = judged(file, limits, wish);
      const by = verdict.verdict === "deny" ? ` by ${verdict.by}` : "";
      const fallback = verdict.verdict === "ask" ? `, else ${verdict.fallback}` : "";
      assert.equal(`${verdict.verdict}${by}${fallback}`, expected);
    });
  }

  it("says what an operator can do", () => {
    assert.match(
      nextStep("file", rules("deny", "off"), "ops"),
      /svc approvals security allowlist --ask on-miss --agent ops/,
    );
    assert.match(nextStep("file", rules("allowlist", "off"), "ops"), /svc approvals allowlist add .* --agent ops/);
    assert.match(nextStep("config", rules("full", "off"), "ops"), /tools\.exec/);
  });
});

describe("what people read", () => {
  const title = (text: string, directory = "", env: Record<string, string> = {}) =>
    questionTitle({ command: { text, directory } as Command, env });
  it("is the command, and before it what is not usual; never a value", () => {
    assert.equal(title("ls -l"), "ls -l");
    assert.equal(title("ls", "a b"), '[in "a b"] ls');
    assert.equal(title("ls", "", { B: "secret", A: "secret" }), "[in the workspace, with A, B] ls");
    assert.equal(title("[in the workspace] ls"), "[in the workspace] [in the workspace] ls");
  });
});

describe("what a command gets", () => {
  it("is a few variables of the gateway, and what the call adds", () => {
    const kept = { HOME: "/h", LC_ALL: "C" };
    const own = { ...kept, PATH: "/bin::.:bin:/usr/bin", SVC_GATEWAY_TOKEN: "s", AWS_SECRET: "s", X: undefined };
    const given = commandEnvironment({ own, pathPrepend: ["/opt/a"] }, { A: "1" });
    assert.deepEqual(given, { ...kept, TERM: "dumb", PATH: "/opt/a:/bin:/usr/bin", A: "1" });
    assert.equal(commandEnvironment({ own: {}, pathPrepend: [] }, {})["PATH"], "/usr/local/bin:/usr/bin:/bin");
  });

  const refused: [what: string, env: Record<string, string>, message: RegExp][] = [
    ["what loads code", { LD_PRELOAD: "canary" }, /^env: LD_PRELOAD may not be set/],
    ["what loads code, in small letters", { node_options: "canary" }, /node_options may not be set/],
    ["another PATH", { PATH: "canary" }, /PATH may not be set/],
    ["what is no name", { "A B": "canary" }, /"A B" is not a valid name/],
    ["NUL", { A: "canary\0" }, /value of A contains a NUL/],
    ["too much", { A: "canary".repeat(6_000) }, /value of A is longer than 32768/],
    ["too many", Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`A${n}`, "canary"])), /more than 100/],
  ];
  for (const [what, env, message] of refused) {
    it(`is never ${what}, and a refusal shows no value`, () =>
      assert.throws(
        () => addedVariables(env),
        (error: Error) => message.test(error.message) && !error.message.includes("canary"),
      ));
  }
});

describe("how a command ended", () => {
  it("is told below its output", () => {
    const outcome = { exitCode: 3, signal: null, timedOut: false };
    assert.equal(withNote("a\n\n", endText(outcome, 1_234)), "a\n[exit code 3 after 1.2 s]");
    const killed = { exitCode: null, signal: "SIGTERM", timedOut: true, error: "ended by SIGTERM: late" } as const;
    assert.equal(withNote("\n", endText(killed, 20)), "[ended by SIGTERM: late after 0.0 s; no output]");
  });
});

describe("a path as an agent writes it", () => {
  const place = { workspace: "/link/w", root: "/real/w", closed: ["/real/w/state", "/real/w/Agent-Two"] };
  const cases: [given: string, name: string | RegExp][] = [
    ["a/b.txt", "a/b.txt"],
    ["./a", "a"],
    ["././/a", "a"],
    [".", ""],
    ["/link/w/a/b", "a/b"],
    ["/real/w/a", "a"],
    ["/real/w", ""],
    ["...", "..."],
    ["stateful/x", "stateful/x"],
    ["", /empty/],
    ["~/a", /~ has no meaning/],
    ["~root/a", /~ has no meaning/],
    ["/etc/passwd", /outside the workspace/],
    ["/real/wide", /outside the workspace/],
    ["/", /outside the workspace/],
    ["state", /belongs to the gateway/],
    ["state/credentials/token", /belongs to the gateway/],
    ["./state/x", /belongs to the gateway/],
    ["STATE/x", /belongs to the gateway/],
    ["/link/w/state/x", /belongs to the gateway/],
    ["a/../state/x", /belongs to the gateway/],
    ["agent-two/MEMORY.md", /belongs to the gateway or to another agent/],
  ];
  for (const [given, name] of cases) {
    it(`${JSON.stringify(given)}: ${typeof name === "string" ? JSON.stringify(name) : "refused"}`, () => {
      if (typeof name === "string") assert.equal(nameWithin(given, place), name);
      else assert.throws(() => nameWithin(given, place), { code: "INVALID_REQUEST", message: name });
    });
  }
});
