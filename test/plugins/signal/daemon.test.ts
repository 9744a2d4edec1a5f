/** signal-cli, started by the gateway: a script that behaves as its daemon. */
// own process: it starts programs
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { startGatewayProcess } from "../../gateway-process.ts";
import { until } from "../../until.ts";
import { scene } from "./scene.ts";
import { OWN } from "./server.ts";

/** Writes its process id, arguments and end to files beside it. */
const SCRIPT = `#!${process.execPath}
const { createServer } = require("node:http");
const { appendFileSync, existsSync, writeFileSync } = require("node:fs");
const [own, args] = [process.argv[1], process.argv.slice(2)];
appendFileSync(own + ".args", JSON.stringify(args) + "\\n");
const at = args.indexOf("--http");
if (at < 0) process.exit(existsSync(own + ".pid") ? 1 : 0);
console.log("INFO serving ${OWN}");
if (existsSync(own + ".broken")) { console.error("no database for ${OWN}"); process.exit(3); }
writeFileSync(own + ".pid", String(process.pid));
const [host, port] = args[at + 1].split(":");
createServer((request, response) => {
  if (request.url.startsWith("/api/v1/events")) return response.writeHead(200).write(":\\n");
  if (request.url === "/api/v1/rpc") return response.end(JSON.stringify({ result: [{ number: "${OWN}" }] }));
  response.end();
}).listen(Number(port), host);
process.on("SIGTERM", () => {
  appendFileSync(own + ".args", "ended\\n");
  require("node:fs").rmSync(own + ".pid");
  process.exit(0);
});
`;

async function program(t: TestContext) {
  const directory = await mkdtemp(join(tmpdir(), "svc-signal-cli-"));
  t.after(() => rm(directory, { recursive: true, force: true, maxRetries: 10 }));
  const command = join(directory, "signal-cli");
  await writeFile(command, SCRIPT, { mode: 0o755 });
  const lines = async () => (await readFile(`${command}.args`, "utf8")).trim().split("\n");
  const pid = async () => Number(await readFile(`${command}.pid`, "utf8").catch(() => "0"));
  return { directory, command, lines, pid };
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe("signal-cli", { timeout: 120_000 }, () => {
  it("runs while an account uses it, and is started again after its end", async (t) => {
    const { command, lines, pid } = await program(t);
    const { run, channel, facts } = await scene(t, { account: OWN, command, dataDir: "keys" });
    await assert.rejects(channel.send({ ...facts, id: "", to: OWN, text: "x" }), {
      code: "UNAVAILABLE",
      message: /next/,
    });
    const first = await run();
    assert.equal((await first.reported("connected")).detail, "signal-cli, started by the gateway");
    const [config, keys, daemon, http, address, ...more] = JSON.parse((await lines())[0] ?? "") as string[];
    assert.deepEqual([config, daemon, http], ["--config", "daemon", "--http"]);
    assert.match(`${keys} ${address}`, /\/plugins\/signal\/keys 127\.0\.0\.1:\d+$/);
    assert.deepEqual(more, ["--receive-mode=on-connection", "--no-receive-stdout"]);
    const old = await pid();
    process.kill(old, "SIGKILL");
    await first.ended;
    await until(async () => !isAlive(old), "the end");
    let second = await run(); // as the supervisor of accounts, until the end of the program was noticed
    await until(async () => {
      const isUp = second.reports.some(({ state }) => state === "connected");
      if (!isUp) second = await run();
      return isUp;
    }, "the next program");
    assert.notEqual(await pid(), old);
    await second.stop();
    assert.deepEqual(await channel.logout?.(facts), { cleared: true, loggedOut: false });
    assert.deepEqual((await lines()).slice(2), [
      "ended",
      JSON.stringify(["--config", keys, "-a", OWN, "deleteLocalAccountData", "--ignore-registered"]),
    ]);
  });

  it("that fails or is missing says why, without numbers", async (t) => {
    const { command } = await program(t);
    await writeFile(`${command}.broken`, "");
    const broken = await scene(t, { account: OWN, command });
    assert.match(String(await (await broken.run()).ended), /exit code 3; it said: no database for \[number\]$/);
    const missing = await scene(t, { account: OWN, command: "no-such-signal-cli" });
    const error = Object(await (await missing.run()).ended) as { code: string; message: string };
    assert.equal(error.code, "NOT_LINKED");
    assert.match(error.message, /next: install signal-cli .* or set channels\.signal\.url/);
    const call = { accountId: "default", signal: missing.facts.signal, state: undefined, answers: {} };
    await assert.rejects(async () => missing.channel.login?.next(call), {
      code: "INVALID_REQUEST",
      message: /install/,
    });
  });

  it("does not outlive a gateway that is stopped or killed", async (t) => {
    const { directory, command, pid } = await program(t);
    const config = { channels: { signal: { account: OWN, command } } };
    await writeFile(join(directory, "svc.json"), JSON.stringify(config));
    for (const signal of ["SIGTERM", "SIGKILL"] as const) {
      const gateway = await startGatewayProcess(directory);
      await until(async () => (await pid()) > 0, "the program");
      const running = await pid();
      await gateway.kill(signal);
      await until(async () => !isAlive(running), `the end of the program after ${signal}`);
      await until(async () => (await pid()) === 0, "its own end");
    }
  });
});
