/** Running one program: what comes out, what goes in, and what is left of it. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type ProgramStart, runForBytes, runProgram, startProgram } from "@svc/kit/exec";

const never = new AbortController().signal;
const base = { file: "/bin/sh", cwd: "/", env: { PATH: "/usr/bin:/bin" }, signal: never, stopReason: "stopped" };
const sh = (script: string) => ["sh", "-c", script];

function start(script: string, more: Partial<ProgramStart> = {}) {
  const said: string[] = [];
  const onOutput = (chunk: Buffer, stream: string) => void said.push(`${stream}: ${chunk.toString()}`);
  return { said, ...startProgram({ ...base, argv: sh(script), onOutput, ...more }) };
}

describe("a program", { timeout: 120_000, skip: process.platform === "win32" && "there is no /bin/sh" }, () => {
  it("is followed while it runs, and written to", async () => {
    const { said, stdin, ended } = start("read line; echo $line; echo no >&2; exit 4", { stdin: "pipe" });
    stdin?.write("hello\n");
    assert.deepEqual(await ended, { exitCode: 4, signal: null, timedOut: false });
    assert.deepEqual(said.sort(), ["stderr: no\n", "stdout: hello\n"]);
  });

  it("reads nothing unless it is asked for", async () => {
    const end = await runProgram({ ...base, argv: sh("cat; echo over"), timeoutMs: 10_000 });
    assert.deepEqual(end, { exitCode: 0, timedOut: false, stdout: "over\n", stderr: "", truncated: false });
  });

  it("is ended for a reason, which its outcome has", async () => {
    const { end, ended } = start("exec sleep 60");
    end("enough");
    end("again");
    const outcome = { exitCode: null, signal: "SIGTERM", timedOut: false, endedFor: "enough" };
    assert.deepEqual(await ended, { ...outcome, error: "ended by SIGTERM: enough" });
    assert.equal((await start("exec sleep 60", { timeoutMs: 1 }).ended).timedOut, true);
    const stopped = await start("exec sleep 60", { signal: AbortSignal.abort() }).ended;
    assert.equal(stopped.error, "ended by SIGTERM: stopped");
  });

  it("that cannot start is an outcome, and nothing to be ended", async () => {
    for (const more of [{ file: "/nowhere/at/all" }, { cwd: "/nowhere/at/all" }, { argv: ["sh", "a\0b"] }]) {
      const { pid, ended, end } = start("", more);
      end("enough");
      assert.equal(pid, undefined);
      assert.match((await ended).error ?? "", /^it did not start: /);
    }
  });

  for (const endsWhole of [true, false]) {
    it(`${endsWhole ? "takes along" : "leaves"} what it left running${endsWhole ? ", where that is asked for" : ""}`, async () => {
      const { said, ended } = start("sleep 60 >/dev/null 2>&1 & echo $!", { endsWhole });
      await ended;
      const pid = Number(/\d+/.exec(said.join(""))?.[0]);
      const isAlive = () => {
        try {
          return process.kill(pid, 0);
        } catch {
          return false;
        }
      };
      if (endsWhole) while (isAlive()) await new Promise((resolve) => setTimeout(resolve, 5));
      else assert.ok(isAlive() && process.kill(pid, "SIGKILL"));
    });
  }

  it("that writes bytes returns them, or why it failed", async () => {
    const bytes = (script: string, maxBytes = 100) =>
      runForBytes({ ...base, argv: sh(script), maxBytes, timeoutMs: 10_000 });
    const input = Buffer.from([0, 255, 10]);
    const copied = await runForBytes({ ...base, argv: ["cat"], file: "/bin/cat", input, maxBytes: 3 });
    assert.deepEqual(copied, { bytes: input });
    const failed = await bytes("echo first >&2; printf 'the \\033[1mlast\\n' >&2; exit 3");
    assert.deepEqual(failed, { failure: "the  [1mlast", timedOut: false });
    assert.deepEqual(await bytes("exit 3"), { failure: "exit code 3", timedOut: false });
    const calm = await bytes("trap 'exit 0' TERM; echo twelve bytes; sleep 60 & wait", 11);
    assert.deepEqual(calm, { failure: "it wrote more than 11 bytes", timedOut: false }, "although it exits with 0");
    const ending = new AbortController();
    const ended = runForBytes({ ...base, argv: sh("exec sleep 60"), maxBytes: 1, signal: ending.signal });
    ending.abort(new Error("enough"));
    await assert.rejects(ended, /enough/);
  });
});
