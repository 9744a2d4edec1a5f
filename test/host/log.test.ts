import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, it } from "node:test";
import type { LogLevel } from "../../host/log.ts";

/** Runs `code` with a `log` of that level in a process of its own, since a log writes past whoever would listen in. */
function run(level: LogLevel, code: string) {
  const module = new URL("../../host/log.js", import.meta.url).href; // compiled beside this test
  const script = `import { createLogger } from ${JSON.stringify(module)};\nconst log = createLogger("${level}");\n${code}`;
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" });
  return { stdout, stderr, lines: stderr.split("\n").filter(Boolean) };
}

describe("the log", () => {
  it("is lines of JSON on standard error, fields and sentence, and nothing on standard output", () => {
    const { stdout, lines } = run("info", 'log.info({ port: 1 }, "open");');
    assert.equal(stdout, "");
    const { level, time, ...rest } = JSON.parse(String(lines[0]));
    assert.deepEqual([level, typeof time, rest, lines.length], [30, "number", { port: 1, msg: "open" }, 1]);
  });

  it("is complete even when the process dies at once", () => {
    const { lines } = run(
      "info",
      'for (let i = 0; i < 1000; i++) log.info({ i }, "x"); process.kill(process.pid, "SIGKILL");',
    );
    assert.equal(lines.length, 1_000);
  });

  const levels: [level: LogLevel, written: string[]][] = [
    ["debug", ["debug", "info", "warn", "error"]],
    ["info", ["info", "warn", "error"]],
    ["warn", ["warn", "error"]],
    ["error", ["error"]],
    ["silent", []],
  ];
  for (const [level, written] of levels) {
    it(`of level ${level} has ${written.join(", ") || "nothing"}`, () => {
      const { lines } = run(level, 'for (const kind of ["debug", "info", "warn", "error"]) log[kind]({}, kind);');
      assert.deepEqual(
        lines.map((line) => JSON.parse(line).msg),
        written,
      );
    });
  }

  it("carries the fields of a child", () => {
    const { lines } = run("info", 'log.child({ plugin: "notes" }).warn({ a: 1 }, "x");');
    const { plugin, a, msg } = JSON.parse(String(lines[0]));
    assert.deepEqual([plugin, a, msg], ["notes", 1, "x"]);
  });

  it("tells an error with its stack", () => {
    const { lines } = run("info", 'log.error({ err: new Error("no luck") }, "x");');
    const { err } = JSON.parse(String(lines[0]));
    assert.equal(err.message, "no luck");
    assert.match(err.stack, /^Error: no luck\n +at /);
  });

  for (const key of ["token", "password", "apiKey", "authorization", "deviceToken", "secret", "signature"]) {
    it(`never has the value of ${key}, nor of one inside another, nor in a child`, () => {
      const { stderr, lines } = run(
        "info",
        `const key = ${JSON.stringify(key)};
         const one = { [key]: "CANARY", plain: "kept" };
         log.info(one, "1"); log.info({ a: one }, "2"); log.info({ a: { b: one } }, "3");
         log.info({ list: [one] }, "4"); log.child(one).info({}, "5"); log.child({ a: 1 }).info({ a: one }, "6");`,
      );
      assert.equal(lines.length, 6, stderr);
      for (const line of lines) {
        assert.ok(!line.includes("CANARY"), line);
        assert.ok(line.includes("kept") && line.includes("[redacted]"), line);
      }
    });
  }
});
