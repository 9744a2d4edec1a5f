/** The settings of the log, and its lines on the console. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, it } from "node:test";
import { violations } from "@svc/sdk";
import { LoggingSection } from "../../../host/config/host-schema.ts";
import { consoleLine } from "../../../host/logs/console-line.ts";
import { levelFrom, logSettings } from "../../../host/logs/settings.ts";
import { root } from "../../checkout.ts";

const paths = { stateDir: "/state", home: "/home/bob" };
const line = (err?: object, msg = "plugin notes failed in method notes.add", more: object = {}) =>
  JSON.stringify({ level: 50, time: 0, plugin: "notes", ...(err ? { err } : {}), ...more, msg });

describe("a compact line", () => {
  const host = "    at Dispatcher.run (file:///opt/svc/host/dist/chunk-ABC.js:10:20)\n    at node:internal/timers:1:2";
  const rows: [what: string, err: object | undefined, shown: string][] = [
    ["is one sentence", undefined, ""],
    [
      "has the message of an error",
      { message: "coun is not defined\nand more", stack: `Error: x\n${host}` },
      " (coun is not defined)",
    ],
    [
      "has file and line of the plugin, and no stack",
      {
        message: "coun is not defined",
        stack: `ReferenceError: x\n    at add (/home/me/notes/plugin.ts:39:5)\n${host}`,
      },
      " (coun is not defined, at /home/me/notes/plugin.ts:39)",
    ],
    [
      "takes them from a module's URL, and skips frames of libraries",
      {
        message: "no",
        stack: `Error: no\n    at f (/home/me/notes/node_modules/lib/index.js:1:1)\n    at async file:///home/me/notes/a.mjs?generation=3:7:1\n${host}`,
      },
      " (no, at /home/me/notes/a.mjs:7)",
    ],
  ];
  for (const [what, err, shown] of rows)
    it(what, () =>
      assert.equal(
        consoleLine(line(err), "compact"),
        `00:00:00 ERROR notes: plugin notes failed in method notes.add${shown}\n`,
      ),
    );

  it("has the field `reason` if there is no error", () => {
    const shown = consoleLine(
      line(undefined, "a reply was not delivered", { runId: "r", reason: "no channel" }),
      "compact",
    );
    assert.equal(shown, "00:00:00 ERROR notes: a reply was not delivered (no channel)\n");
  });

  it("repeats neither the message nor the code location that the error names", () => {
    const stack = "Error: x\n    at go (/home/me/spin.ts:3:106)";
    const rows: [message: string, sentence: string, shown: string][] = [
      ['no model "a/b"', 'run failed: no model "a/b"', 'run failed: no model "a/b" (at /home/me/spin.ts:3)'],
      [
        "blocked for 1 s, at go (/home/me/spin.ts:3:106)",
        "spin failed",
        "spin failed (blocked for 1 s, at go (/home/me/spin.ts:3:106))",
      ],
    ];
    for (const [message, sentence, shown] of rows)
      assert.equal(consoleLine(line({ message, stack }, sentence), "compact"), `00:00:00 ERROR notes: ${shown}\n`);
  });
});

describe("the log settings", () => {
  it("have defaults for everything", () => {
    assert.deepEqual(logSettings({}, paths), {
      console: { level: "warn", style: "json" },
      file: {
        level: "info",
        directory: "/state/logs",
        name: undefined,
        maxFileBytes: 52_428_800,
        retentionDays: 7,
        maxTotalBytes: 524_288_000,
      },
      hideShapes: true,
      patterns: [],
    });
  });

  const places: [file: string, directory: string, name: string][] = [
    ["/var/log/svc.log", "/var/log", "svc.log"],
    ["~/svc.log", "/home/bob", "svc.log"],
    ["logs/own.log", "/state/logs", "own.log"],
  ];
  for (const [file, directory, name] of places) {
    it(`take file ${file}`, () => {
      const settings = logSettings({ file }, paths).file;
      assert.deepEqual([settings.directory, settings.name], [directory, name]);
    });
  }

  it("use maxFileBytes, maxTotalBytes, retentionDays, consoleStyle, redactSensitive and redactPatterns unchanged", () => {
    const section = { maxFileBytes: 1, maxTotalBytes: 2, retentionDays: 3, consoleStyle: "pretty" } as const;
    const { file, console, ...rest } = logSettings(
      { ...section, redactSensitive: "off", redactPatterns: ["x"] },
      paths,
    );
    assert.deepEqual([file.maxFileBytes, file.maxTotalBytes, file.retentionDays, console.style], [1, 2, 3, "pretty"]);
    assert.deepEqual(rest, { hideShapes: false, patterns: ["x"] });
  });

  const levels: [section: object, fixed: "debug" | undefined, console: string, file: string][] = [
    [{ level: "error" }, undefined, "error", "error"],
    [{ consoleLevel: "silent" }, undefined, "silent", "info"],
    [{ level: "debug", consoleLevel: "error" }, undefined, "error", "debug"],
    [{ level: "error", consoleLevel: "error" }, "debug", "debug", "debug"],
  ];
  for (const [section, fixed, onConsole, inFile] of levels) {
    it(`take ${JSON.stringify(section)}${fixed ? ` with the fixed level ${fixed}` : ""}`, () => {
      const { console, file } = logSettings(section, paths, fixed);
      assert.deepEqual([console.level, file.level], [onConsole, inFile]);
    });
  }

  it("use a valid level from the environment", () => {
    assert.equal(levelFrom({ SVC_LOG_LEVEL: " debug " }), "debug");
    assert.equal(levelFrom({ SVC_LOG_LEVEL: "loud" }), undefined);
  });

  const wrong = [
    { level: "loud" },
    { maxFileBytes: 0 },
    { retentionDays: 0 },
    { redactPatterns: ["("] },
    { file: "dir/" },
    { colour: true },
  ];
  for (const section of wrong)
    it(`refuse ${JSON.stringify(section)}`, () => assert.equal(violations(LoggingSection, section).length, 1));
});

describe("a line on standard error", () => {
  const full = `${JSON.stringify({ level: 50, time: Date.UTC(2026, 0, 2, 3, 4, 5, 6), plugin: "notes", a: { b: 1 }, err: { message: "no", stack: "Error: no\n    at x" }, msg: "it \u001b[31mfailed" })}\n`;

  it("is the line of the file by default", () => assert.equal(consoleLine(full, "json"), full));
  it("is short when compact", () =>
    assert.equal(consoleLine(full, "compact"), "03:04:05 ERROR notes: it \\u001b[31mfailed (no)\n"));
  it("has all fields when pretty", () =>
    assert.equal(
      consoleLine(full, "pretty"),
      '2026-01-02 03:04:05.006 ERROR notes: it \\u001b[31mfailed a={"b":1}\n    Error: no\n        at x\n',
    ));
});

it("the style is compact on a terminal and json elsewhere, unless the configuration sets one", () => {
  const style = (section: Parameters<typeof logSettings>[0], isTerminal: boolean) =>
    logSettings(section, paths, undefined, isTerminal).console.style;
  assert.deepEqual(
    [style({}, true), style({}, false), style({ consoleStyle: "pretty" }, true)],
    ["compact", "json", "pretty"],
  );
});

it("an error is logged with its stack and its own fields, without inherited constants", () => {
  const code = `import { createLogger } from ${JSON.stringify(join(root, ".build/host/logs/log.js"))};
    import { levelFrom, logSettings } from ${JSON.stringify(join(root, ".build/host/logs/settings.js"))};
    const log = createLogger(logSettings({ file: "/dev/null" }, { stateDir: "/nowhere", home: "/" }, "error"));
    log.error({ err: AbortSignal.abort().reason }, "x");
    log.error({ err: Object.assign(new Error("y"), { code: "EPERM", path: "/p" }) }, "y");`;
  const { stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", code], { encoding: "utf8" });
  const logged = stderr.trim().split("\n");
  const errors = logged.map((one) => (JSON.parse(one) as { err: { message: string; stack: string } }).err);
  assert.deepEqual(
    errors.map((err) => Object.keys(err).sort()),
    [
      ["message", "stack", "type"],
      ["code", "message", "path", "stack", "type"],
    ],
  );
  assert.equal(errors[1]?.message, "y");
  assert.match(errors[1]?.stack ?? "", /^Error: y\n +at /);
});
