// long: starts many programs
/** `exec` and `process` with real programs. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { access, copyFile, mkdir, readFile, realpath, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { ApprovalAnswer } from "@svc/sdk/gateway";
import { textOf } from "@svc/sdk/models";
import { MAX_RUNNING_EACH } from "../../../plugins/workspace/process/background.ts";
import { FULL, listed, MAIN, openScene, person } from "./scene.ts";

const posix = { timeout: 20_000, skip: process.platform === "win32" && "there is no /bin/sh" };

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

/** Waits until it has ended; limited by the suite's timeout. */
async function gone(pid: number): Promise<void> {
  while (isAlive(pid)) await sleep(5);
}

async function pidIn(path: string): Promise<number> {
  for (;;) {
    const text = await readFile(path, "utf8").catch(() => "");
    if (text.endsWith("\n")) return Number(text);
    await sleep(5);
  }
}

describe("exec", posix, () => {
  it("runs shell text in the workspace and returns output and exit code", async (t) => {
    const { root, use } = await openScene(t);
    await mkdir(join(root, "sub"));
    const { content, details, isError } = await use("exec", { command: "pwd; echo bad >&2; exit 3", workdir: "sub" });
    const [block] = content;
    assert.ok(block?.type === "text");
    const text = block.text.replace(/after [\d.]+ s/, "after");
    const { durationMs, output, ...rest } = details as { durationMs: number; output: string };
    assert.equal(text, `${output}[exit code 3 after]`);
    assert.ok(durationMs >= 0);
    // Standard output and standard error are two pipes, and either may be read first.
    assert.deepEqual(output.split("\n").toSorted(), ["", join(root, "sub"), "bad"]);
    assert.deepEqual(rest, { exitCode: 3, signal: null, timedOut: false, truncated: false });
    assert.equal(isError, undefined);
  });

  it("gives a command only the variables it needs", async (t) => {
    const { say } = await openScene(t, { env: { SVC_GATEWAY_TOKEN: "canary", OPENAI_API_KEY: "canary", HOME: "/h" } });
    const said = await say("exec", { command: "env", env: { GREETING: "hello" } });
    assert.ok(!said.includes("canary"));
    assert.deepEqual(
      said
        .split("\n")
        .map((line) => line.split("=")[0] ?? "")
        .filter((name) => /^(PATH|HOME|GREETING|TERM|SVC.*|OPENAI.*)$/.test(name))
        .toSorted((left, right) => left.localeCompare(right)),
      ["GREETING", "HOME", "PATH", "TERM"],
    );
  });

  it("keeps the beginning and the end of a long output", async (t) => {
    const { details } = await openScene(t);
    const { output, truncated } = await details("exec", {
      command: "echo first; head -c 300000 /dev/zero | tr '\\0' x; echo last",
    });
    assert.equal(truncated, true);
    assert.match(String(output), /^first\nx+\n\[\.\.\. \d+ characters omitted \.\.\.\]\nx+last\n$/);
    assert.ok(String(output).length <= 60_000);
  });

  it("ends a command with its children at its timeout", async (t) => {
    const { root, use } = await openScene(t, { exec: { timeoutSec: 1 } });
    const command = `sh -c 'trap "" TERM; echo $$ > pid; exec sleep 60' & trap 'exit 9' TERM; wait`;
    const result = await use("exec", { command });
    assert.match(textOf(result), /^\[exit code 9: it exceeded its time limit after \d+\.\d s; no output\]$/);
    assert.equal(result.isError, true);
    await gone(await pidIn(join(root, "pid")));
  });

  it("ends it when its run is stopped", async (t) => {
    const { root, use } = await openScene(t);
    const stop = new AbortController();
    const running = use("exec", { command: "echo $$ > pid; exec sleep 60" }, { signal: stop.signal });
    const pid = await pidIn(join(root, "pid"));
    stop.abort();
    assert.match(JSON.stringify((await running).content), /ended by SIGTERM: the run was stopped/);
    await gone(pid);
  });

  it("leaves nothing running", async (t) => {
    const { root, say } = await openScene(t);
    assert.match(await say("exec", { command: "sleep 60 & echo $! > pid; echo on" }), /^on\n\[exit code 0/);
    await gone(await pidIn(join(root, "pid")));
  });

  it("refuses what is no command, directory or variable of its own", async (t) => {
    const { root, directory, use } = await openScene(t);
    await symlink(directory, join(root, "link"));
    await writeFile(join(root, "file"), "");
    const refused: [args: Record<string, unknown>, message: RegExp, code?: string][] = [
      [{ command: "  " }, /the command is empty/],
      [{ command: "ls\0" }, /NUL/],
      [{ command: "ls", workdir: ".." }, /not a path below the workspace/],
      [{ command: "ls", workdir: "/tmp" }, /outside the workspace/],
      [{ command: "ls", workdir: "link" }, /leads out of the workspace/],
      [{ command: "ls", workdir: "file" }, /through a file/],
      [{ command: "ls", workdir: "none" }, /no directory none/, "NOT_FOUND"],
      [{ command: "ls", env: { LD_PRELOAD: "/x" } }, /LD_PRELOAD may not/],
    ];
    for (const [args, message, code = "INVALID_REQUEST"] of refused)
      await assert.rejects(use("exec", args), { code, message }, JSON.stringify(args));
  });

  it("cannot lead the file tools out by links it plants", async (t) => {
    const { stateDir, use, say } = await openScene(t);
    await writeFile(join(stateDir, "secret"), "secret");
    const command = `ln -s '${stateDir}' out && ln -s '${stateDir}/secret' file && ln '${stateDir}/secret' hard && echo planted`;
    assert.match(await say("exec", { command }), /^planted/);
    for (const path of ["out/secret", "file", "hard"]) {
      await assert.rejects(use("read", { path }), { code: "INVALID_REQUEST" });
      await assert.rejects(use("write", { path, content: "mine" }), { code: "INVALID_REQUEST" });
    }
    await assert.rejects(use("write", { path: "out/new", content: "mine" }), { code: "INVALID_REQUEST" });
    await assert.rejects(use("exec", { command: "ls", workdir: "out" }), { code: "INVALID_REQUEST" });
    assert.equal(await readFile(join(stateDir, "secret"), "utf8"), "secret");
  });
});

describe("the policy of exec", posix, () => {
  const ran = ({ root }: Awaited<ReturnType<typeof openScene>>) => existsSync(join(root, "ran"));
  const touch = { command: "touch ran; true" };
  it("denies by default, and names the next step", async (t) => {
    const scene = await openScene(t, { policy: { version: 1 } });
    const message =
      /did not run: the policy file denies .* Next: an operator .* svc approvals security allowlist --ask on-miss --agent main/;
    await assert.rejects(scene.use("exec", touch), { code: "FORBIDDEN", message });
    await assert.rejects(scene.use("exec", { ...touch, background: true }), { code: "FORBIDDEN" });
    assert.equal(ran(scene), false);
  });

  it("lets a program of the allowlist run by itself, and no shell around it", async (t) => {
    const head = await realpath("/usr/bin/head");
    const scene = await openScene(t, { policy: listed("off", { pattern: head }) });
    await writeFile(join(scene.root, "a file"), "one\ntwo\n");
    assert.match(await scene.say("exec", { command: "head -n 1 'a file'" }), /^one\n\[exit code 0/);
    for (const command of ["head -n 1 'a file'; touch ran", "head -n 1 $(touch ran)", "touch ran"]) {
      await assert.rejects(scene.use("exec", { command }), { code: "FORBIDDEN", message: /not on the allowlist/ });
    }
    await assert.rejects(scene.use("exec", { command: "head -n 1 x", env: { A: "b" } }), { code: "FORBIDDEN" });
    assert.equal(ran(scene), false);
  });

  it("lets a program of the allowlist reach the workspace, and nothing else", async (t) => {
    const scene = await openScene(t, { policy: listed("off", { pattern: "/**" }) });
    await writeFile(join(scene.root, "note"), "text\n");
    await writeFile(join(scene.stateDir, "secret"), "canary");
    await symlink(join(scene.stateDir, "secret"), join(scene.root, "link"));
    await mkdir(join(scene.root, "bin"));
    await copyFile("/bin/cat", join(scene.root, "bin", "cat"));
    await mkdir(join(scene.root, "sub"));
    assert.match(await scene.say("exec", { command: "cat note" }), /^text\n\[exit code 0/);
    assert.match(await scene.say("exec", { command: `cat '${scene.root}/note'` }), /^text\n\[exit code 0/);
    assert.match(await scene.say("exec", { command: "cat ../note", workdir: "sub" }), /^text\n\[exit code 0/);
    const outside = ["cat link", "cat /etc/hostname", "cat ../x", `cat '${scene.stateDir}/secret'`];
    const miss = { code: "FORBIDDEN", message: /not on the allowlist/ };
    for (const command of [...outside, "./bin/cat note", "sort -o ran note", "git status"])
      await assert.rejects(scene.use("exec", { command }), miss, command);
    await assert.rejects(scene.use("exec", { command: "cat link" }), { message: /cat may not be called with "link"/ });
    assert.equal(ran(scene), false);
  });

  const answers: [decision: ApprovalAnswer["decision"], fallback: string | undefined, outcome: RegExp | undefined][] = [
    ["allow-once", undefined, undefined],
    ["allow-always", undefined, undefined],
    ["deny", undefined, /Ada denied it/],
    ["deny", "full", /Ada denied it/],
    [null, undefined, /nobody approved it/],
    [null, "full", undefined],
  ];
  for (const [decision, askFallback, refusal] of answers) {
    it(`asks people; ${decision} with fallback ${askFallback}: ${refusal ? "does not run" : "runs"}`, async (t) => {
      const { ask, questions } = person(decision);
      const defaults = { security: "full", ask: "always", ...(askFallback !== undefined && { askFallback }) };
      const scene = await openScene(t, { policy: { version: 1, defaults }, ask });
      const running = scene.use("exec", { ...touch, env: { A: "canary" } });
      if (refusal) await assert.rejects(running, { code: "FORBIDDEN", message: refusal });
      else await running;
      assert.equal(ran(scene), refusal === undefined);
      const [question] = questions;
      assert.equal(question?.title, "[in the workspace, with A] touch ran; true");
      assert.deepEqual([question?.kind, question?.agentId, question?.sessionKey], ["tool:exec", "main", MAIN]);
      const argv = ["sh", "-c", "touch ran; true"];
      const about = { cwd: scene.root, env: { A: "canary" }, agentId: "main", sessionKey: MAIN };
      assert.deepEqual(question?.subject, { argv, file: "/bin/sh", ...about });
    });
  }

  it("denies a command when nobody can be asked", async (t) => {
    const scene = await openScene(t, { policy: listed("on-miss") });
    await assert.rejects(scene.use("exec", touch), {
      code: "FORBIDDEN",
      message: /no plugin that asks people .* svc plugins why approvals/,
    });
    assert.equal(ran(scene), false);
  });

  it("does not ask about commands that are too long to read", async (t) => {
    const { ask, questions } = person("allow-once");
    const scene = await openScene(t, { policy: listed("on-miss"), ask });
    const command = `: ${"x".repeat(3_000)}; touch ran`;
    await assert.rejects(scene.use("exec", { command }), {
      code: "INVALID_REQUEST",
      message: /longer than 3000 characters/,
    });
    assert.deepEqual([questions.length, ran(scene)], [0, false]);
  });

  it("applies changes made while a question is pending", async (t) => {
    const { ask, hands } = person();
    const scene = await openScene(t, { policy: listed("on-miss"), ask });
    hands.meanwhile = () => (scene.state.policy = { version: 1 });
    await assert.rejects(scene.use("exec", touch), { code: "FORBIDDEN", message: /policy file denies/ });
    assert.equal(ran(scene), false);
  });

  it("does not run in a directory that was swapped while a question was pending", async (t) => {
    const { ask, hands } = person();
    const scene = await openScene(t, { policy: listed("on-miss"), ask });
    await mkdir(join(scene.root, "sub"));
    hands.meanwhile = async () => {
      await rename(join(scene.root, "sub"), join(scene.root, "aside"));
      await symlink(scene.stateDir, join(scene.root, "sub"));
    };
    await assert.rejects(scene.use("exec", { ...touch, workdir: "sub" }), { code: "INVALID_REQUEST" });
    await assert.rejects(access(join(scene.stateDir, "ran")), { code: "ENOENT" });
  });

  it("does not run a command that is stopped while a question is pending", async (t) => {
    const stop = new AbortController();
    const { ask, hands } = person();
    hands.meanwhile = () => stop.abort();
    const scene = await openScene(t, { policy: listed("on-miss"), ask });
    await assert.rejects(scene.use("exec", touch, { signal: stop.signal }));
    assert.equal(ran(scene), false);
  });
});

describe("process", posix, () => {
  const start = async (scene: Awaited<ReturnType<typeof openScene>>, command: string, more: object = {}) =>
    String((await scene.details("exec", { command, background: true, ...more }))["sessionId"]);

  it("follows a command, writes to it, and reports its end", async (t) => {
    const scene = await openScene(t);
    const sessionId = await start(scene, "while read line; do echo got $line; done; echo over");
    assert.equal((await scene.details("process", { action: "poll", sessionId }))["status"], "running");
    await scene.use("process", { action: "write", sessionId, data: "one\n" });
    assert.match(await scene.say("process", { action: "poll", sessionId, timeout: 10 }), /^got one\n\[running for/);
    assert.match(await scene.say("process", { action: "poll", sessionId }), /^\[running for .*; no output\]/);
    await scene.use("process", { action: "write", sessionId, data: "two\n", eof: true });
    let said = "";
    for (;;) {
      const { output, status } = await scene.details("process", { action: "poll", sessionId, timeout: 10 });
      said += String(output);
      if (status === "ended") break;
    }
    assert.equal(said, "got two\nover\n");
    assert.match(await scene.say("process", { action: "log", sessionId }), /^got one\ngot two\nover\n\[exit code 0/);
    assert.match(
      await scene.say("process", { action: "log", sessionId, offset: 2, limit: 1 }),
      /^got two\n\[lines 2 to 2 of 3; continue/,
    );
    assert.match(
      await scene.say("process", { action: "list" }),
      new RegExp(`^${sessionId}: exit code 0 after .*: while read`),
    );
    await assert.rejects(scene.use("process", { action: "write", sessionId, data: "x" }), {
      message: /no longer reads input/,
    });
    await scene.use("process", { action: "clear", sessionId });
    assert.equal(await scene.say("process", { action: "list" }), "no background commands in this session");
  });

  it("ends a command on kill, and at its timeout", async (t) => {
    const scene = await openScene(t);
    const sessionId = await start(scene, "echo $$ > pid; exec sleep 60");
    const pid = await pidIn(join(scene.root, "pid"));
    await assert.rejects(scene.use("process", { action: "clear", sessionId }), {
      message: /is still running; end it with kill/,
    });
    assert.match(await scene.say("process", { action: "kill", sessionId }), /ended by SIGTERM: process kill/);
    assert.equal(isAlive(pid), false);
    const late = await start(scene, "exec sleep 60", { timeout: 1 });
    const { timedOut } = await scene.details("process", { action: "poll", sessionId: late, timeout: 10 });
    assert.equal(timedOut, true);
  });

  it("shows a command to its own agent and session only", async (t) => {
    const scene = await openScene(t);
    const sessionId = await start(scene, "exec sleep 60");
    const others = [{ sessionKey: "agent:main:else" }, { agentId: "other", sessionKey: MAIN }];
    for (const other of others) {
      assert.equal(await scene.say("process", { action: "list" }, other), "no background commands in this session");
      for (const action of ["poll", "log", "write", "kill", "clear"]) {
        await assert.rejects(scene.use("process", { action, sessionId }, other), { code: "NOT_FOUND" }, action);
      }
    }
    await assert.rejects(scene.use("process", { action: "poll" }), { message: /poll needs a sessionId/ });
    assert.equal((await scene.details("process", { action: "poll", sessionId }))["status"], "running");
  });

  it("limits running commands, and drops those that ended long ago", async (t) => {
    const scene = await openScene(t, { policy: FULL });
    const ids = await Promise.all(Array.from({ length: MAX_RUNNING_EACH }, () => start(scene, "exec sleep 60")));
    await assert.rejects(scene.use("exec", { command: "ls", background: true }), {
      code: "UNAVAILABLE",
      message: /16 commands/,
    });
    await scene.use("process", { action: "kill", sessionId: ids[0] });
    scene.background.sweep(3_600_000);
    assert.equal(scene.background.list({ agentId: "main", sessionKey: MAIN }).length, MAX_RUNNING_EACH);
    scene.background.sweep(-1);
    assert.equal(scene.background.list({ agentId: "main", sessionKey: MAIN }).length, MAX_RUNNING_EACH - 1);
  });

  it("ends all commands when the plugin stops, even those that ignore SIGTERM", async (t) => {
    const scene = await openScene(t);
    await start(scene, `trap "" TERM; echo $$ > pid; while :; do sleep 1; done`);
    const pid = await pidIn(join(scene.root, "pid"));
    await scene.programs.stop();
    await gone(pid);
    await assert.rejects(scene.use("exec", { command: "ls" }), (error: Error) => /stop|abort/.test(error.message));
  });
});
