// long: starts whole programs
/** A configuration that changes while a real gateway starts, runs, stops or is killed. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { freePort } from "../../../free-port.ts";
import { home } from "../svc.ts";

const use = ["config", "health"];
const token = { auth: { token: "t" } };

/** A plugin that refuses a log level, and has a slow method. */
const GATE = `import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { defineContract, definePlugin, Strict, Type } from "@svc/sdk";
const gate = defineContract("gate", {
  wait: { summary: "Waits", scope: "operator.read", params: Strict({}), result: Type.Object({}) },
});
export default definePlugin({
  id: "gate",
  api: "^1.0.0",
  setup(gateway) {
    const wait = () => {
      writeFileSync(join(gateway.stateDir, "waiting"), "");
      return new Promise((done) => setTimeout(() => done({}), 3_000));
    };
    gateway.serve(gate, { wait });
    gateway.hooks.configValidate.tap(({ config }) =>
      config.logging?.level === "debug" ? { allow: false, reason: "debug lines are too much here" } : undefined,
    );
  },
});
`;

describe("svc gateway run --last-good", { timeout: 120_000 }, () => {
  it("starts with the last configuration that worked if the file is invalid, and health reports it", async (t) => {
    const { svc, run, configPath } = home(t, { gateway: token, plugins: { use } });
    await (await run()).stop();
    writeFileSync(configPath, JSON.stringify({ gateway: { ...token, prot: 1 }, plugins: { use } }));
    const refused = await svc(["gateway", "run", "--port", "0"]);
    assert.deepEqual([refused.code, /unexpected property 'prot'/.test(refused.stderr)], [1, true], refused.stderr);
    await run(["--last-good"]);
    const { code, stdout } = await svc(["gateway", "health"]);
    assert.match(
      stdout,
      /^Configuration: the last one that worked; the file was rejected at the start\nNext: svc config validate$/m,
    );
    assert.equal(code, 0);
  });

  it("finds a complete one after kill -9 at any moment of its write", async (t) => {
    const { svc, run, configPath, stateDir } = home(t, { gateway: token, plugins: { use } });
    for (let round = 0; round < 4; round++) {
      const running = await run();
      for (let change = 0; change < 5; change++) {
        const level = change % 2 ? "info" : "warn";
        writeFileSync(configPath, JSON.stringify({ gateway: token, logging: { level }, plugins: { use } }));
        await pause(310 + round * 7 + change);
      }
      await running.stop("SIGKILL");
      const { config } = JSON.parse(readFileSync(join(stateDir, "last-good-config.json"), "utf8"));
      assert.deepEqual([config.gateway, config.plugins], [token, { use }]);
    }
    writeFileSync(configPath, "{");
    await run(["--last-good"]);
    assert.equal((await svc(["gateway", "call", "config.get"])).code, 0);
  });
});

describe("svc config set while a gateway runs", { timeout: 120_000 }, () => {
  async function gated(t: Parameters<typeof home>[0]) {
    const here = home(t, { gateway: token, plugins: { use: [...use, "./gate.ts"] } });
    writeFileSync(join(dirname(here.configPath), "gate.ts"), GATE);
    return { ...here, running: await here.run() };
  }

  it("shows why a plugin refuses the change", async (t) => {
    const { svc } = await gated(t);
    const { code, stdout, stderr } = await svc(["config", "set", "logging.level", "debug"]);
    const told = `The gateway does not use it: debug lines are too much here\nNext: set another value; svc logs shows details\n`;
    assert.deepEqual([code, stdout.slice(stdout.indexOf("\n") + 1), stderr], [1, told, ""]);
    const { running } = JSON.parse((await svc(["gateway", "call", "config.get", "--json"])).stdout);
    assert.equal(running.refused.reason, "debug lines are too much here");
  });

  it("writes while the gateway stops, and reports whether the change is used", async (t) => {
    const { svc, running, configPath, stateDir } = await gated(t);
    const waiting = svc(["gateway", "call", "gate.wait"]);
    while (!existsSync(join(stateDir, "plugins/gate/waiting"))) await pause(20);
    running.kill("SIGTERM");
    const set = await svc(["config", "set", "logging.level", "warn"]);
    assert.equal(set.code, 0, set.stderr);
    assert.match(
      set.stdout,
      /: changed logging\.level\n(No gateway runs here; the next start|The gateway) uses it\.\n$/,
    );
    assert.deepEqual([(await waiting).code, (await running.ended).code], [0, 0], "what was under way ends first");
    assert.equal(JSON.parse(readFileSync(configPath, "utf8")).logging.level, "warn");
  });

  it("moves the gateway to another port", async (t) => {
    const [before, after] = [await freePort(), await freePort()];
    const { svc, run } = home(t, { gateway: { ...token, port: before }, plugins: { use } });
    const { port } = await run([], []);
    assert.equal(port, String(before));
    const { code, stdout, stderr } = await svc(["config", "set", "gateway.port", String(after)]);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^The gateway has restarted and uses it\.$/m);
    assert.match(stderr, /^The gateway restarts within \d s to use it/);
    assert.equal((await svc(["gateway", "probe"])).code, 0, "the command finds the new port by itself");
    assert.notEqual((await svc(["gateway", "probe", "--url", `ws://127.0.0.1:${before}`])).code, 0);
  });
});
