/** Every row of the specification is in the title of a test, or gives the reason why it has no test. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { root } from "../../checkout.ts";
import { ROWS } from "./rows.ts";

/** Ids of rows in a title. */
const IN_TITLE = /\[([HW]\d[\d.]*(?: [HW]\d[\d.]*)*)\]["`]/g;

const tested = new Set(
  readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".test.ts"))
    .flatMap((file) => [...readFileSync(join(root, "test", file), "utf8").matchAll(IN_TITLE)])
    .flatMap(([, ids = ""]) => ids.split(" ")),
);

describe("the rows of the specification", () => {
  it("are in the title of a test, unless they give a reason", () => {
    const bare = Object.entries(ROWS).filter(([id, row]) => typeof row === "string" && !tested.has(id));
    assert.deepEqual(bare, []);
  });

  it("that a title names exist, and need a test", () => {
    assert.deepEqual(
      [...tested].filter((id) => typeof ROWS[id] !== "string"),
      [],
    );
  });
});
