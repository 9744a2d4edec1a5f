import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { violations } from "@svc/sdk";
import { LoggingSection } from "../../../host/config/host-schema.ts";
import { consoleLine } from "../../../host/logs/console-line.ts";
import { levelFrom, logSettings } from "../../../host/logs/settings.ts";

const paths = { stateDir: "/state", home: "/home/bob" };

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
  const line = `${JSON.stringify({ level: 50, time: Date.UTC(2026, 0, 2, 3, 4, 5, 6), plugin: "notes", a: { b: 1 }, err: { message: "no", stack: "Error: no\n    at x" }, msg: "it \u001b[31mfailed" })}\n`;

  it("is the line of the file by default", () => assert.equal(consoleLine(line, "json"), line));
  it("is short when compact", () =>
    assert.equal(consoleLine(line, "compact"), "03:04:05 ERROR notes: it \\u001b[31mfailed (no)\n"));
  it("has all fields when pretty", () =>
    assert.equal(
      consoleLine(line, "pretty"),
      '2026-01-02 03:04:05.006 ERROR notes: it \\u001b[31mfailed a={"b":1}\n    Error: no\n        at x\n',
    ));
});
