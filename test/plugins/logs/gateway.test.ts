// long: starts whole programs
/** `logs.tail` of a gateway, and `svc logs` across a rotation, a restart and without a gateway. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { appendFileSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { isGatewayError } from "@svc/sdk";
import { logs } from "@svc/sdk/logs";
import { runCommand, testGateway } from "@svc/sdk/testing";
import commands from "../../../plugins/logs/cli.ts";
import { root } from "../../checkout.ts";
import { cleanEnvironment, startGatewayProcess } from "../../gateway-process.ts";

function temporary(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), "svc-logs-"));
  t.after(() => rmSync(directory, { recursive: true, force: true, maxRetries: 10 }));
  return directory;
}

describe("logs.tail", () => {
  it("shows the log of the gateway; a cursor survives a rotation", async (t) => {
    const stateDir = temporary(t);
    const { client } = await testGateway(t, {
      plugins: ["logs"],
      stateDir,
      config: { logging: { file: "own.log", consoleLevel: "silent" } },
      gateway: { logLevel: undefined },
    });
    const first = await client.call(logs.tail, {});
    assert.equal(first.file, join(stateDir, "own.log"));
    assert.match(first.lines.join("\n"), /the gateway is up/);
    assert.equal(first.cursor, first.size);
    assert.deepEqual((await client.call(logs.tail, { level: "error" })).lines, []);
    assert.equal((await client.call(logs.tail, { subsystem: "host", limit: 1 })).lines.length, 1);

    const { cursor } = await client.call(logs.tail, {});
    appendFileSync(first.file, "the rest\n");
    renameSync(first.file, join(stateDir, "own.1.log"));
    appendFileSync(first.file, `${"new ".repeat(100)}\n`); // longer than the cursor, so that its size does not reveal the rotation
    const rest = await client.call(logs.tail, { cursor });
    assert.deepEqual([rest.lines, rest.reset], [["the rest"], false]);
    const next = await client.call(logs.tail, { cursor: rest.cursor });
    assert.deepEqual([next.lines.length, next.reset, next.file], [1, true, first.file]);

    const followed = await client.call(logs.tail, { cursor, part: String(first.part) });
    assert.deepEqual(followed.lines, ["the rest"]);
    await assert.rejects(client.call(logs.tail, { limit: 0 }), { code: "INVALID_REQUEST" });
    await assert.rejects(client.request("logs.tail", { lines: 1 }), { code: "INVALID_REQUEST" });
  });

  it("refuses a file that somebody names and that does not exist", async (t) => {
    const options = { file: join(temporary(t), "none.log") };
    const { error, message } = await runCommand(commands, "logs", { options });
    assert.equal(isGatewayError(error) && error.code, "NOT_FOUND");
    assert.match(message, /none\.log does not exist\nNext: svc logs/);
  });

  it("reports a file that cannot be read", async (t) => {
    const stateDir = temporary(t);
    mkdirSync(join(stateDir, "own.log"));
    const { client } = await testGateway(t, { plugins: ["logs"], stateDir, config: { logging: { file: "own.log" } } });
    await assert.rejects(client.call(logs.tail, {}), { code: "UNAVAILABLE", message: /cannot be read/ });
  });
});

function svcLogs(t: TestContext, stateDir: string, ...args: string[]) {
  const child = spawn(process.execPath, [join(root, "host/cli/svc.js"), "logs", ...args], {
    env: cleanEnvironment(stateDir),
  });
  t.after(() => child.kill("SIGKILL"));
  const [said, noted]: [string[], string[]] = [[], []];
  const waiting = new Set<() => void>();
  const collect = (stream: NodeJS.ReadableStream, into: string[]) =>
    createInterface(stream).on("line", (line) => {
      into.push(line);
      for (const look of waiting) look();
    });
  collect(child.stdout, said);
  collect(child.stderr, noted);
  const until = (condition: () => boolean) =>
    new Promise<void>((resolve) => {
      const look = () => condition() && (waiting.delete(look), resolve());
      waiting.add(look);
      look();
    });
  const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
  return { said, noted, until, ended };
}

describe("svc logs", { timeout: 120_000 }, () => {
  it("follows across a rotation and a restart, and shows each line once", async (t) => {
    const stateDir = temporary(t);
    const start = () => startGatewayProcess(stateDir, {}, { logLevel: "info" });
    const gateway = await start();
    const { said, noted, until } = svcLogs(t, stateDir, "--follow", "--json", "--interval", "50");
    const messages = () => said.map((line) => JSON.parse(line).msg);
    await until(() => messages().includes("the gateway is up"));
    const name = todayFile(stateDir);
    const add = (msg: string) => appendFileSync(name, `${JSON.stringify({ level: 30, time: 1, msg })}\n`);
    add("before");
    renameSync(name, name.replace(".log", ".1.log"));
    add("after");
    await until(() => messages().includes("after"));
    await gateway.kill("SIGTERM");
    await until(() => noted.some((line) => line.startsWith("No gateway responds.")));
    add("meanwhile");
    await until(() => messages().includes("meanwhile"));
    const again = await start();
    t.after(() => again.kill());
    await until(() => noted.includes("The gateway responds again."));
    add("again");
    await until(() => messages().includes("again"));
    const own = messages().filter((msg) => ["before", "after", "meanwhile", "again"].includes(msg));
    assert.deepEqual(own, ["before", "after", "meanwhile", "again"]);
    assert.equal(messages().filter((msg) => msg === "the gateway is up").length, 2);
  });

  it("reads the file when no gateway is running, and prints a note", async (t) => {
    const stateDir = temporary(t);
    mkdirSync(join(stateDir, "logs"));
    const line = (level: number, msg: string) => `${JSON.stringify({ level, time: 0, plugin: "notes", msg })}\n`;
    appendFileSync(todayFile(stateDir), line(30, "hello") + line(50, "broken"));
    const { said, noted, ended } = svcLogs(t, stateDir, "--level", "error");
    assert.equal(await ended, 0);
    assert.deepEqual(said, ["1970-01-01 00:00:00Z  ERROR  notes  broken"]);
    assert.match(noted.join("\n"), /^No gateway responds\. Reading .+svc-.+\.log/);
  });

  it("refuses an unknown level", async (t) => {
    const { noted, ended } = svcLogs(t, temporary(t), "--level", "loud");
    assert.equal(await ended, 2);
    assert.match(noted.join("\n"), /--level loud: must be one of trace, debug/);
  });
});

function todayFile(stateDir: string): string {
  const now = new Date();
  const two = (value: number) => String(value).padStart(2, "0");
  return join(stateDir, "logs", `svc-${now.getFullYear()}-${two(now.getMonth() + 1)}-${two(now.getDate())}.log`);
}
