/** Commands against an allowlist that names their program by its path alone, with nobody to be asked. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type ExecRules, judgeExec } from "@svc/kit/exec";
import { EVERYDAY, EXECUTIONS, NAMED_ATTACKS, READS_AND_WRITES } from "./attacks.ts";

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

describe("a program on the allowlist by its path alone", () => {
  for (const [what, commands] of Object.entries({ NAMED_ATTACKS, EXECUTIONS, READS_AND_WRITES })) {
    for (const command of commands) {
      it(`is a miss (${what}): ${command}`, () => {
        assert.equal(judge(command).verdict, "deny");
        assert.equal(judge(command, { pattern: "/**" }).verdict, "deny");
        assert.deepEqual(judge(command, { ask: "on-miss" }), { verdict: "ask", fallback: "deny" });
        assert.equal(judge(command, { path: "/bin/busybox" }).verdict, "deny");
        assert.equal(judge(command, { path: "/usr/bin/coreutils" }).verdict, "deny");
      });
    }
  }

  for (const command of EVERYDAY) {
    it(`passes: ${command}`, () => {
      assert.deepEqual(judge(command), { verdict: "allow", pattern: `/usr/bin/${command.split(" ")[0]}` });
      assert.equal(judge(command, { pattern: "/usr/bin/*" }).verdict, "allow");
      assert.equal(judge(command, { path: "/bin/busybox" }).verdict, "allow");
    });

    it(`is a miss where the program is none of the system: ${command}`, () => {
      const name = command.split(" ")[0] ?? "";
      for (const directory of ["/w", "/w/bin", "/home/ada/bin", "/tmp", "/usr/bin/x", "/usr/share"]) {
        assert.equal(judge(command, { path: `${directory}/${name}` }).verdict, "deny", directory);
        assert.equal(judge(command, { path: `${directory}/busybox` }).verdict, "deny", directory);
      }
      assert.equal(judge(command, { path: "/usr/bin/other" }).verdict, "deny");
    });
  }
});
