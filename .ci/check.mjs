// `npm run check`: what to run before a commit. Builds, then checks format, lint, the rules of the tree and the generated reference.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));

const STEPS = [
  ["build and types", ".ci/build.mjs", "--if-changed"],
  ["format", "node_modules/oxfmt/bin/oxfmt", "--check"],
  ["lint", "node_modules/oxlint/bin/oxlint", "--type-aware", "--deny-warnings"],
  [
    "rules of the tree",
    ".ci/test.mjs",
    "test/architecture",
    "test/docs",
    "test/settings-readers",
    "sdk/error-codes",
    "dev/docs",
  ],
];
for (const [name, script, ...args] of STEPS) {
  process.stdout.write(`== ${name}\n`);
  const { status } = spawnSync(process.execPath, [script, ...args], { stdio: "inherit" });
  if (status !== 0) fail(`${name} failed`);
}
const { status, stdout } = spawnSync("git", ["status", "--porcelain", "--", "sdk/reference"], { encoding: "utf8" });
if (status === 0 && stdout !== "")
  fail(
    `the reference is stale, and the build has written it anew:\n${stdout}Next: git add sdk/reference, and commit it`,
  );

function fail(why) {
  process.stderr.write(`check: ${why}\n`);
  process.exit(1);
}
