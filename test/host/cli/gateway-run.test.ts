// long: starts whole programs
import assert from "node:assert/strict";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { directory } from "../../directory.ts";
import { startGatewayProcess } from "../../gateway-process.ts";
import { home } from "./svc.ts";
import { until } from "../../until.ts";

const few = { plugins: { use: ["config"] } };
const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

describe("svc gateway run", () => {
  it("starts the whole bundle and prints one line of JSON", async (t) => {
    const here = home(t);
    const { ready, stop } = await here.run();
    assert.match(ready.url, /^ws:\/\/127\.0\.0\.1:\d+$/);
    const { plugins, ...rest } = ready as unknown as { plugins: { id: string; state: string; reason?: string }[] };
    assert.deepEqual(
      plugins.filter(({ state }) => state !== "active").map(({ id, reason }) => `${id}: ${reason}`),
      [],
    );
    assert.ok(plugins.length >= 9);
    const told = { ready: true, stateDir: here.stateDir, authMode: "token", warnings: [] };
    assert.deepEqual(rest, { url: ready.url, version: ready["version"], ...told });
    assert.equal((await fetch(`${ready.url.replace("ws", "http")}/healthz`)).status, 200);
    const { code, stdout, stderr } = await stop();
    assert.deepEqual([code, stderr], [0, ""]);
    assert.equal(stdout.trimEnd().split("\n").length, 1);
    await assert.rejects(fetch(ready.url.replace("ws", "http")), "its port is free");
    assert.ok(!existsSync(here.configPath), "the configuration file is never written");
  });

  it("ends with 0 on svc gateway stop without a service; a second stop finds no gateway", async (t) => {
    const { svc, run } = home(t, few);
    const { ready, pid, ended } = await run();
    const stopped = await svc(["gateway", "stop"]);
    const stdout = `The gateway (process ${pid}, ${ready.url}) was stopped.\n`;
    assert.deepEqual(stopped, { code: 0, stdout, stderr: "" });
    assert.equal((await ended).code, 0);
    const again = await svc(["gateway", "stop"]);
    assert.equal(again.code, 1);
    assert.match(
      again.stderr,
      /no gateway runs on the state directory .*and no service is installed\nNext: svc gateway run/,
    );
  });

  it("makes its state private to its owner, generates a token once, and reuses it at later starts", async (t) => {
    const { stateDir, run } = home(t, few);
    const token = () => readFileSync(join(stateDir, "credentials/gateway-token"), "utf8");
    const first = await run();
    const modes = (...names: string[]) => names.map((name) => modeOf(join(stateDir, name)));
    assert.deepEqual(modes("", "credentials", "cache"), ["700", "700", "700"]);
    assert.deepEqual(modes("credentials/gateway-token", "startup-report.json"), ["600", "600"]);
    const made = token();
    assert.match(made, /^[0-9a-f]{48}\n$/);
    await first.stop();
    await run();
    assert.equal(token(), made);
  });

  it("generates no token if one is configured, never prints one, and never writes the configuration file", async (t) => {
    const text = "// mine\n{ plugins: { use: ['config'] }, gateway: { auth: { token: 'CANARY' } } }\n";
    const { stateDir, configPath, run } = home(t, text);
    const { stop, ready } = await run();
    const { stdout, stderr } = await stop();
    assert.equal(ready["authMode"], "token");
    assert.ok(!`${stdout}${stderr}${readFileSync(join(stateDir, "startup-report.json"), "utf8")}`.includes("CANARY"));
    assert.ok(!existsSync(join(stateDir, "credentials/gateway-token")));
    assert.equal(readFileSync(configPath, "utf8"), text);
  });

  it("takes mode, token and password from its flags, before and after the configuration changes [H2.3]", async (t) => {
    const auth = { mode: "password", password: "kept", token: "kept" };
    const { configPath, run, svc } = home(t, { ...few, gateway: { auth } });
    const { ready, stop } = await run(["--auth", "token", "--token", "flag"]);
    assert.equal(ready["authMode"], "token");
    const call = (token: string) =>
      svc(["gateway", "call", "config.get", "--url", ready.url, "--token", token, "--json"]);
    assert.equal((await call("kept")).code, 1);
    assert.ok(!(await call("flag")).stdout.includes("reconnect"));
    const changed = { ...few, channels: { reconnect: 1 }, gateway: { auth: { mode: "none" } } };
    writeFileSync(configPath, JSON.stringify(changed));
    await until(async () => (await call("flag")).stdout.includes("reconnect"));
    assert.equal((await call("kept")).code, 1);
    assert.equal((await stop()).code, 0);
  });

  it("refuses an unknown mode, and lists the valid ones", async (t) => {
    const { code, stderr } = await home(t, few).svc(["gateway", "run", "--auth", "open"]);
    assert.equal(code, 2);
    assert.match(stderr, /--auth open: must be one of token, password, none, trusted-proxy\nNext: svc gateway run/);
  });

  it("names a plugin that did not come up, and runs without it", async (t) => {
    const here = home(t, { plugins: { use: ["config", "./broken.ts"] }, typo: 1 });
    const source =
      'import { definePlugin } from "@svc/sdk";\nexport default definePlugin({ id: "broken", api: "^1.0.0", setup() { throw new Error("no luck"); } });\n';
    writeFileSync(join(dirname(here.configPath), "broken.ts"), source);
    const { ready } = await here.run(["--log-level", "silent"]);
    const { plugins, warnings } = ready as unknown as { plugins: Record<string, unknown>[]; warnings: string[] };
    const told = plugins.map(({ id, state, reason }) => [id, state, reason]);
    assert.deepEqual(told, [
      ["broken", "failed", "setup: no luck"],
      ["config", "active", undefined],
    ]);
    assert.deepEqual(warnings, ["typo: not used: no plugin in use has this section; kept unchanged"]);
  });
});

describe("svc gateway run refuses to start", () => {
  it("on a port that is in use, and prints the next step", async (t) => {
    const first = home(t, few);
    const { port } = await first.run();
    const sentence = `port ${port} on 127.0.0.1 is already in use, perhaps by another gateway\nNext: run svc gateway stop, or choose another port: svc gateway run --port <port>`;
    const again = ["gateway", "run", "--port", port];
    const second = home(t, few);
    assert.deepEqual(await second.svc(again), { code: 1, stdout: "", stderr: `${sentence}\n` });
    const { code, stdout } = await second.svc([...again, "--json"]);
    assert.equal(code, 1);
    assert.deepEqual(JSON.parse(stdout), { ok: false, error: { code: "LOCAL", message: sentence } });
  });

  const wrong = { gateway: { port: "x" }, logging: { lvl: 1 } };
  const open = { gateway: { bind: "lan", auth: { mode: "none" } } };
  const told =
    /^the configuration \S+svc\.json is not valid:\n {2}gateway\.port: must be integer\n {2}logging: unexpected property 'lvl'\nNext: .*svc config validate\n$/;
  const refusals: [why: string, config: unknown, says: RegExp, env?: Record<string, string>][] = [
    ["with a wrong configuration", wrong, told],
    ["for everybody without authentication", open, /anyone could use this gateway; set gateway\.auth\.mode to "token"/],
    [
      "on a port that is none, before any plugin runs",
      {},
      /SVC_GATEWAY_PORT is "eighty"; set it to a whole number from 0 to 65535/,
      { SVC_GATEWAY_PORT: "eighty" },
    ],
    [
      "in a path that is not a directory",
      {},
      /the state directory cannot be used: .*\nNext: choose another directory with SVC_STATE_DIR/,
      { SVC_STATE_DIR: "/dev/null/svc" },
    ],
  ];
  for (const [why, config, says, env = {}] of refusals) {
    it(`${why}, and prints the next step`, async (t) => {
      const port = env["SVC_GATEWAY_PORT"] ? [] : ["--port", "0"];
      const { code, stdout, stderr } = await home(t, config).svc(["gateway", "run", ...port], env);
      assert.deepEqual([code, stdout], [1, ""]);
      assert.match(stderr, says);
      assert.ok(!/^\s+at .*:\d+:\d+/m.test(stderr), "no stack trace");
    });
  }
});

it("svc gateway run logs as configured, also after the configuration changes", { timeout: 120_000 }, async (t) => {
  const stateDir = directory(t);
  const file = join(stateDir, "svc.json");
  writeFileSync(file, '{ plugins: { use: ["health"] }, logging: { level: "info" } }');
  const gateway = await startGatewayProcess(stateDir, {}, { logLevel: "configured" });
  t.after(() => gateway.kill());
  const refused = async () => {
    const before = gateway.log().length;
    await gateway.connect({ token: "wrong" }).catch(() => undefined); // logged as info
    await new Promise((resolve) => setTimeout(resolve, 50));
    return gateway.log().slice(before).includes("connect refused");
  };
  assert.equal(await refused(), true);
  writeFileSync(file, '{ plugins: { use: ["health"] }, logging: { level: "error" } }');
  while (await refused()) await new Promise((resolve) => setTimeout(resolve, 100));
});
