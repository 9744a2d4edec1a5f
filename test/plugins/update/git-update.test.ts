// long: starts many programs
import assert from "node:assert/strict";
import { appendFileSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { askNewest } from "../../../plugins/update/newest.ts";
import { directory, put } from "../../directory.ts";
import { fakeNpm, git, ORDER, putHost, QUESTION, updaterOf } from "./scene.ts";

const NPM = {
  ci: `fs.mkdirSync("node_modules/@svc", { recursive: true }); fs.symlinkSync("../../host/cli", "node_modules/@svc/cli"); fs.mkdirSync("node_modules/left", { recursive: true }); fs.writeFileSync("node_modules/left/index.js", "new");`,
  run: `fs.mkdirSync("host/dist", { recursive: true }); fs.writeFileSync("host/dist/index.js", "built of " + JSON.parse(fs.readFileSync("host/package.json")).version);`,
};

/** A remote, and a built checkout of it. */
function scene(t: TestContext, verbs: Readonly<Record<string, string>> = NPM) {
  const place = directory(t);
  const origin = join(place, "origin");
  const root = join(place, "checkout");
  put(join(origin, "package.json"), JSON.stringify({ name: "svc-workspace", workspaces: ["host"] }));
  put(join(origin, ".gitignore"), "node_modules/\ndist/\nown/\n");
  putHost(join(origin, "host"), "1.0.0", join(origin, "host/cli"));
  git(origin, "init", "--quiet");
  git(origin, "add", ".");
  git(origin, "commit", "--quiet", "-m", "one");
  git(place, "clone", "--quiet", origin, "checkout");
  put(join(root, "node_modules/left/index.js"), "old");
  put(join(root, "host/dist/index.js"), "built of 1.0.0");
  put(join(root, "own/file"), "kept");
  const npm = fakeNpm(t, verbs);
  const updater = updaterOf({ hostDirectory: join(root, "host"), places: npm.places });
  const release = (version = "1.1.0") => {
    putHost(join(origin, "host"), version, join(origin, "host/cli"));
    git(origin, "commit", "--quiet", "-am", version);
    return git(origin, "rev-parse", "HEAD");
  };
  return { origin, root, npm, updater, release, head: () => git(root, "rev-parse", "HEAD") };
}

const built = (root: string) => readFileSync(join(root, "host/dist/index.js"), "utf8");
const tidy = (root: string) => assert.doesNotMatch(readdirSync(root).join(" "), /\.svc-update/);

describe("an update of a checkout", { timeout: 120_000 }, () => {
  it("builds and tests the new version separately, and puts it in place", async (t) => {
    const { root, npm, updater, release, head } = scene(t);
    const before = head();
    const sha = release();
    const { report } = await updater.run(ORDER);
    assert.equal(report.status, "ok", JSON.stringify(report));
    assert.deepEqual(report.before, { sha: before, version: "1.0.0" });
    assert.deepEqual(report.after, { sha, version: "1.1.0" });
    assert.deepEqual([head(), built(root)], [sha, "built of 1.1.0"]);
    assert.equal(readFileSync(join(root, "node_modules/left/index.js"), "utf8"), "new");
    assert.equal(readFileSync(join(root, "own/file"), "utf8"), "kept", "what is ignored and not built stays");
    assert.ok(npm.asked().every((line) => line.startsWith("--ignore-scripts ")));
    const expected = ["fetch", "install", "build", "version", "start", "switch"];
    const names = report.steps.map(({ name }) => name).filter((name) => expected.includes(name));
    assert.deepEqual(names, expected);
    assert.ok(report.steps.every(({ exitCode, durationMs, cwd }) => exitCode === 0 && durationMs >= 0 && cwd !== ""));
    assert.equal(git(root, "worktree", "list").split("\n").length, 1);
    tidy(root);
    assert.equal((await updater.run(ORDER)).report.reason, "up-to-date");
  });

  it("changes nothing in a dry run", async (t) => {
    const { root, npm, updater, release, head } = scene(t);
    const before = head();
    const sha = release();
    const refs = git(root, "for-each-ref");
    const { report } = await updater.run({ ...ORDER, dryRun: true });
    assert.deepEqual([report.status, report.reason, report.after], ["skipped", "dry-run", { sha }]);
    const plan = report.plan?.map(({ name }) => name);
    assert.deepEqual(plan, ["fetch", "worktree", "install", "build", "prove", "switch"]);
    assert.deepEqual([head(), git(root, "for-each-ref"), npm.asked()], [before, refs, []]);
    tidy(root);
  });

  const faults: [why: string, verbs: Record<string, string>, version: string, told: RegExp][] = [
    [
      "npm fails",
      { ...NPM, ci: `console.error("https://me:hunter22@registry.example 503"); process.exit(1)` },
      "1.1.0",
      /^install: https:\/\/\*\*\*@registry\.example 503$/,
    ],
    [
      "the build fails",
      { ...NPM, run: `console.error("types do not check"); process.exit(2)` },
      "1.1.0",
      /^build: types do not check/,
    ],
    ["the new version does not start", NPM, "1.1.0-broken", /^start: the new version does not start/],
  ];
  for (const [why, verbs, version, told] of faults) {
    it(`changes nothing when ${why}`, async (t) => {
      const { root, updater, release, head } = scene(t, verbs);
      const before = head();
      release(version);
      const { report } = await updater.run(ORDER);
      assert.equal(report.status, "error");
      assert.match(report.reason ?? "", told);
      assert.ok(!JSON.stringify(report).includes("hunter22"));
      assert.deepEqual([head(), built(root)], [before, "built of 1.0.0"]);
      assert.equal(readFileSync(join(root, "node_modules/left/index.js"), "utf8"), "old");
      assert.equal(git(root, "status", "--porcelain"), "");
      tidy(root);
    });
  }

  const refusals: [reason: string, prepare: (root: string) => void][] = [
    ["dirty", (root) => appendFileSync(join(root, "package.json"), "\n")],
    ["detached", (root) => git(root, "checkout", "--quiet", "--detach")],
    ["no-upstream", (root) => git(root, "checkout", "--quiet", "-b", "own")],
    [
      "diverged",
      (root) => {
        put(join(root, "mine"), "mine");
        git(root, "add", "mine");
        git(root, "commit", "--quiet", "-m", "mine");
      },
    ],
  ];
  for (const [reason, prepare] of refusals) {
    it(`is skipped if the checkout is ${reason}, with the steps by hand`, async (t) => {
      const { root, npm, updater, release } = scene(t);
      release();
      prepare(root);
      const head = git(root, "rev-parse", "HEAD");
      const { report, byHand } = await updater.run(ORDER);
      assert.deepEqual([report.status, report.reason], ["skipped", reason]);
      assert.ok(byHand?.[0]?.startsWith("cd "));
      assert.deepEqual([git(root, "rev-parse", "HEAD"), npm.asked()], [head, []]);
    });
  }

  it("is undone when a file of the user is in the way", async (t) => {
    const { root, origin, updater, head } = scene(t);
    const before = head();
    put(join(origin, "notes"), "theirs");
    git(origin, "add", "notes");
    git(origin, "commit", "--quiet", "-m", "notes");
    put(join(root, "notes"), "mine");
    const { report } = await updater.run(ORDER);
    assert.deepEqual([report.status, head(), built(root)], ["error", before, "built of 1.0.0"]);
    assert.match(report.reason ?? "", /^switch: .*notes/);
    assert.equal(readFileSync(join(root, "notes"), "utf8"), "mine");
  });

  it("is one at a time", async (t) => {
    const { root, updater, release } = scene(t);
    release();
    const [first, second] = await Promise.all([updater.run(ORDER), updater.run(ORDER)]);
    assert.deepEqual([first.report.status, second.report.status], ["ok", "skipped"]);
    assert.equal(second.report.reason, "already-running");
    put(join(root, ".svc-update.lock"), JSON.stringify({ pid: process.ppid, host: "elsewhere", id: "x" }));
    const third = await updater.run(ORDER);
    assert.equal(third.report.reason, "already-running", "nor by another process");
  });

  it("is detected without writing anything", async (t) => {
    const { root, npm, release, head } = scene(t);
    const place = { hostDirectory: join(root, "host"), places: npm.places };
    const ask = () => askNewest({ ...QUESTION, ...place, channel: "stable" });
    assert.deepEqual(await ask(), { mode: "git", available: null });
    const sha = release();
    const currentVersion = `1.0.0+${head().slice(0, 7)}`;
    const available = { currentVersion, latestVersion: sha.slice(0, 7), channel: "main" };
    assert.deepEqual(await ask(), { mode: "git", available });
    assert.ok(!existsSync(join(root, ".git/FETCH_HEAD")));
  });
});
