/** An approval covers the bytes that were prepared: the node compares them again before it runs them. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { ASK, listed, OFF, refusal, scene } from "./scene.ts";

const ALLOWED = { approved: true, approvalDecision: "allow-once" };
const sha256 = (path: string) => createHash("sha256").update(readFileSync(path)).digest("hex");

describe("an approved command on a node", { timeout: 120_000 }, () => {
  const ways: [what: string, command: string[]][] = [
    ["a program", ["tool", "1"]],
    ["a script of a shell", ["sh", "bin/tool", "1"]],
    ["a script in a text", ["sh", "-c", "bin/tool 1"]],
    ["a file it reads", ["cat", "bin/tool"]],
  ];
  for (const [what, command] of ways) {
    it(`is not run when ${what} changed since it was prepared`, async (t) => {
      const { run, gateway, program, stateDir } = await scene(t, ASK);
      const path = program("tool", "echo one");
      const { payload: prepared } = await gateway.invoke("system.run.prepare", { command });
      const files = prepared["files"] as object[];
      const runs = what === "a program" || what === "a script of a shell" ? { runs: true } : {};
      assert.deepEqual(files, [{ path, sha256: sha256(path), bytes: readFileSync(path).length, ...runs }]);
      assert.equal((await run({ command, ...ALLOWED })).payload["exitCode"], 0);
      program("tool", "touch ran");
      const changed =
        /^SYSTEM_RUN_DENIED .*changed since the command was judged; call system.run.prepare, and request a new approval$/;
      assert.match(refusal(await run({ command, ...ALLOWED })), changed);
      assert.match(refusal(await run({ command, ...ALLOWED, approvalDecision: "allow-always", files })), changed);
      // Another client prepares it again: the files named by the approval count.
      await gateway.invoke("system.run.prepare", { command });
      assert.match(refusal(await run({ command, ...ALLOWED, files })), changed);
      assert.throws(() => readFileSync(join(stateDir, "ran")));
    });
  }

  it("is not run when its files were not shown, were removed, or did not exist when people were asked", async (t) => {
    const { run, gateway, program } = await scene(t, ASK);
    const path = program("tool", "echo one");
    const command = ["sh", path];
    assert.match(refusal(await run({ command, ...ALLOWED })), /were not shown to people; call system.run.prepare/);
    await gateway.invoke("system.run.prepare", { command });
    rmSync(path);
    assert.match(refusal(await run({ command, ...ALLOWED })), /was removed/);

    const later = ["sh", "-c", "bin/later || true"];
    const { payload } = await gateway.invoke("system.run.prepare", { command: later });
    assert.deepEqual(payload["files"], []);
    program("later", "touch ran");
    await gateway.invoke("system.run.prepare", { command: later });
    assert.match(refusal(await run({ command: later, ...ALLOWED, files: [] })), /later" did not exist/);
  });

  it("never adds a program to the allowlist that agents can write or that runs other programs", async (t) => {
    const { run, gateway, program, stateDir } = await scene(t, ASK);
    program("tool", "echo one");
    for (const line of ["tool", "sh bin/tool", "sh -c true", "env true", "node -e 1"]) {
      const command = line.split(" ");
      await gateway.invoke("system.run.prepare", { command });
      const { payload } = await run({ command, ...ALLOWED, approvalDecision: "allow-always" });
      assert.equal(payload["exitCode"], 0, line);
    }
    assert.deepEqual(JSON.parse(readFileSync(join(stateDir, "exec-approvals.json"), "utf8")), ASK);
  });

  it("cannot be prepared when its files are too many to be bound", async (t) => {
    const { gateway, at } = await scene(t, ASK);
    const names = Array.from({ length: 70 }, (_, index) => `f${index}`);
    for (const name of names) writeFileSync(join(at, name), "");
    const said = refusal(await gateway.invoke("system.run.prepare", { command: ["cat", ...names] }));
    assert.match(said, /^INVALID_REQUEST at \/command: it names more than 64 files/);
  });
});

describe("the allowlist of a node", { timeout: 120_000 }, () => {
  for (const command of [["tool"], ["sh", "bin/tool"]]) {
    it(`holds for ${command.join(" ")} only with the hash of what agents can write`, async (t) => {
      const { run, program, stateDir } = await scene(t, OFF);
      const path = program("tool", "echo one");
      const [, ...args] = command;
      const how = args.length === 0 ? { pattern: path, anyArguments: true } : { pattern: "/usr/bin/**", args };
      const write = (entry: object) => {
        const policy = { ...listed(), ...OFF, agents: { main: { allowlist: [{ ...how, ...entry }] } } };
        writeFileSync(join(stateDir, "exec-approvals.json"), JSON.stringify(policy));
      };
      write({});
      assert.match(refusal(await run({ command })), /SYSTEM_RUN_DENIED .*allowlist/);
      write({ sha256: sha256(path) });
      assert.equal((await run({ command })).payload["stdout"], "one\n");
      program("tool", "echo two");
      assert.match(refusal(await run({ command })), /SYSTEM_RUN_DENIED .*allowlist/);
    });
  }
});
