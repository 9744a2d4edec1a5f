// long: starts many programs
import assert from "node:assert/strict";
import { chmodSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { askNewest } from "../../../plugins/update/newest.ts";
import { directory, put } from "../../directory.ts";
import { fakeNpm, ORDER, putHost, QUESTION, updaterOf } from "./scene.ts";

const view = (version: string) => `console.log(JSON.stringify(${JSON.stringify(version)}));`;
const npmOf = (version: string) => ({
  view: view(version),
  install: `host("node_modules/@svc/host", ${JSON.stringify(version)}); fs.mkdirSync("node_modules/@svc/plugin-config"); fs.writeFileSync("package.json", JSON.stringify({ dependencies: { "@svc/host": ${JSON.stringify(version)} } }));`,
});

const FILES = ["node_modules", "package.json", "state", "svc.json"];
const failing = (text: string) => `console.error(${JSON.stringify(text)}); process.exit(1);`;

/** A directory as `svc trim` creates it: no lock file; configuration and state next to it. */
function scene(t: TestContext, verbs: Readonly<Record<string, string>> = npmOf("1.1.0")) {
  const root = directory(t);
  const dependencies = { "@svc/host": "1.0.0", "@svc/plugin-config": "1.0.0" };
  put(join(root, "package.json"), JSON.stringify({ dependencies }));
  put(join(root, "svc.json"), "{}");
  put(join(root, "state/kept"), "kept");
  putHost(join(root, "node_modules/@svc/host"), "1.0.0");
  put(join(root, "node_modules/@svc/plugin-config/package.json"), "{}");
  const npm = fakeNpm(t, verbs);
  const hostDirectory = join(root, "node_modules/@svc/host");
  return { root, npm, hostDirectory, updater: updaterOf({ hostDirectory, places: npm.places }) };
}

const version = (host: string) =>
  (JSON.parse(readFileSync(join(host, "package.json"), "utf8")) as { version: string }).version;

describe("an update of installed packages", { timeout: 120_000 }, () => {
  it("installs separately, tests the version there, and puts it in place", async (t) => {
    const { root, npm, hostDirectory, updater } = scene(t);
    const { report } = await updater.run(ORDER);
    assert.equal(report.status, "ok", JSON.stringify(report));
    assert.deepEqual([report.before, report.after], [{ version: "1.0.0" }, { version: "1.1.0" }]);
    assert.equal(version(hostDirectory), "1.1.0");
    assert.deepEqual(readdirSync(root).sort(), FILES);
    assert.match(readFileSync(join(root, "package.json"), "utf8"), /1\.1\.0/);
    assert.match(
      npm.asked()[1] ?? "",
      /^--ignore-scripts .* install --save-exact @svc\/host@latest @svc\/plugin-config@latest$/,
    );
  });

  it("replaces each package of a global install, and no other package", async (t) => {
    const prefix = directory(t);
    const lib = join(prefix, "lib");
    putHost(join(lib, "node_modules/@svc/host"), "1.0.0");
    put(join(lib, "node_modules/other/index.js"), "other");
    const npm = fakeNpm(t, {
      view: view("1.1.0"),
      install: `host(join(args[args.indexOf("--prefix") + 1], "lib/node_modules/@svc/host"), "1.1.0");`,
    });
    const hostDirectory = join(lib, "node_modules/@svc/host");
    const { report } = await updaterOf({ hostDirectory, places: npm.places }).run(ORDER);
    assert.equal(report.status, "ok", JSON.stringify(report));
    assert.equal(version(hostDirectory), "1.1.0");
    assert.ok(existsSync(join(lib, "node_modules/other/index.js")));
    assert.deepEqual(readdirSync(lib), ["node_modules"]);
  });

  const skipped: [reason: string, verbs: Record<string, string>][] = [
    ["up-to-date", { view: view("1.0.0") }],
    ["up-to-date", { view: view("0.9.0") }],
    ["not-published", { view: failing("npm error code E404") }],
  ];
  for (const [reason, verbs] of skipped) {
    it(`is skipped when the registry says ${reason}: ${verbs["view"]}`, async (t) => {
      const { npm, updater } = scene(t, verbs);
      const { report } = await updater.run(ORDER);
      assert.deepEqual([report.status, report.reason, npm.asked().length], ["skipped", reason, 1]);
    });
  }

  const { install: other } = npmOf("1.0.5");
  const faults: [why: string, verbs: Record<string, string>, told: RegExp][] = [
    ["the registry does not answer", { view: failing("npm error ECONNREFUSED") }, /ECONNREFUSED/],
    ["npm fails", { view: view("1.1.0"), install: failing("npm error ENOSPC") }, /ENOSPC/],
    [
      "npm installs something else",
      { view: view("1.1.0"), install: other },
      /npm should have installed 1\.1\.0, but installed 1\.0\.5/,
    ],
    ["the new version does not start", npmOf("1.1.0-broken"), /does not start/],
  ];
  for (const [why, verbs, told] of faults) {
    it(`changes nothing when ${why}`, async (t) => {
      const { root, hostDirectory, updater } = scene(t, verbs);
      const { report, why: sentence } = await updater.run(ORDER);
      assert.equal(report.status, "error");
      assert.match(sentence ?? "", told);
      assert.equal(version(hostDirectory), "1.0.0");
      assert.deepEqual(readdirSync(root).sort(), FILES);
      assert.match(readFileSync(join(root, "package.json"), "utf8"), /"1\.0\.0"/);
    });
  }

  it("changes nothing in a dry run", async (t) => {
    const { root, npm, updater } = scene(t);
    const { report } = await updater.run({ ...ORDER, dryRun: true });
    assert.deepEqual([report.status, report.reason, report.after], ["skipped", "dry-run", { version: "1.1.0" }]);
    const plan = report.plan?.map(({ name }) => name);
    assert.deepEqual(plan, ["install", "prove", "switch"]);
    assert.equal(npm.asked().length, 1);
    assert.deepEqual(readdirSync(root).sort(), FILES);
  });

  it("is skipped in a read-only directory", { skip: process.getuid?.() === 0 && "root may" }, async (t) => {
    const { root, updater } = scene(t);
    chmodSync(root, 0o500);
    assert.equal((await updater.run(ORDER)).report.reason, "not-writable");
  });

  it("is ended when a step takes too long", async (t) => {
    const { updater } = scene(t, { view: `setTimeout(() => {}, 60_000);` });
    const { report } = await updater.run({ ...ORDER, timeoutMs: 1_000 });
    assert.equal(report.status, "error");
    assert.match(report.reason ?? "", /timed out/);
  });

  it("is detected by the tag of the channel", async (t) => {
    const { npm, hostDirectory } = scene(t);
    const answer = await askNewest({ ...QUESTION, hostDirectory, channel: "beta", places: npm.places });
    const available = { currentVersion: "1.0.0", latestVersion: "1.1.0", channel: "beta" };
    assert.deepEqual(answer, { mode: "npm", available });
    assert.match(npm.asked()[0] ?? "", /view @svc\/host@beta version --json$/);
  });
});
