// long: starts whole programs
import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { type Home, home } from "../svc.ts";

const talking = "models agents sessions storage-sqlite provider-openai provider-offline tools channels".split(" ");
const few = { plugins: { use: ["config"] } };

/** A plugin whose schema marks a secret that its key name does not suggest. */
const VAULT = `import { definePlugin, Type } from "@svc/sdk";
export default definePlugin({
  id: "vault",
  api: "^1.0.0",
  config: Type.Object({ size: Type.Integer({ default: 1 }), pin: Type.Optional(Type.String({ sensitive: true })) }),
  setup() {},
});
`;

function vault(t: TestContext, section: object, enabled: boolean): Home {
  const plugins = { use: ["./vault.ts"], entries: { vault: { enabled } } };
  const here = home(t, { vault: section, plugins });
  writeFileSync(join(dirname(here.configPath), "vault.ts"), VAULT);
  return here;
}

describe("svc config file", () => {
  it("prints the path of an existing or missing file, as text or JSON", async (t) => {
    const { svc, configPath, stateDir } = home(t);
    assert.deepEqual(await svc(["config", "file"]), { code: 0, stdout: `${configPath}\n`, stderr: "" });
    assert.deepEqual(JSON.parse((await svc(["config", "file", "--json"])).stdout), { path: configPath });
    const unnamed = await svc(["config", "file"], { SVC_CONFIG_PATH: "" });
    assert.equal(unnamed.stdout, `${join(stateDir, "svc.json")}\n`);
    assert.ok(!existsSync(stateDir), "asking makes nothing");
  });
});

describe("svc config get", () => {
  const config = `{
    // JSON5
    gateway: { port: 19001, auth: { token: "CANARY" }, bind: "\${BIND}" },
    models: { providers: { x: { apiKey: "CANARY" } } },
    plugins: { use: ["config"] },
  }`;
  const env = { BIND: "lan" };

  it("shows everything, secrets hidden, variables filled in", async (t) => {
    const { code, stdout } = await home(t, config).svc(["config", "get"], env);
    assert.equal(code, 0);
    assert.deepEqual(JSON.parse(stdout), {
      gateway: { port: 19001, auth: { token: "__SVC_REDACTED__" }, bind: "lan" },
      models: { providers: { x: { apiKey: "__SVC_REDACTED__" } } },
      plugins: { use: ["config"] },
    });
  });

  it("shows one value, or says that it is not set and exits 1", async (t) => {
    const { svc, configPath } = home(t, config);
    const values: [path: string, args: string[], stdout: string][] = [
      ["gateway.port", [], "19001\n"],
      ["gateway.bind", ["--json"], '"lan"\n'],
      ["gateway.auth", ["--json"], '{"token":"__SVC_REDACTED__"}\n'],
      ["gateway.auth.token", [], "__SVC_REDACTED__\n"],
      ["plugins.use.0", [], "config\n"],
    ];
    for (const [path, args, stdout] of values)
      assert.deepEqual(await svc(["config", "get", path, ...args], env), { code: 0, stdout, stderr: "" });
    for (const path of ["gateway.prot", "constructor"]) {
      const stderr = `${path} is not set in ${configPath}\nNext: svc config get\n`;
      assert.deepEqual(await svc(["config", "get", path], env), { code: 1, stdout: "", stderr });
    }
  });

  it("reports why a file cannot be read, and the next step", async (t) => {
    const broken = home(t, "{ gateway: }");
    const { code, stderr } = await broken.svc(["config", "get"]);
    assert.equal(code, 1);
    assert.match(stderr, /svc\.json: JSON5: invalid character '}' at 1:12\nNext: svc config validate\n$/);
    const unset = await home(t, config).svc(["config", "get"]);
    assert.equal(unset.code, 1);
    assert.match(unset.stderr, /svc\.json: gateway\.bind: environment variable BIND is not set/);
  });

  it("hides keys that the schema of an enabled or disabled plugin marks as secret", async (t) => {
    for (const enabled of [true, false]) {
      const { stdout } = await vault(t, { pin: "CANARY", size: 2 }, enabled).svc(["config", "get", "vault", "--json"]);
      assert.deepEqual(JSON.parse(stdout), { pin: "__SVC_REDACTED__", size: 2 });
    }
  });
});

describe("svc config validate", () => {
  it("accepts a missing file and a valid one", async (t) => {
    const none = home(t);
    const { code, stdout } = await none.svc(["config", "validate"]);
    assert.deepEqual([code, stdout], [0, `${none.configPath} does not exist; the defaults apply\n`]);
    const right = home(t, few);
    const valid = await right.svc(["config", "validate"]);
    assert.deepEqual(valid, { code: 0, stdout: `${right.configPath} is valid\n`, stderr: "" });
    const report = { path: right.configPath, exists: true, valid: true, issues: [], warnings: [] };
    const json = JSON.parse((await right.svc(["config", "validate", "--json"])).stdout);
    assert.deepEqual(json, { ...report, unused: [], withoutEffect: [] });
  });

  it("prints warnings of plugins and keys without effect, and calls the file valid", async (t) => {
    const { svc, configPath } = home(t, {
      cron: { webhook: "https://example.com" },
      agents: { defaults: { model: "foo/bar" } },
      channels: { box: { allowFrom: ["*"] } },
      plugins: { use: talking },
    });
    const { code, stdout } = await svc(["config", "validate"]);
    const lines = stdout.trimEnd().split("\n");
    assert.deepEqual([code, lines.pop()], [0, `${configPath} is valid`]);
    assert.deepEqual(
      lines.map((line) => line.split(": ")[0]),
      [
        "warning  channels.box",
        "warning  agents.defaults.model",
        "warning  channels.box.allowFrom",
        "ignored  cron.webhook",
      ],
    );
    assert.match(stdout, /^warning {2}agents\.defaults\.model: no model "foo\/bar"; available: offline\/offline\./m);
    assert.match(stdout, /^ignored {2}cron\.webhook: each job names its own webhook$/m);
    const answer = JSON.parse((await svc(["config", "validate", "--json"])).stdout);
    assert.equal(answer.withoutEffect[0].path, "cron.webhook");
    assert.deepEqual(answer.unused, ["channels.box"]);
    const doctor = JSON.parse((await svc(["doctor", "--json"])).stdout) as {
      findings: { check: string; severity: string; about: string }[];
    };
    const found = doctor.findings.filter(({ check }) => check === "config");
    assert.deepEqual(
      found.map(({ severity, about }) => [severity, about.slice(configPath.length + 2)]),
      [
        ["error", "agents.defaults.model"],
        ["warning", "channels.box"],
        ["warning", "channels.box.allowFrom"],
      ],
    );
  });

  it("names every invalid key by its path, shows no valid or invalid secret, and exits 1", async (t) => {
    const { svc, configPath } = home(t, {
      ...few,
      gateway: { port: "x", auth: { mode: "open", token: ["CANARY"], password: "CANARY" } },
      logging: { lvl: 1 },
    });
    const { code, stdout } = await svc(["config", "validate"]);
    assert.equal(code, 1);
    assert.deepEqual(stdout.split("\n"), [
      "error    gateway.port: must be integer",
      'error    gateway.auth.mode: must be one of "none", "token", "password", "trusted-proxy"',
      "error    gateway.auth.token: must be string",
      "error    logging: unexpected property 'lvl'",
      `${configPath} is not valid`,
      "",
    ]);
    const json = await svc(["config", "validate", "--json"]);
    const report = JSON.parse(json.stdout);
    assert.deepEqual([report.valid, report.issues.length], [false, 4]);
    assert.equal(report.issues[3].unexpected, "lvl");
    assert.ok(!`${stdout}${json.stdout}${json.stderr}`.includes("CANARY"));
  });

  it("checks the sections of plugins, but not of a disabled one", async (t) => {
    const wrong = await vault(t, { size: "x" }, true).svc(["config", "validate"]);
    assert.equal(wrong.code, 1);
    assert.match(wrong.stdout, /^error {4}vault\.size: must be integer$/m);
    const disabled = await vault(t, { size: "x" }, false).svc(["config", "validate"]);
    assert.equal(disabled.code, 0);
    assert.match(disabled.stdout, /^warning {2}vault: not used: plugin vault is not running; kept unchanged$/m);
  });

  it("warns of unread keys and missing plugins, and calls the file valid", async (t) => {
    const { svc } = home(t, { typo: 1, plugins: { use: ["config", "no-such"] } });
    const { code, stdout } = await svc(["config", "validate"]);
    assert.equal(code, 0);
    assert.match(stdout, /^warning {2}typo: not used: no plugin in use has this section/m);
    assert.match(stdout, /^warning {2}plugins: no plugin or package "no-such" is installed; next: npm install/m);
  });

  it("does not crash on an invalid section of plugins; nor does plugins list", async (t) => {
    const crooked: [path: string, plugins: unknown][] = [
      ["plugins", null],
      ["plugins.use", { use: "config" }],
      ["plugins.use[0]", { use: [1] }],
      ["plugins.load", { load: "x" }],
      ["plugins.load.paths", { load: { paths: "x" } }],
      ["plugins.load.paths[0]", { load: { paths: [null] } }],
      ["plugins.entries", { entries: [] }],
      ["plugins.entries.x", { entries: { x: null } }],
    ];
    const { svc, configPath } = home(t);
    for (const [path, plugins] of crooked) {
      writeFileSync(configPath, JSON.stringify({ plugins }));
      const { code, stdout, stderr } = await svc(["config", "validate", "--json"]);
      assert.deepEqual([code, stderr], [1, ""]);
      const paths = JSON.parse(stdout).issues.map((issue: { path: string }) => issue.path);
      assert.ok(paths.includes(path), stdout);
      assert.equal((await svc(["plugins", "list", "--json"])).code, 0, path);
    }
  });
});

describe("svc config schema", { timeout: 120_000 }, () => {
  it("prints the whole schema, sections of plugins included, or one part", async (t) => {
    const { svc } = home(t, { plugins: { use: ["sessions"] } });
    const whole = JSON.parse((await svc(["config", "schema"])).stdout);
    assert.ok(whole.properties.gateway && whole.properties.session);
    const { stdout } = await svc(["config", "schema", "gateway.port", "--json"]);
    assert.deepEqual(JSON.parse(stdout), whole.properties.gateway.properties.port);
  });

  it("refuses an unknown key with the next step", async (t) => {
    const { code, stdout, stderr } = await home(t, few).svc(["config", "schema", "gateway.prot"]);
    assert.deepEqual([code, stdout], [1, ""]);
    assert.match(stderr, /neither the host nor a plugin in use defines the key gateway\.prot\nNext: svc config schema/);
  });
});

describe("svc config validate <file>", { timeout: 120_000 }, () => {
  it("checks another file, and reports a missing one and a directory", async (t) => {
    const { svc, configPath } = home(t, few);
    const draft = join(dirname(configPath), "draft.json");
    writeFileSync(draft, '{ "gateway": { "port": "x" } }');
    const wrong = await svc(["config", "validate", draft]);
    assert.deepEqual(
      [wrong.code, wrong.stdout],
      [1, `error    gateway.port: must be integer\n${draft} is not valid\n`],
    );
    const none = await svc(["config", "validate", `${draft}.gone`]);
    assert.deepEqual([none.code, none.stdout.split("\n")[0]], [1, "error    (file): the file does not exist"]);
    const place = dirname(configPath);
    const unreadable = await svc(["config", "validate", place]);
    assert.equal(unreadable.code, 1);
    assert.ok(unreadable.stdout.includes(`error    (file): cannot read ${place}: EISDIR`), unreadable.stdout);
  });
});
