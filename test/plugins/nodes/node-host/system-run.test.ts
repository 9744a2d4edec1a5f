/** Commands that a node executes, over a socket: programs, their environment, and early refusals. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fakeGateway } from "./fake-gateway.ts";
import { nodeState, startNode } from "./node.ts";
import { FULL, refusal, scene, told } from "./scene.ts";

/** Whether the process is still running and not a zombie. */
function isRunning(pid: number): boolean {
  const { stdout } = spawnSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" });
  return /^[^Z\s]/.test(stdout);
}

describe("system.run", () => {
  it("runs a program without a shell and returns its exit code and output, of much output the beginning and the end", async (t) => {
    const { gateway, run, program } = await scene(t);
    const place = { sessionKey: "agent:main:main", runId: "r1" };
    const { payload } = await run({ command: ["printf", "%s|", "a b", "$HOME", ";id"], ...place });
    assert.deepEqual(payload, {
      exitCode: 0,
      timedOut: false,
      stdout: "a b|$HOME|;id|",
      stderr: "",
      truncated: false,
      success: true,
      error: null,
    });
    const about = { ...place, host: "node", command: "printf '%s|' 'a b' '$HOME' ';id'" };
    const end = { exitCode: 0, timedOut: false, success: true, output: "a b|$HOME|;id|" };
    assert.deepEqual(gateway.events, [
      { event: "exec.started", payload: about },
      { event: "exec.finished", payload: { ...about, ...end } },
    ]);

    program("fails", "echo out; echo err >&2; exit 7");
    const { exitCode, success, stdout, stderr } = (await run({ command: ["fails"] })).payload;
    assert.deepEqual([exitCode, success, stdout, stderr], [7, false, "out\n", "err\n"]);
    const script = "process.stdout.write('<' + 'ä'.repeat(900000) + '>')";
    const { payload: much } = await run({ command: ["node", "-e", script] });
    const text = String(much["stdout"]);
    assert.ok(text.length <= 200_000 && text.length > 199_000, String(text.length));
    assert.match(text, /^<ä+\n\[\.\.\. \d+ characters omitted \.\.\.\]\nä+>$/);
    assert.equal(much["truncated"], true);
  });

  it("ends a program with its children at its timeout, and returns when it exits although a child still holds its output", async (t) => {
    const { run, program, stateDir } = await scene(t);
    program("sleeps", `sleep 600 & echo $! > ${stateDir}/pid; wait`);
    let payload: Record<string, unknown> = {};
    // A slow machine may need longer until the program has started its child.
    for (let timeoutMs = 500; !existsSync(join(stateDir, "pid")); timeoutMs *= 4)
      ({ payload } = await run({ command: ["sleeps"], timeoutMs }));
    assert.deepEqual([payload["timedOut"], payload["success"], payload["exitCode"]], [true, false, null]);
    assert.match(String(payload["error"]), /exceeded its time limit/);
    const pid = Number(readFileSync(join(stateDir, "pid"), "utf8"));
    assert.equal(isRunning(pid), false, "what it started is gone");

    program("leaves", `sleep 600 & echo $! > ${stateDir}/pid; echo done`);
    const { payload: left } = await run({ command: ["leaves"] });
    process.kill(Number(readFileSync(join(stateDir, "pid"), "utf8")), "SIGKILL");
    assert.deepEqual([left["exitCode"], left["stdout"]], [0, "done\n"]);
  });

  it("ends running programs when the node is stopped, and still sends their results", async (t) => {
    const { gateway, node } = await scene(t);
    const id = gateway.ask("system.run", { command: ["sleep", "600"] });
    await node.until("note", (state) => state.state === "note" && state.text.startsWith("running:"));
    assert.equal(await node.stop(), 0);
    const { ok, payloadJSON } = await gateway.answer(id);
    assert.equal(ok, true);
    assert.match(String(payloadJSON), /"error":"ended by SIGTERM: the node is being stopped"/);
  });

  it("reports a run whose connection was lost meanwhile", async (t) => {
    const { gateway, node, program, stateDir } = await scene(t);
    program("waits", `until [ -e ${stateDir}/go ]; do sleep 0.05; done; echo went`);
    gateway.ask("system.run", { command: ["waits"], runId: "r1" });
    await node.until("note", (state) => state.state === "note" && state.text === "running: waits");
    gateway.drop();
    await node.until("reconnecting");
    writeFileSync(join(stateDir, "go"), "");
    await gateway.reported("exec.finished");
    assert.deepEqual(told(gateway), ["exec.started", "exec.finished"]);
    assert.deepEqual([gateway.events[1]?.payload["runId"], gateway.events[1]?.payload["output"]], ["r1", "went\n"]);
    assert.deepEqual(gateway.answers, [], "nobody waits for the answer");
  });

  it("prints reports that could not be delivered", async (t) => {
    const { gateway, node, program } = await scene(t);
    program("waits", "sleep 600");
    gateway.ask("system.run", { command: ["waits"] });
    await gateway.reported("exec.started");
    gateway.drop();
    await node.until("reconnecting");
    assert.equal(await node.stop(), 0);
    const notes = node.states.flatMap((state) => (state.state === "note" ? [state.text] : []));
    assert.ok(notes.includes("exec.finished was not delivered: there is no connection"), notes.join("\n"));
    assert.ok(notes.some((text) => text.startsWith("an answer was not delivered")));
  });

  it("executes a repeated invocation once", async (t) => {
    const { gateway, stateDir, program } = await scene(t);
    program("counts", `echo run >> ${stateDir}/runs`);
    const paramsJSON = JSON.stringify({ command: ["counts"] });
    const payload = { id: "same", nodeId: gateway.nodeId(), command: "system.run", paramsJSON };
    for (let times = 0; times < 2; times++) gateway.send({ type: "event", event: "node.invoke.request", payload });
    await gateway.answer("same");
    await gateway.invoke("system.which", { bins: [] });
    assert.equal(gateway.answers.length, 2);
    assert.equal(readFileSync(join(stateDir, "runs"), "utf8"), "run\n");
  });

  it("runs in the given directory, refuses anything else, and says why a program did not start", async (t) => {
    const { run, at, program, bin } = await scene(t);
    mkdirSync(join(at, "there"));
    symlinkSync(join(at, "there"), join(at, "link"));
    const { payload } = await run({ command: ["pwd"], cwd: join(at, "link") });
    assert.equal(payload["stdout"], `${join(at, "there")}\n`);
    const said = refusal(await run({ command: ["pwd"], cwd: join(at, "gone") }));
    assert.match(said, /INVALID_REQUEST at \/cwd: .* not a directory/);

    program("fine", "true");
    const { payload: first } = await run({ command: ["fine", "x".repeat(4_000_000)] });
    assert.deepEqual([first["success"], first["exitCode"]], [false, null]);
    assert.match(String(first["error"]), /^it did not start: .*E2BIG/);
    writeFileSync(join(bin, "broken"), "#!/no/such/interpreter\n");
    chmodSync(join(bin, "broken"), 0o755);
    const { payload: second } = await run({ command: ["broken"] });
    assert.match(String(second["error"]), /^it did not start: .*ENOENT/);
  });
});

describe("the environment of a program", () => {
  it("has what the caller adds but for variables that steer programs, and none of the gateway's secrets", async (t) => {
    const own = { SVC_GATEWAY_TOKEN: "x", MY_COPY: "it is shared-secret, really", OTHER: "kept" };
    const { run, gateway } = await scene(t, FULL, own);
    const steering =
      "PATH path LD_PRELOAD LD_LIBRARY_PATH DYLD_INSERT_LIBRARIES NODE_OPTIONS BASH_ENV ENV PYTHONPATH PYTHONSTARTUP " +
      "PERL5LIB PERL5OPT RUBYOPT RUBYLIB IFS SHELLOPTS GIT_SSH_COMMAND GIT_DIR HOME PAGER EDITOR npm_config_prefix " +
      "JAVA_TOOL_OPTIONS SVC_STATE_DIR A-B 1A A=B __proto__=";
    for (const name of ["", ...steering.split(" ")]) {
      const said = refusal(await run({ command: ["env"], env: { [name]: "the-value" }, approved: true }));
      assert.match(said, /^INVALID_REQUEST at \/env: /, name);
      assert.ok(!said.includes("the-value"), name);
    }
    assert.deepEqual(told(gateway), []);

    const { payload } = await run({ command: ["env"], env: { ADDED: "yes" } });
    const lines = String(payload["stdout"]).split("\n");
    assert.ok(lines.includes("ADDED=yes") && lines.includes("OTHER=kept"));
    assert.doesNotMatch(lines.join("\n"), /^SVC_|shared/m);
  });
});

describe("a node refuses before it does anything", () => {
  it("invalid params, missing programs, and invocations for another node", async (t) => {
    const { gateway, node } = await scene(t);
    const ls = { command: ["ls"] };
    const run: [params: unknown, said: RegExp][] = [
      [{}, /^INVALID_REQUEST invalid system.run params: at root/],
      [{ command: [] }, /at \/command/],
      [{ command: [" "] }, /at \/command\/0: the program is missing/],
      [{ command: ["ls", "a\0b"] }, /at \/command\/1/],
      [{ ...ls, rawCommand: "rm -rf /" }, /at \/rawCommand/],
      [{ ...ls, timeoutMs: 0 }, /at \/timeoutMs/],
      [{ ...ls, approvalDecision: "deny" }, /at \/approvalDecision/],
      [{ ...ls, approved: "yes" }, /at \/approved/],
      [{ command: ["no-such-program"] }, /program "no-such-program" not found/],
    ];
    const others: [command: string, params: unknown, said: RegExp][] = [
      ["camera.snap", {}, /^INVALID_REQUEST this node has no command "camera.snap"; available: system\./],
      ["system.which", { bins: ["/bin/sh"] }, /at \/bins/],
      ["system.which", {}, /^INVALID_REQUEST invalid system.which params: at root/],
      ["system.execApprovals.set", { file: { version: 2 } }, /at \/file\/version/],
      ["system.run.prepare", { command: ["no-such-program"] }, /at \/command\/0/],
      ["system.run.prepare", { command: [] }, /at \/command/],
    ];
    for (const [params, said] of run) assert.match(refusal(await gateway.invoke("system.run", params)), said);
    for (const [command, params, said] of others) assert.match(refusal(await gateway.invoke(command, params)), said);
    assert.deepEqual(told(gateway), []);

    const odd = { id: "odd", nodeId: gateway.nodeId(), command: "system.which", paramsJSON: "{" };
    gateway.send({ type: "event", event: "node.invoke.request", payload: odd });
    assert.match(refusal(await gateway.answer("odd")), /paramsJSON is not JSON/);
    const foreign = { id: "foreign", nodeId: "other", command: "system.which", paramsJSON: '{"bins":[]}' };
    gateway.send({ type: "event", event: "node.invoke.request", payload: foreign });
    await node.until("note", (state) => state.state === "note" && state.text.includes("unknown format"));
    await gateway.invoke("system.which", { bins: [] });
    assert.ok(gateway.answers.every(({ id }) => id !== "foreign"));
  });

  it("more concurrent commands than allowed", async (t) => {
    const { gateway, node } = await scene(t);
    const running = Array.from({ length: 16 }, () => gateway.ask("system.run", { command: ["sleep", "600"] }));
    assert.match(refusal(await gateway.invoke("system.which", { bins: [] })), /^BUSY /);
    await node.stop();
    for (const id of running) assert.equal((await gateway.answer(id)).ok, true);
    assert.equal(gateway.answers.length, 17);
  });
});

describe("system.which and system.run.prepare", () => {
  it("find programs by name, in the order of PATH, and prepare a plan: the directory is filled in, the words are unchanged", async (t) => {
    const { gateway, program, bin, at } = await scene(t);
    program("tool", "true");
    writeFileSync(join(bin, "plain"), "");
    mkdirSync(join(bin, "folder"));
    const { payload } = await gateway.invoke("system.which", {
      bins: ["tool", "plain", "folder", "no-such-program", "__proto__", ".."],
    });
    assert.deepEqual(payload, { bins: { tool: join(bin, "tool") } });

    const { payload: prepared } = await gateway.invoke("system.run.prepare", {
      command: ["sh", "-c", "a b"],
      rawCommand: "a b",
      cwd: null,
      agentId: "ops",
    });
    assert.deepEqual(prepared, {
      cmdText: "a b",
      plan: { argv: ["sh", "-c", "a b"], cwd: at, rawCommand: "a b", agentId: "ops", sessionKey: null },
      resolvedPath: realpathSync("/bin/sh"),
      home: homedir(),
      root: at,
    });
  });

  it("never finds a program in the working directory", async (t) => {
    const gateway = await fakeGateway(t);
    const stateDir = nodeState(t, FULL);
    writeFileSync(join(stateDir, "tool"), "#!/bin/sh\necho here\n");
    chmodSync(join(stateDir, "tool"), 0o755);
    startNode(t, gateway.url, { stateDir, env: { PATH: `:.:${process.env["PATH"]}` } });
    await gateway.connected();
    assert.deepEqual((await gateway.invoke("system.which", { bins: ["tool"] })).payload, { bins: {} });
    assert.match(refusal(await gateway.invoke("system.run", { command: ["tool"] })), /program "tool" not found/);
  });
});
