/** No file descriptor is left: open sockets continue, new ones are refused, and all recovers when descriptors are free again. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { type GatewayError, isGatewayError } from "@svc/sdk";
import { agents } from "@svc/sdk/agents";
import { chat } from "@svc/sdk/chat";
import { config } from "@svc/sdk/config";
import { health } from "@svc/sdk/health";
import { startFakeModelServer } from "@svc/sdk/testing";
import { startGatewayProcess } from "../gateway-process.ts";
import { until } from "../until.ts";
import { pause, refusalOf } from "./workload.ts";

const hasPrlimit = spawnSync("prlimit", ["--version"]).status === 0 && process.platform === "linux";
assert.ok(hasPrlimit || !process.env["CI"], "in CI this test may not be skipped: it needs prlimit (util-linux)");

const ROOM = 20;

/** The refusal of a call. */
function refused(error: unknown): GatewayError {
  assert.ok(isGatewayError(error), String(error));
  return error;
}

it(
  "a gateway without a free descriptor keeps its clients",
  { skip: hasPrlimit ? false : "needs prlimit (util-linux) and /proc", timeout: 120_000 },
  async (t) => {
    const stateDir = await mkdtemp(join(tmpdir(), "svc-descriptors-"));
    const gateway = await startGatewayProcess(stateDir);
    const sockets: Socket[] = [];
    t.after(async () => {
      for (const socket of sockets) socket.destroy();
      await gateway.kill();
      await rm(stateDir, { recursive: true, force: true });
    });
    const client = await gateway.connect();
    t.after(() => client.close());
    await client.call(config.set, { raw: JSON.stringify({ "provider-offline": { wordDelayMs: 0 } }) });
    const run = async (runId: string) => {
      await client.call(chat.send, { sessionKey: "main", message: `echo ${runId}`, idempotencyKey: runId });
      return (await client.call(agents.wait, { runId, timeoutMs: 10_000 })).status;
    };
    assert.equal(await run("before"), "ok");

    const used = () => readdirSync(`/proc/${gateway.child.pid}/fd`).length;
    const most = used() + ROOM;
    execFileSync("prlimit", ["--pid", String(gateway.child.pid), `--nofile=${most}:`]);
    const port = Number(new URL(gateway.url).port);
    for (let made = 0; made < ROOM * 3; made++) {
      const socket = connect({ port, host: "127.0.0.1" });
      socket.on("error", () => undefined);
      sockets.push(socket);
    }
    await until(() => used() >= most - 2, `${most} descriptors are used`);

    await client.call(health.check, {});
    assert.ok((await client.call(chat.history, { sessionKey: "main" })).messages.length > 0);
    assert.ok((await client.call(agents.list, {})).agents.length > 0);
    const late = await gateway.connect({ connectTimeoutMs: 1_000 }).catch(refusalOf);
    assert.ok("code" in late, "nobody else comes in");
    // Two descriptors are left: a call gets one, or is told when to retry.
    for (let turn = 0; turn < 20; turn++) {
      const answers = await Promise.all([0, 1, 2, 3].map(() => client.call(config.get, {}).catch(refused)));
      for (const answer of answers) {
        if ("code" in answer)
          assert.deepEqual([answer.code, answer.retryAfterMs], ["UNAVAILABLE", 1_000], answer.message);
        else assert.match(answer.hash, /^[0-9a-f]{64}$/);
      }
      const { hash = "0" } = answers.find((answer) => "hash" in answer) ?? {};
      const refusal = await client.call(config.set, { raw: `{} // ${turn}`, baseHash: hash }).catch(refused);
      if ("code" in refusal && hash !== "0")
        assert.deepEqual([refusal.code, typeof refusal.retryAfterMs], ["UNAVAILABLE", "number"], refusal.message);
    }

    for (const socket of sockets) socket.destroy();
    await until(() => used() <= most - ROOM + 4, "descriptors are free again");
    const other = await gateway.connect();
    await other.close();
    assert.equal(await run("after"), "ok");
    const { raw, hash: now } = await client.call(config.get, {});
    await client.call(config.set, { raw: `${raw}\n`, baseHash: now });
    assert.equal(gateway.child.exitCode, null, gateway.log());
  },
);

it(
  "connections never take the files a first run needs",
  { skip: hasPrlimit ? false : "needs prlimit (util-linux) and /proc", timeout: 120_000 },
  async (t) => {
    await using model = await startFakeModelServer({ replies: [{ text: "one" }, { text: "two" }, { text: "three" }] });
    const stateDir = await mkdtemp(join(tmpdir(), "svc-descriptors-"));
    const sockets: Socket[] = [];
    const provider = { api: "openai-completions", baseUrl: model.url, apiKey: "k", models: [{ id: "m" }] };
    await writeFile(
      join(stateDir, "svc.json"),
      JSON.stringify({ models: { providers: { fake: provider } }, agents: { defaults: { model: "fake/m" } } }),
    );
    const gateway = await startGatewayProcess(stateDir, {}, { through: ["prlimit", "--nofile=128"] });
    t.after(async () => {
      for (const socket of sockets) socket.destroy();
      await gateway.kill();
      await rm(stateDir, { recursive: true, force: true });
    });
    const client = await gateway.connect();
    t.after(() => client.close());
    const port = Number(new URL(gateway.url).port);
    for (let made = 0; made < 400; made++) {
      const socket = connect({ port, host: "127.0.0.1" });
      socket.on("error", () => undefined);
      sockets.push(socket);
    }
    await pause(300);
    const run = async (runId: string) => {
      await client.call(chat.send, { sessionKey: "main", message: runId, idempotencyKey: runId });
      return (await client.call(agents.wait, { runId, timeoutMs: 20_000 })).status;
    };
    assert.equal(await run("first"), "ok");
    for (const socket of sockets) socket.destroy();
    assert.equal(await run("second"), "ok");
  },
);
