/** `update.run` in a gateway: refused inside another program; in its own process the restart runs the new code. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { matches } from "@svc/sdk";
import { connect } from "@svc/sdk/client";
import { testGateway } from "@svc/sdk/testing";
import { update, updateAvailable } from "@svc/sdk/update";
import updatePlugin from "../../../plugins/update/plugin.ts";
import configPlugin from "../../../plugins/config/plugin.ts";
import { root } from "../../checkout.ts";
import { directory } from "../../directory.ts";
import { publishedViolations } from "../../published.ts";
import { fakeNpm } from "./scene.ts";

describe("update.run of a gateway inside another program", () => {
  it("is skipped, and its note is stored for the next start", async (t) => {
    const { client, stateDir } = await testGateway(t, { plugins: [updatePlugin, configPlugin] });
    const done = await client.call(update.run, { note: "now", sessionKey: "main" });
    assert.deepEqual(
      [done.ok, done.result.status, done.result.reason, done.restart],
      [true, "skipped", "embedded", null],
    );
    assert.equal(done.sentinel.path, join(stateDir, "restart-sentinel.json"));
    const file = JSON.parse(readFileSync(done.sentinel.path, "utf8")) as { payload: object };
    assert.deepEqual(file.payload, done.sentinel.payload);
    const { updateAvailable: known, checkedAt } = await client.call(update.check, {});
    assert.deepEqual([known, checkedAt, "updateAvailable" in client.hello.snapshot], [null, null, false]);
  });

  it("reports the last update of this process in update.status, which checks nothing", async (t) => {
    const config = { update: { channel: "beta", auto: { enabled: true } } };
    const { client } = await testGateway(t, { plugins: [updatePlugin, configPlugin], config });
    const before = await client.call(update.status, {});
    const known = { updateAvailable: null, effectiveChannel: "beta", schedule: { channel: "beta", autoEnabled: true } };
    assert.deepEqual(before, { sentinel: null, ...known });
    await client.call(update.run, { dryRun: true });
    assert.equal((await client.call(update.status, {})).sentinel, null);
    const { sentinel } = await client.call(update.run, {});
    const after = await client.call(update.status, {});
    assert.deepEqual(after, { sentinel: sentinel.payload, ...known });
    assert.deepEqual(publishedViolations("UpdateStatusResult", after), []);
  });

  it("stores nothing in a dry run, and logs the note if no plugin stores notes", async (t) => {
    const { client, stateDir } = await testGateway(t, { plugins: [updatePlugin] });
    const { sentinel } = await client.call(update.run, {});
    assert.equal(sentinel.path, null);
    await client.call(update.run, { dryRun: true });
    assert.ok(!existsSync(join(stateDir, "restart-sentinel.json")));
  });

  it("counts against the limit of methods that may restart the gateway [H9.7]", async (t) => {
    const { client } = await testGateway(t, { plugins: [updatePlugin, configPlugin] });
    for (let turn = 0; turn < 3; turn++) await client.call(update.run, { dryRun: true });
    const refusal = { code: "UNAVAILABLE", details: { method: "config.patch", limit: "3 per 60s" } };
    await assert.rejects(client.request("config.patch", { raw: "{}", baseHash: "stale" }), refusal);
  });
});

/** The built packages in a directory as npm installs them, with a version of the test's. */
function installed(t: TestContext): string {
  const place = directory(t, "svc-installed-");
  const modules = join(place, "node_modules");
  const ours = {
    "@svc/sdk": "sdk",
    "@svc/kit": "sdk/kit",
    "@svc/host": "host",
    "@svc/cli": "host/cli",
    "@svc/plugin-config": "plugins/config",
    "@svc/plugin-update": "plugins/update",
  };
  for (const [name, from] of Object.entries(ours)) {
    const copied = (path: string) => !/\/(types|node_modules)$/.test(path);
    cpSync(join(root, from, "dist"), join(modules, name, "dist"), { recursive: true, filter: copied });
    cpSync(join(root, from, "package.json"), join(modules, name, "package.json"));
  }
  cpSync(join(root, "host/cli/svc.js"), join(modules, "@svc/cli/svc.js"));
  mkdirSync(join(modules, "@photostructure"));
  for (const name of ["jiti", "semver", "@photostructure/sqlite"])
    symlinkSync(join(root, "node_modules", name), join(modules, name));
  writeFileSync(join(place, "package.json"), JSON.stringify({ private: true, dependencies: { "@svc/cli": "0.1.0" } }));
  writeFileSync(join(place, "svc.json"), JSON.stringify({ plugins: { use: ["config", "update"] } }));
  return place;
}

/** Copies the packages, and gives the host another version. */
const INSTALL = `fs.cpSync("../node_modules", "node_modules", { recursive: true, verbatimSymlinks: true });
const path = "node_modules/@svc/host/package.json";
fs.writeFileSync(path, JSON.stringify({ ...JSON.parse(fs.readFileSync(path)), version: "9.9.9" }));`;

describe("svc gateway run after an update", { timeout: 120_000 }, () => {
  it("runs the new code in a new process on the same port, which posts the outcome [W11.14]", async (t) => {
    const place = installed(t);
    const npm = fakeNpm(t, { view: `console.log('"9.9.9"')`, install: INSTALL });
    const own = Object.entries(process.env).filter(([name]) => !name.startsWith("SVC_"));
    const env = {
      ...Object.fromEntries(own),
      PATH: [npm.bin, process.env["PATH"]].join(delimiter),
      SVC_STATE_DIR: join(place, "state"),
      SVC_CONFIG_PATH: join(place, "svc.json"),
    };
    const script = join(place, "node_modules/@svc/cli/svc.js");
    const child = spawn(process.execPath, [script, "gateway", "run", "--port", "0", "--json"], {
      env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    t.after(() => child.kill("SIGKILL"));
    const ended = once(child, "exit");
    let errors = "";
    const said = (pattern: RegExp) =>
      new Promise<string>((resolve, reject) => {
        const look = () => pattern.test(errors) && resolve(errors);
        child.stderr.on("data", look);
        void ended.then(([code]) => reject(new Error(`it ended with ${String(code)}: ${errors}`)));
        look();
      });
    child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
    const [line] = (await Promise.race([once(child.stdout, "data"), said(/never/).then(() => [""])])) as [Buffer];
    const { url } = JSON.parse(line.toString().split("\n")[0] ?? "") as { url: string };
    const token = readFileSync(join(place, "state/credentials/gateway-token"), "utf8").trim();
    const client = await connect({ url, token });
    t.after(() => client.close());
    assert.equal(client.hello.server.version, "0.1.0");

    const heard = new Promise((resolve) => client.on(updateAvailable, resolve));
    const answer = await client.call(update.check, {});
    const available = { currentVersion: "0.1.0", latestVersion: "9.9.9", channel: "stable" };
    assert.deepEqual([answer.mode, answer.updateAvailable, answer.reason], ["npm", available, undefined]);
    assert.deepEqual(await heard, { updateAvailable: available });
    const second = await connect({ url, token });
    assert.deepEqual({ ...second.hello.snapshot, updateAvailable: available }, second.hello.snapshot);
    await second.close();

    const looked = await client.call(update.run, { dryRun: true });
    assert.deepEqual(
      [looked.result.reason, looked.result.after, looked.restart],
      ["dry-run", { version: "9.9.9" }, null],
    );
    const done = await client.call(update.run, { note: "brought in", restartDelayMs: 0 }, { timeoutMs: 100_000 });
    assert.ok(matches(update.run.result, done));
    assert.equal(done.result.status, "ok", JSON.stringify(done.result));
    assert.deepEqual([done.restart?.scheduled, done.restart?.reason, done.restart?.delayMs], [true, "update.run", 0]);

    await said(/gateway restarted \(update\.run\)/);
    await said(/brought in/); // there is no session to tell: it stands in the log
    const renewed = await connect({ url, token });
    assert.equal(renewed.hello.server.version, "9.9.9");
    await renewed.close();
    assert.ok(!existsSync(join(place, "state/restart-sentinel.json")));
    child.kill("SIGTERM");
    assert.deepEqual(await ended, [0, null]);
    await assert.rejects(connect({ url, token }), { code: "UNAVAILABLE" });
  });

  it("exits with code 75 under a supervisor", async (t) => {
    const { keepRenewing } = await import("../../../host/cli/renewal.ts");
    process.env["SVC_SUPERVISOR"] = "systemd";
    t.after(() => delete process.env["SVC_SUPERVISOR"]);
    const output = { json: false, print: () => assert.fail(), note: () => assert.fail() };
    assert.equal(await keepRenewing({ reason: "update.run", at: 0, port: 1 }, output), 75);
  });
});
