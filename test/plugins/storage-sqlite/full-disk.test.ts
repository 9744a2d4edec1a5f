import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { DatabaseSync } from "@photostructure/sqlite";
import { tempDirectory } from "./temp-directory.ts";

const script = fileURLToPath(new URL("./disk-filler.js", import.meta.url));
const skip = spawnSync("prlimit", ["--version"]).status === 0 ? false : "needs prlimit (util-linux)";

assert.ok(!skip || !process.env["CI"], `in CI this test may not be skipped: it ${skip}`);

describe("files that may not grow", { skip }, () => {
  it("refuse writes with UNAVAILABLE, keep reads, and take writes again without a restart", (t) => {
    const file = join(tempDirectory(t), "svc.db");
    const { acknowledged, code, retryAfterMs, during, after, noted, isReadable, eventsAfter } = JSON.parse(
      execFileSync(process.execPath, [script, file], { encoding: "utf8" }),
    );
    assert.ok(acknowledged > 0 && acknowledged < 1_000);
    assert.deepEqual({ code, retryAfterMs }, { code: "UNAVAILABLE", retryAfterMs: 1_000 });
    assert.deepEqual(during, { count: acknowledged, refused: 3 });
    assert.equal(after, acknowledged + 1);
    assert.ok(noted > 0 && noted < 1_000 && isReadable);
    assert.equal(eventsAfter, noted + 1);
    const database = new DatabaseSync(file);
    t.after(() => database.close());
    assert.deepEqual({ ...database.prepare("PRAGMA integrity_check").get() }, { integrity_check: "ok" });
  });
});
