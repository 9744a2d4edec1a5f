/** New device keys while the garbage collector runs often. */
// long: makes 10,000 keys
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { it } from "node:test";
import { promisify } from "node:util";
import { root } from "../checkout.ts";

const COUNT = 10_000;
const SCRIPT = `
import { createDevice } from "@svc/sdk/device";
const ids = new Set(Array.from({ length: ${COUNT} }, () => createDevice().id));
process.stdout.write(String(ids.size));
`;

it("10,000 new devices are made, each with a key of its own, and the process does not hang", async () => {
  const args = ["--max-semi-space-size=1", "--input-type=module", "--eval", SCRIPT];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root, timeout: 120_000 });
  assert.equal(stdout, String(COUNT));
});
