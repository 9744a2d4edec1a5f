/** The map of rows stays valid: every test it names exists. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { root } from "../../checkout.ts";
import { pages } from "./rows.ts";

const sources = new Map<string, string>();

/** Text of a test file; empty when the file does not exist. */
function sourceOf(file: string): string {
  const path = join(root, "test", `${file}.test.ts`);
  if (!sources.has(file)) sources.set(file, existsSync(path) ? readFileSync(path, "utf8") : "");
  return sources.get(file) ?? "";
}

describe("the rows of the specification", () => {
  for (const [page, rows] of Object.entries(pages)) {
    it(`of ${page} name existing tests`, () => {
      const lost = Object.entries(rows).flatMap(([row, entry]) =>
        "tests" in entry
          ? entry.tests.flatMap(([file, name]) =>
              sourceOf(file).includes(name) ? [] : [`${row}: test/${file}.test.ts has no "${name}"`],
            )
          : [],
      );
      assert.deepEqual(lost, []);
    });

    it(`of ${page} each have a test or a reason`, () => {
      const bare = Object.entries(rows).flatMap(([row, entry]) =>
        "tests" in entry && entry.tests.length === 0 ? [row] : [],
      );
      assert.deepEqual(bare, []);
    });
  }
});
