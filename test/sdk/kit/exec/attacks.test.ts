/** Commands against an allowlist that names their program by its path alone, with nobody to be asked. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type ExecRules, judgeExec } from "@svc/kit/exec";
import { EVERYDAY, EXECUTIONS, READS_AND_WRITES, WITHOUT_PROFILE } from "./attacks.ts";

const rules = (pattern: string, ask: ExecRules["ask"] = "off"): ExecRules => ({
  security: "allowlist",
  ask,
  askFallback: "allowlist",
  allowlist: [{ pattern }],
});

/** @param command words with blanks between them; a no-break space is a blank in a word */
function judge(command: string, over: { pattern?: string; path?: string; ask?: ExecRules["ask"] } = {}) {
  const argv = command.split(" ").map((word) => word.replaceAll("\u00a0", " "));
  const path = over.path ?? `/usr/bin/${argv[0]}`;
  const plan = { argv, cwd: "/w", rawCommand: null, agentId: null, sessionKey: null };
  return judgeExec(rules(over.pattern ?? path, over.ask), plan, path, { root: "/w", isWorkspace: true });
}

function assertMiss(command: string) {
  assert.equal(judge(command).verdict, "deny", command);
  assert.equal(judge(command, { pattern: "/**" }).verdict, "deny", command);
  assert.deepEqual(judge(command, { ask: "on-miss" }), { verdict: "ask", fallback: "deny" }, command);
  for (const path of ["/bin/busybox", "/usr/bin/coreutils"])
    assert.equal(judge(command, { path }).verdict, "deny", `${command} (${path})`);
}

describe("a program on the allowlist by its path alone", () => {
  for (const [what, commands] of Object.entries({ EXECUTIONS, READS_AND_WRITES }))
    for (const command of commands) it(`is a miss (${what}): ${command}`, () => assertMiss(command));

  it("is a miss without a profile, also where it is only asked for help", () => {
    for (const name of WITHOUT_PROFILE) for (const words of ["", " a", " --help"]) assertMiss(name + words);
  });

  for (const command of EVERYDAY) {
    it(`passes only as a program of the system: ${command}`, () => {
      const [name = ""] = command.split(" ");
      assert.deepEqual(judge(command), { verdict: "allow", pattern: `/usr/bin/${name}` });
      assert.equal(judge(command, { pattern: "/usr/bin/*" }).verdict, "allow");
      assert.equal(judge(command, { path: "/bin/busybox" }).verdict, "allow");
      for (const directory of ["/w", "/w/bin", "/home/ada/bin", "/tmp", "/usr/bin/x", "/usr/share"])
        for (const file of [name, "busybox"])
          assert.equal(judge(command, { path: `${directory}/${file}` }).verdict, "deny", `${directory}/${file}`);
      assert.equal(judge(command, { path: "/usr/bin/other" }).verdict, "deny");
    });
  }
});
