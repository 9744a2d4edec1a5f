// long: starts whole programs
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { home, type Home } from "./svc.ts";

const few = { plugins: { use: ["config"] } };
const hashOf = async ({ svc }: Home) =>
  JSON.parse((await svc(["gateway", "call", "config.get", "--json"])).stdout).hash as string;

describe("svc gateway run, restarted", { timeout: 120_000 }, () => {
  it("by SIGUSR1 keeps its process, address and state; retries while the configuration refuses a start, until a signal ends it", async (t) => {
    const off = { ...few, gateway: { reload: { mode: "off" } } };
    const here = home(t, off);
    const { ready, says, kill, stop } = await here.run();
    kill("SIGUSR1");
    assert.match(
      await says(/gateway restarted .*\n/),
      /^gateway restarted \(SIGUSR1\): ws:\/\/\S+, plugins 1 of 1 active\n$/,
    );
    assert.equal((await fetch(`${ready.url.replace("ws", "http")}/healthz`)).status, 200);
    assert.ok(await hashOf(here), "the token is the same");
    writeFileSync(here.configPath, JSON.stringify({ ...off, logging: { level: 5 } }));
    kill("SIGUSR1");
    assert.match(await says(/restart failed[^]*every 5 s\.\n/), /logging\.level: must be one of/);
    writeFileSync(here.configPath, JSON.stringify(off));
    await says(/gateway restarted [^]*gateway restarted \(SIGUSR1\)/);
    writeFileSync(here.configPath, "{");
    kill("SIGUSR1");
    await says(/restart failed[^]*restart failed/);
    assert.equal((await stop()).code, 0);
  });

  it("by a configuration change reads the new configuration", async (t) => {
    const here = home(t, few);
    const { says, stop } = await here.run();
    const { hash } = JSON.parse((await here.svc(["gateway", "call", "config.get", "--json"])).stdout);
    const raw = JSON.stringify({ gateway: { bind: "loopback" } });
    const params = JSON.stringify({ raw, baseHash: hash, restartDelayMs: 0, note: "bound anew" });
    const called = await here.svc(["gateway", "call", "config.patch", "--json", "--params", params]);
    const { restart, sentinel, changed } = JSON.parse(called.stdout);
    assert.deepEqual([restart.scheduled, restart.reason, changed], [true, "config.patch", ["gateway.bind"]]);
    assert.equal(sentinel.path, join(here.stateDir, "restart-sentinel.json"));
    assert.match(await says(/gateway restarted .*\n/), /\(config\.patch\): \S+, plugins 1 of 1 active\n$/);
    await says(/bound anew/); // without a session to notify, the log has the message
    assert.equal((await stop()).code, 0);
    assert.throws(() => readFileSync(sentinel.path), { code: "ENOENT" });
  });
});
