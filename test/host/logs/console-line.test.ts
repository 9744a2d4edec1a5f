/** Log lines on the console. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, it } from "node:test";
import { consoleLine } from "../../../host/logs/console-line.ts";
import { logSettings } from "../../../host/logs/settings.ts";
import { root } from "../../checkout.ts";

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
      "has them from a module's URL, whatever libraries came before",
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

it("the style is compact on a terminal and json elsewhere, unless the configuration sets one", () => {
  const paths = { stateDir: "/s", home: "/h" };
  const style = (section: Parameters<typeof logSettings>[0], isTerminal: boolean) =>
    logSettings(section, paths, undefined, isTerminal).console.style;
  assert.deepEqual(
    [style({}, true), style({}, false), style({ consoleStyle: "pretty" }, true)],
    ["compact", "json", "pretty"],
  );
});

it("an error is logged with its own fields, without inherited constants", () => {
  const code = `import { createLogger } from ${JSON.stringify(join(root, ".build/host/logs/log.js"))};
    import { logSettings } from ${JSON.stringify(join(root, ".build/host/logs/settings.js"))};
    const log = createLogger(logSettings({ file: "/dev/null" }, { stateDir: "/nowhere", home: "/" }, "error"));
    log.error({ err: AbortSignal.abort().reason }, "x");
    log.error({ err: Object.assign(new Error("y"), { code: "EPERM", path: "/p" }) }, "y");`;
  const { stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", code], { encoding: "utf8" });
  const keys = stderr
    .trim()
    .split("\n")
    .map((one) => Object.keys((JSON.parse(one) as { err: object }).err).sort());
  assert.deepEqual(keys, [
    ["message", "stack", "type"],
    ["code", "message", "path", "stack", "type"],
  ]);
});
