/** `npm run release`: versions and changelog, in a copy of the package files. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { root } from "./checkout.ts";

/** The package files of this checkout in a separate repository, below `.build`, where the script finds its library. */
function copy(t: TestContext) {
  const directory = mkdtempSync(join(root, ".build", "release-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const git = (...args: string[]) => execFileSync("git", args, { cwd: directory, encoding: "utf8" });
  const packages = execFileSync("git", ["ls-files", "package.json", "*/package.json"], { cwd: root, encoding: "utf8" });
  for (const file of [...packages.trim().split("\n"), ".ci/release.mjs", "package-lock.json", "sdk/plugin.ts"]) {
    mkdirSync(dirname(join(directory, file)), { recursive: true });
    if (existsSync(join(root, file))) cpSync(join(root, file), join(directory, file));
  }
  writeFileSync(
    join(directory, "CHANGELOG.md"),
    "# Changelog\n\n## 0.1.0 - unreleased\n\n- News.\n\n## 0.0.9 - 2026-01-01\n",
  );
  git("init", "-q");
  git("add", "-A");
  git("-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", "start");
  const release = (...args: string[]) =>
    spawnSync(process.execPath, [".ci/release.mjs", ...args], { cwd: directory, encoding: "utf8" });
  const text = (file: string) => readFileSync(join(directory, file), "utf8");
  return { directory, git, release, text, json: (file: string) => JSON.parse(text(file)) as Package };
}

interface Package {
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly packages?: Readonly<Record<string, Package>>;
}

describe("npm run release", () => {
  it("writes the version to every package, its dependents, the lock file and the changelog", (t) => {
    const { release, json, text } = copy(t);
    const { status, stdout, stderr } = release("7.0.0", "--sdk", "8.0.0");
    assert.equal(status, 0, stderr);
    assert.match(stdout, /packages are 7\.0\.0, @svc\/sdk is 8\.0\.0\.\nNext:\n/);
    assert.match(text("CHANGELOG.md"), /^# Changelog\n\n## 7\.0\.0 - \d{4}-\d\d-\d\d\n\n- News\.\n\n## 0\.0\.9/);
    assert.match(text("sdk/plugin.ts"), /API_VERSION = "8\.0\.0"/);
    assert.deepEqual(
      ["package.json", "host/package.json", "plugins/cron/package.json", "sdk/package.json"].map(
        (file) => json(file).version,
      ),
      ["7.0.0", "7.0.0", "7.0.0", "8.0.0"],
    );
    assert.notEqual(json("examples/ask-first/package.json").version, "7.0.0", "examples are not released");
    const { dependencies, peerDependencies } = json("plugins/cron/package.json");
    assert.deepEqual([dependencies?.["@svc/kit"], peerDependencies?.["@svc/sdk"]], ["^7.0.0", "^8.0.0"]);
    const locked = json("package-lock.json");
    const cron = locked.packages?.["plugins/cron"];
    assert.deepEqual([locked.version, cron?.version, cron?.dependencies?.["@svc/kit"]], ["7.0.0", "7.0.0", "^7.0.0"]);
  });

  const refused: [why: string, args: string[], says: RegExp][] = [
    ["no version", [], /the version is missing\nNext: npm run release/],
    ["no semver", ["next"], /the version is next\n/],
    ["an older version", ["0.0.1"], /0\.0\.1 is older than/],
    ["an SDK version that is not newer", ["7.0.0", "--sdk", "0.9.0"], /--sdk 0\.9\.0 is not newer/],
  ];
  it("refuses a wrong version, uncommitted changes and a changelog without news, and changes nothing", (t) => {
    const { directory, git, release } = copy(t);
    for (const [why, args, says] of refused) {
      const { status, stderr } = release(...args);
      assert.equal(status, 1, why);
      assert.match(stderr, says);
    }
    assert.equal(git("status", "--porcelain"), "");
    writeFileSync(join(directory, "CHANGELOG.md"), "# Changelog\n\n## 0.1.0 - 2026-01-01\n");
    assert.match(release("7.0.0").stderr, /the working tree has changes/);
    git("-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qam", "released");
    assert.match(release("7.0.0").stderr, /no section .*\nNext: /);
  });
});
