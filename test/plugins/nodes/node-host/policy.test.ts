/** The policy file of the machine decides what runs on a node, whatever the gateway sends. */
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fakeGateway } from "./fake-gateway.ts";
import { startNode } from "./node.ts";
import { ASK, FULL, listed, refusal, scene, told } from "./scene.ts";

describe("the policy of the machine", () => {
  it("denies every command without a policy file", async (t) => {
    const gateway = await fakeGateway(t);
    startNode(t, gateway.url, { env: { PATH: process.env["PATH"] ?? "" } });
    await gateway.connected();
    const answer = await gateway.invoke("system.run", { command: ["true"], approved: true });
    assert.match(refusal(answer), /^SYSTEM_RUN_DENIED /);
    assert.deepEqual(told(gateway), ["exec.denied"]);
  });

  it("denies a command whatever approval is sent", async (t) => {
    const deny = { version: 1, defaults: { security: "deny" } };
    const { run, stateDir } = await scene(t, deny);
    for (const approvalDecision of ["allow-once", "allow-always"]) {
      const said = refusal(await run({ command: ["touch", "x"], approved: true, approvalDecision }));
      assert.match(said, /^SYSTEM_RUN_DENIED /);
    }
    assert.throws(() => readFileSync(join(stateDir, "x")));
    assert.deepEqual(JSON.parse(readFileSync(join(stateDir, "exec-approvals.json"), "utf8")), deny);
  });

  it("asks, and runs only what is approved", async (t) => {
    const { run, gateway } = await scene(t, ASK);
    const command = ["printf", "ran"];
    assert.equal(refusal(await run({ command })), "SYSTEM_RUN_DENIED approval required");
    assert.match(refusal(await run({ command, approvalDecision: "allow-once" })), /approval required$/);
    const { payload } = await run({ command, approved: true, approvalDecision: "allow-once" });
    assert.equal(payload["stdout"], "ran");
    assert.match(refusal(await run({ command })), /approval required/);
    assert.deepEqual(told(gateway), ["exec.denied", "exec.denied", "exec.started", "exec.finished", "exec.denied"]);
    assert.equal(gateway.events[0]?.payload["reason"], "approval required");
  });

  it("adds exactly the command of allow-always to the agent's allowlist, and asks about all others", async (t) => {
    const { run, program, stateDir, at } = await scene(t, ASK);
    const path = realpathSync("/usr/bin/basename");
    mkdirSync(join(stateDir, "sub"));
    const params = { command: ["basename", "1"], agentId: "ops" };
    await run({ ...params, approved: true, approvalDecision: "allow-always" });
    assert.equal((await run(params)).payload["stdout"], "1\n");
    program("tool", "echo $1");
    for (const other of [
      { command: ["basename", "2"] },
      { command: ["basename"] },
      { command: ["tool", "1"] },
      { agentId: "main" },
      { cwd: join(at, "sub") },
    ]) {
      assert.match(refusal(await run({ ...params, ...other })), /approval required/, JSON.stringify(other));
    }
    const { agents } = JSON.parse(readFileSync(join(stateDir, "exec-approvals.json"), "utf8"));
    const [{ id, ...entry }] = agents.ops.allowlist;
    assert.match(id, /^[0-9a-f-]{36}$/);
    assert.deepEqual([agents.ops.allowlist.length, entry], [1, { pattern: path, args: ["1"], cwd: at }]);
  });

  it("lets a program of the system do what its profile lists, in the directory of the node", async (t) => {
    const { run, program, stateDir, at } = await scene(t, ASK);
    const allowlist = [{ pattern: "/**" }];
    const policy = { version: 1, agents: { main: { security: "allowlist", ask: "off", allowlist } } };
    writeFileSync(join(stateDir, "exec-approvals.json"), JSON.stringify(policy), { mode: 0o600 });
    writeFileSync(join(stateDir, "note"), "text\n");
    program("tool", "true");
    mkdirSync(join(stateDir, "sub"));
    symlinkSync("/etc/passwd", join(stateDir, "link"));
    for (const line of ["cat note", `cat ${join(at, "note")}`])
      assert.equal((await run({ command: line.split(" ") })).payload["exitCode"], 0, line);
    assert.equal((await run({ command: ["cat", "../note"], cwd: join(at, "sub") })).payload["stdout"], "text\n");
    for (const line of ["cat /etc/passwd", "cat link", "tool", "sh -c true"])
      assert.match(refusal(await run({ command: line.split(" ") })), /^SYSTEM_RUN_DENIED .*allowlist/, line);
  });

  it("adds two programs that are allowed concurrently", async (t) => {
    const { run, stateDir } = await scene(t, ASK);
    const names = ["basename", "dirname", "expr", "printf"];
    const paths = names.map((name) => realpathSync(`/usr/bin/${name}`));
    await Promise.all(
      names.map((name) => run({ command: [name, "x"], approved: true, approvalDecision: "allow-always" })),
    );
    const { agents } = JSON.parse(readFileSync(join(stateDir, "exec-approvals.json"), "utf8"));
    assert.deepEqual(agents.main.allowlist.map(({ pattern }: { pattern: string }) => pattern).sort(), paths);
  });

  it("judges the target of a link, not its name, and asks when a variable may change what a program does", async (t) => {
    const { run, bin } = await scene(t, listed(realpathSync("/usr/bin/basename"), realpathSync("/usr/bin/printenv")));
    symlinkSync("/usr/bin/basename", join(bin, "alias"));
    assert.equal((await run({ command: ["alias", "a/good"] })).payload["stdout"], "good\n");
    rmSync(join(bin, "alias"));
    symlinkSync("/usr/bin/printf", join(bin, "alias"));
    assert.match(refusal(await run({ command: ["alias", "evil"] })), /approval required/);

    const path = realpathSync("/usr/bin/printenv");
    const print = (env: object, more: object = {}) => run({ command: [path, ...Object.keys(env)], env, ...more });
    assert.equal((await print({ LANG: "C" })).payload["stdout"], "C\n");
    assert.match(refusal(await print({ MODE: "x" })), /approval required/);
    assert.equal((await print({ MODE: "x" }, { approved: true })).payload["stdout"], "x\n");
  });

  it("is read and replaced by the gateway, by its hash", async (t) => {
    const { gateway } = await scene(t, ASK);
    const { payload: before } = await gateway.invoke("system.execApprovals.get", {});
    const set = (baseHash: unknown) => gateway.invoke("system.execApprovals.set", { file: FULL, baseHash });
    assert.match(refusal(await set("0".repeat(64))), /^INVALID_REQUEST /);
    assert.equal((await set(before["hash"])).ok, true);
    assert.match(refusal(await set(before["hash"])), /^INVALID_REQUEST /);
    const { payload } = await gateway.invoke("system.run", { command: ["printf", "now"] });
    assert.equal(payload["stdout"], "now");
  });
});
