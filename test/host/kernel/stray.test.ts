/** Stray errors are attributed to their plugin, count towards its quarantine, and do not end the process. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

it("the fifth rejection within a minute sends the plugin into quarantine", { timeout: 120_000 }, async () => {
  const child = fileURLToPath(new URL("./stray-child.js", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [child], { timeout: 15_000 });
  assert.deepEqual(JSON.parse(stdout), ["active", "active", "active", "active", "quarantined"]);
});
