// long: starts whole programs
import assert from "node:assert/strict";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { describe, it } from "node:test";
import JSON5 from "json5";
import { home } from "../svc.ts";

const few = { plugins: { use: ["config"] } };

describe("svc config set", { timeout: 120_000 }, () => {
  it("writes one value, reports how it takes effect, and leaves the rest unchanged", async (t) => {
    const { svc, configPath } = home(t, "{\n  // mine\n  plugins: { use: ['config'] },\n}\n");
    const { code, stdout, stderr } = await svc(["config", "set", "gateway.port", "19001"]);
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(stdout, /svc\.json: changed gateway\.port\nNo gateway runs here; the next start uses it\.$/m);
    const text = readFileSync(configPath, "utf8");
    assert.deepEqual(JSON5.parse(text)["gateway"], { port: 19_001 });
    assert.match(text, /^ {2}\/\/ mine\n {2}plugins: \{ use: \['config'\] \},$/m);
    assert.equal(statSync(configPath).mode & 0o777, 0o600);
  });

  it("waits until the gateway of this state directory has read it, and reports that it uses it or restarts for it", async (t) => {
    const { svc, run } = home(t, few);
    await run();
    const used = await svc(["config", "set", "logging.level", "debug"]);
    assert.deepEqual([used.code, used.stderr], [0, ""]);
    assert.match(used.stdout, /^The gateway uses it\.$/m);
    const { code, stdout, stderr } = await svc(["config", "set", "gateway.customBindHost", "127.0.0.1"]);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^The gateway has restarted and uses it\.$/m);
    assert.match(stderr, /^The gateway restarts within \d s/);
  });

  it("reports that the gateway needs a manual restart, but not the gateway of another state directory", async (t) => {
    const { svc, run } = home(t, { ...few, gateway: { reload: { mode: "off" } } });
    await run();
    const { code, stdout, stderr } = await svc(["config", "set", "logging.level", "debug"]);
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(
      stdout,
      /^The gateway uses it, except logging\.level, which takes effect after a restart\.\nNext: svc gateway restart/m,
    );
    const other = await home(t, few).svc(["config", "set", "logging.level", "debug"]);
    assert.match(other.stdout, /^No gateway runs here/m);
  });

  it("names the written keys, not the defaults added with them", async (t) => {
    const { svc } = home(t, { plugins: { use: ["models"] } });
    const provider = '{ baseUrl: "http://127.0.0.1:9", models: [{ id: "m" }] }';
    const { stdout } = await svc(["config", "set", "models.providers.acme", provider]);
    assert.match(stdout, /: changed models\.providers\.acme\.baseUrl, models\.providers\.acme\.models\n/);
  });

  it("accepts items of lists, quoted keys, JSON5, text and negative numbers", async (t) => {
    const { svc } = home(t, few);
    const values: [args: string[], path: string, value: unknown][] = [
      [["plugins.use[1]", "./notes"], "plugins.use[1]", "./notes"],
      [["plugins.use.1", "config"], "plugins.use", ["config", "config"]],
      [['meta."a.b"', "[1, {a: 2}]"], 'meta."a.b"', [1, { a: 2 }]],
      [["--string", "gateway.auth.token", "12345"], "gateway.auth", { token: "__SVC_REDACTED__" }],
      [["--", "meta.below", "-5"], "meta.below", -5],
    ];
    for (const [args, path, value] of values) {
      const { code, stderr } = await svc(["config", "set", ...args]);
      assert.deepEqual([code, stderr], [0, ""], path);
      const { stdout } = await svc(["config", "get", path, "--json"]);
      assert.deepEqual(JSON.parse(stdout), value);
    }
  });

  it("warns of a section that nobody reads", async (t) => {
    const { svc } = home(t, few);
    const { code, stdout, stderr } = await svc(["config", "set", "agnets.x", "1", "--json"]);
    assert.deepEqual([code, JSON.parse(stdout).changed], [0, ["agnets.x"]]);
    assert.match(stderr, /^warning: agnets: not used: no plugin in use .*\nNext: svc config unset agnets/);
    const plain = await svc(["config", "set", "agnets.x", "2"]);
    assert.doesNotMatch(plain.stdout, /gateway runs here/);
  });

  const use = "models agents sessions storage-sqlite provider-openai provider-offline tools".split(" ");
  const acme = { models: { providers: { acme: { baseUrl: "http://127.0.0.1:9", models: [{ id: "m1" }] } } } };

  it("accepts a model that does not exist with a warning, also if a change of another key causes it", async (t) => {
    const { svc } = home(t, { plugins: { use }, ...acme });
    const wrong = await svc(["config", "set", "agents.defaults.model", "acme/m2"]);
    assert.equal(wrong.code, 0, wrong.stderr);
    assert.match(
      wrong.stderr,
      /^warning: agents\.defaults\.model: no model "acme\/m2"; available: acme\/m1, offline\/offline\..* Did you mean acme\/m1\?$/m,
    );
    assert.equal((await svc(["config", "set", "logging.level", "debug"])).stderr, "", "it is nothing new");
    assert.equal((await svc(["config", "set", "agents.defaults.model", "acme/m1"])).stderr, "");
    const gone = await svc(["config", "unset", "models.providers.acme"]);
    assert.match(gone.stderr, /^warning: agents\.defaults\.model: no model "acme\/m1"; available: offline\/offline/);
  });

  it("refuses an invalid value, names the path and the expected type, and changes nothing", async (t) => {
    const { svc, configPath } = home(t, few);
    const before = readFileSync(configPath, "utf8");
    const { code, stdout, stderr } = await svc(["config", "set", "gateway.port", "high"]);
    assert.deepEqual([code, stdout], [1, ""]);
    assert.equal(stderr, "gateway.port: must be integer\nNothing was changed.\nNext: svc config schema gateway.port\n");
    assert.equal(readFileSync(configPath, "utf8"), before);
    const number = await svc(["config", "set", "gateway.auth.token", "12345"]);
    assert.equal(number.code, 1);
    assert.match(number.stderr, /To set it as text: svc config set --string gateway\.auth\.token 12345\n/);
    const unknown = await svc(["config", "set", "gateway.prot", "1"]);
    assert.match(
      unknown.stderr,
      /^gateway: unexpected property 'prot'\nNothing was changed\.\nNext: svc config schema gateway\n$/,
    );
    const json = await svc(["config", "set", "gateway.prot", "1", "--json"]);
    const { error } = JSON.parse(json.stdout);
    assert.deepEqual([json.code, error.code, error.details.issues.length], [1, "INVALID_REQUEST", 1]);
  });

  it("repairs an invalid file, but not one that cannot be read", async (t) => {
    const { svc } = home(t, { ...few, gateway: { port: "x" } });
    assert.equal((await svc(["config", "set", "gateway.port", "1"])).code, 0);
    const broken = await home(t, "{ gateway: }").svc(["config", "set", "gateway.port", "1"]);
    assert.equal(broken.code, 1);
    assert.match(broken.stderr, /^\(file\): .*\nNothing was changed\.\nNext: svc config validate\n$/);
  });

  it("creates a missing file, prints JSON, and reports when the file already has the value", async (t) => {
    const { svc, configPath } = home(t);
    const { path, changed, reload, hash } = JSON.parse(
      (await svc(["config", "set", "logging.level", "warn", "--json"])).stdout,
    );
    assert.deepEqual([path, changed, reload], [configPath, ["logging.level"], "hot"]);
    assert.match(hash, /^[0-9a-f]{64}$/);
    const { code, stdout } = await svc(["config", "set", "logging.level", "warn"]);
    assert.deepEqual([code, stdout], [0, `${configPath} already has this value.\n`]);
  });

  it("never shows a secret", async (t) => {
    const { svc } = home(t, few);
    for (const args of [[], ["--json"]]) {
      const { code, stdout, stderr } = await svc(["config", "set", "gateway.auth.token", "CANARY", ...args]);
      assert.equal(code, 0);
      assert.ok(!`${stdout}${stderr}`.includes("CANARY"));
    }
  });

  it("reports wrong usage, and creates no file", async (t) => {
    const { svc, configPath } = home(t);
    for (const [args, says] of [
      [["gateway..port", "1"], /"gateway\.\.port" is not a configuration path; use the form gateway\.port/],
      [["meta.x", "{a: }"], /is not JSON5: .*\nNext: correct it, or add --string/],
      [["meta.__proto__.x", "1"], /"__proto__" cannot be a key/],
    ] as const) {
      const { code, stdout, stderr } = await svc(["config", "set", ...args]);
      assert.deepEqual([code, stdout, existsSync(configPath)], [2, "", false]);
      assert.match(stderr, says);
    }
  });
});

describe("svc config unset", { timeout: 120_000 }, () => {
  it("removes one value, and reports a key that is not set, with the next step", async (t) => {
    const { svc, configPath } = home(t, { ...few, gateway: { port: 1, auth: { mode: "token" } } });
    const { code, stdout } = await svc(["config", "unset", "gateway.port"]);
    assert.equal(code, 0);
    assert.match(stdout, /changed gateway\.port/);
    assert.deepEqual(JSON.parse(readFileSync(configPath, "utf8")).gateway, { auth: { mode: "token" } });
    const stderr = `gateway.port is not set in ${configPath}\nNext: svc config get\n`;
    assert.deepEqual(await svc(["config", "unset", "gateway.port"]), { code: 1, stdout: "", stderr });
  });
});

describe("a configuration no gateway would start with", { timeout: 120_000 }, () => {
  const broken = { ...few, gateway: { auth: { mode: "trusted-proxy" } } };

  it("cannot result from one command", async (t) => {
    const { svc, configPath } = home(t, few);
    const { code, stderr } = await svc(["config", "set", "gateway.auth.mode", "trusted-proxy"]);
    assert.equal(code, 1);
    assert.match(stderr, /a gateway would not start: .*gateway\.auth\.trustedProxy is not set.*\nNext: /);
    assert.deepEqual(JSON.parse(readFileSync(configPath, "utf8")), few);
  });

  it("does not block a change that fixes it, or an unrelated change", async (t) => {
    const { svc, configPath } = home(t, broken);
    assert.equal((await svc(["config", "set", "logging.level", "info"])).code, 0);
    assert.equal((await svc(["config", "set", "gateway.auth.mode", "token"])).code, 0);
    assert.equal(JSON.parse(readFileSync(configPath, "utf8")).gateway.auth.mode, "token");
  });

  it("is reported by config validate, and by config.get of a running gateway", async (t) => {
    const here = home(t, few);
    await here.run();
    writeFileSync(here.configPath, JSON.stringify(broken));
    const { code, stdout, stderr } = await here.svc(["config", "validate"]);
    assert.equal(code, 1);
    assert.match(stdout, /^error {4}gateway: gateway\.auth\.mode is trusted-proxy and /);
    assert.match(stderr, /^Next: correct the file; svc config schema gateway shows/);
    const { valid, issues } = JSON.parse((await here.svc(["gateway", "call", "config.get"])).stdout);
    assert.equal(valid, false);
    assert.match(issues[0].message, /gateway\.auth\.trustedProxy is not set/);
  });
});
