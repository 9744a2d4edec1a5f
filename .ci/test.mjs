// Runs the compiled tests. `npm test -- kernel` runs only files whose path contains "kernel".
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));
const filters = process.argv.slice(2);
const files = readdirSync(".build/test", { recursive: true })
  .map((name) => join(".build/test", name))
  .filter(
    (name) => name.endsWith(".test.js") && (filters.length === 0 || filters.some((filter) => name.includes(filter))),
  )
  .sort();
if (files.length === 0) {
  process.stderr.write(`no test file matches ${filters.join(", ")}\n`);
  process.exit(1);
}
const reporter = process.env.CI || !process.stdout.isTTY ? ["--test-reporter=spec"] : [];
const { status } = spawnSync(
  process.execPath,
  ["--test", "--test-concurrency=2", "--test-timeout=1200000", ...reporter, ...files],
  { stdio: "inherit", env: { ...process.env, SVC_WATCHDOG: "off" } }, // a test that blocks the event loop is no news
);
process.exit(status ?? 1);
