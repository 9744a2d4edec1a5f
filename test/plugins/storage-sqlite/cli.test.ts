/** Output of `svc storage usage` and `clean`. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { cleanedLines, usageLines } from "../../../plugins/storage-sqlite/cli-text.ts";

const notes = { id: "notes", plugin: "p", tables: ["notes"], files: [], holds: "what\u202e was noted", rule: "7 days" };
const usage = {
  location: "/state/svc.db",
  bytes: 3_145_728,
  freeBytes: 1_024,
  givesBack: true,
  items: [{ ...notes, rows: 12, bytes: 1_048_576 }],
};

describe("storage usage", () => {
  it("shows what takes room, and when it goes", () => {
    assert.deepEqual(usageLines(usage), [
      "what   size     rows or files  contents              retention",
      "notes  1.0 MiB  12             what\\u202e was noted  7 days",
      "",
      "/state/svc.db: 3.0 MiB, 1.0 KiB free",
    ]);
  });
  it("names the vacuum where nothing else gives space back", () => {
    assert.match(usageLines({ ...usage, givesBack: false }).at(-1) ?? "", /svc storage clean --vacuum$/);
  });
});

describe("storage clean", () => {
  const rows: [Parameters<typeof cleanedLines>, string[]][] = [
    [[{ items: [{ id: "a", deleted: 0 }] }, false], ["Nothing has expired."]],
    [
      [{ items: [{ id: "a", deleted: 3 }] }, false],
      ["what  deleted", "a     3"],
    ],
    [
      [{ items: [{ id: "a", deleted: 3 }], usage }, true],
      ["what  would be deleted", "a     3", "A vacuum would give back 1.0 KiB of 3.0 MiB."],
    ],
    [
      [{ items: [], vacuum: { before: 2_048, after: 512, ms: 7 } }, false],
      ["Nothing has expired.", "The database shrank from 2.0 KiB to 512 B in 7 ms."],
    ],
  ];
  for (const [given, lines] of rows) it(lines.join("; "), () => assert.deepEqual(cleanedLines(...given), lines));
});
