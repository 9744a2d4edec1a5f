import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, it, type TestContext } from "node:test";
import type { LogLevel } from "../../host/logs/log.ts";
import { logSettings } from "../../host/logs/settings.ts";
import { directory } from "../directory.ts";

const place = directory({ after: after as TestContext["after"] });

/** Settings with a separate log file. */
let serial = 0;
const settings = (level: LogLevel, more: object = {}) =>
  logSettings({ level, file: `log-${++serial}.log`, ...more }, { stateDir: place, home: place });
const lastFile = (back = 0) => readFileSync(join(place, `log-${serial - back}.log`), "utf8");

/** Runs `code` with a `log` of that level in a separate process, since a log bypasses `process.stderr`. */
function run(level: LogLevel, code: string, more: object = {}) {
  const module = new URL("../../host/logs/log.js", import.meta.url).href; // compiled next to this test
  const script = `import { createLogger } from ${JSON.stringify(module)};\nconst log = createLogger(${JSON.stringify(settings(level, more))});\n${code}`;
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" });
  return { stdout, stderr, lines: stderr.split("\n").filter(Boolean) };
}

describe("the log", () => {
  it("writes lines of JSON with fields and message to stderr, and nothing to stdout", () => {
    const { stdout, lines } = run("info", 'log.info({ port: 1 }, "open");');
    assert.equal(stdout, "");
    const { level, time, ...rest } = JSON.parse(String(lines[0]));
    assert.deepEqual([level, typeof time, rest, lines.length], [30, "number", { port: 1, msg: "open" }, 1]);
  });

  it("of level silent has nothing", () => {
    const { stdout, lines } = run(
      "silent",
      'for (const kind of ["debug", "info", "warn", "error"]) log[kind]({}, kind);',
    );
    assert.deepEqual([stdout, lines], ["", []]);
  });

  it("carries the fields of a child", () => {
    const { lines } = run("info", 'log.child({ plugin: "notes" }).warn({ a: 1 }, "x");');
    const { plugin, a, msg } = JSON.parse(String(lines[0]));
    assert.deepEqual([plugin, a, msg], ["notes", 1, "x"]);
  });

  it("never contains the value of a key that names a secret, also nested or in a child", () => {
    const keys = ["token", "password", "apiKey", "authorization", "deviceToken", "secret", "signature"];
    const { stderr, lines } = run(
      "info",
      `for (const key of ${JSON.stringify(keys)}) {
         const one = { [key]: "CANARY", plain: "kept" };
         log.info(one, "1"); log.info({ a: one }, "2"); log.info({ a: { b: one } }, "3");
         log.info({ list: [one] }, "4"); log.child(one).info({}, "5"); log.child({ a: 1 }).info({ a: one }, "6");
       }`,
    );
    assert.equal(lines.length, 6 * keys.length, stderr);
    for (const line of lines) {
      assert.ok(!line.includes("CANARY"), line);
      assert.ok(line.includes("kept") && line.includes("[redacted]"), line);
    }
  });

  it("has the same lines in its file, private, and complete when the process exits immediately", () => {
    const { lines } = run(
      "info",
      // Few enough for the buffer of an unread pipe: the log drops lines when nobody reads standard error for 100 ms.
      'for (let i = 0; i < 200; i++) log.info({ i }, "x"); process.kill(process.pid, "SIGKILL");',
    );
    assert.equal(lines.length, 200);
    assert.deepEqual(lastFile().split("\n").filter(Boolean), lines);
  });

  it("can have more lines in its file than on stderr", () => {
    const code = 'for (const kind of ["debug", "info", "warn", "error", "fatal"]) log[kind]({}, kind);';
    const { lines } = run("info", code, { consoleLevel: "error" });
    const told = (all: readonly string[]) => all.filter(Boolean).map((line) => JSON.parse(line).msg);
    assert.deepEqual(told(lines), ["error", "fatal"]);
    assert.deepEqual(told(lastFile().split("\n")), ["info", "warn", "error", "fatal"]);
  });

  it("continues on stderr when the file cannot be written, and reports it once", () => {
    const { lines } = run("info", 'for (let i = 0; i < 3; i++) log.info({ i }, "x");', { file: "/proc/nowhere/x.log" });
    const told = lines.map((line) => JSON.parse(line).msg).toSorted((a, b) => a.localeCompare(b));
    assert.deepEqual(told, ["the log file cannot be written; lines still go to standard error", "x", "x", "x"]);
  });

  it("accepts other settings while it runs, also in children", () => {
    const quiet = JSON.stringify(settings("error"));
    const { lines } = run(
      "info",
      `const child = log.child({ a: 1 }); child.info({}, "1"); log.use(${quiet}); child.info({}, "2"); log.info({}, "3"); child.error({}, "4");`,
    );
    assert.deepEqual(
      lines.map((line) => JSON.parse(line).msg),
      ["1", "4"],
    );
    assert.deepEqual([JSON.parse(lastFile()).msg, JSON.parse(lastFile(1)).msg], ["1", "4"]);
  });

  describe("with secrets in every part of it", () => {
    const known = 'canary "known" 7c93be48\\26';
    const shaped = "canaryshaped5d1f0a7c93be4826";
    const code = `
      const known = ${JSON.stringify(known)}, shaped = ${JSON.stringify(shaped)};
      log.secrets.know([known, "13375150"]);
      log.info({}, "said: " + known);
      log.info({ field: known, [known]: "as a key", deep: { a: { b: { c: { d: [known] } } } } }, "x");
      log.info({ text: JSON.stringify({ inner: JSON.stringify({ known }) }), url: "http://h/?x=" + encodeURIComponent(known) }, "x");
      log.info({ pin: 13375150 }, "x");
      const error = new Error("with " + known, { cause: new Error("token=" + shaped) });
      error.config = { headers: { Authorization: "Bearer " + shaped, "X-Api-Key": shaped, Cookie: ["a=" + shaped] } };
      error.stack += "\\n    at https://user:" + shaped + "@host/";
      log.error({ err: error }, "x");
      log.warn({ req: { headers: { authorization: "Basic " + btoa("user:" + shaped), "set-cookie": [shaped] } } }, "x");
      log.info({ a: { b: { c: { d: { password: shaped } } } } }, "Authorization: Bearer " + shaped);
      log.info({ url: "wss://host/path?access_token=" + shaped + "&a=b" }, "key sk-" + shaped);
      log.info({ pem: "-----BEGIN PRIVATE KEY-----\\n" + shaped + "\\n-----END PRIVATE KEY-----\\n" }, "x");
      log.child({ secret: shaped }).info({ list: [{ apiKey: shaped }] }, "x");
      log.info({ body: JSON.stringify({ apiKey: shaped, list: [{ "client-secret": shaped }] }) }, "x");`;

    for (const style of ["json", "pretty", "compact"]) {
      it(`shows none on stderr (${style}) or in the file`, () => {
        const { stderr } = run("info", code, { consoleStyle: style });
        for (const text of [stderr, lastFile()]) {
          for (const secret of [
            known,
            JSON.stringify(known).slice(1, -1),
            encodeURIComponent(known),
            shaped,
            "13375150",
            btoa(`user:${shaped}`),
          ])
            assert.ok(
              !text.includes(secret),
              text.split("\n").find((line) => line.includes(secret)),
            );
          assert.ok(text.includes("[redacted]"));
        }
        assert.equal(lastFile().split("\n").filter(Boolean).length, 11);
      });
    }
  });
});
