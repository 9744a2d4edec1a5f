import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { describeReload } from "../../../../plugins/plugins/cli/reload.ts";

const done = { id: "a", ok: true, state: "active", generation: 3, rolledBack: false, restarted: [], heldMs: 12 };

describe("a reload in words", () => {
  const rows: [why: string, report: Parameters<typeof describeReload>[0], text: string][] = [
    ["done", done, "a: reloaded, generation 3; calls to it were held 12 ms"],
    [
      "with others",
      { ...done, restarted: ["b", "c"] },
      "a: reloaded, generation 3; calls to it were held 12 ms\nrestarted with it: b, c",
    ],
    [
      "rolled back",
      { ...done, ok: false, reason: "start: no", rolledBack: true },
      "a: not reloaded: start: no\nrolled back: the previous version runs again (generation 3); calls to it were held 12 ms\nNext: svc plugins why a",
    ],
    [
      "refused beforehand",
      { ...done, ok: false, reason: "import: no" },
      "a: not reloaded: import: no\nthe previous version keeps running (generation 3)\nNext: svc plugins why a",
    ],
    [
      "lost",
      { ...done, ok: false, reason: "start: no", state: "failed" },
      "a: not reloaded: start: no\nthe plugin is now failed; calls to it were held 12 ms\nNext: svc plugins why a",
    ],
  ];
  for (const [why, report, text] of rows) it(why, () => assert.equal(describeReload(report), text));
});
