/** `svc chat` on the command line, against its own gateway and a model server. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { type FakeModelServerOptions, startFakeModelServer } from "@svc/sdk/testing";
import { root } from "../checkout.ts";
import { cleanEnvironment, startGatewayProcess } from "../gateway-process.ts";

/** A running gateway in a temporary state directory; with a model server when replies are given. */
async function start(t: TestContext, options?: FakeModelServerOptions) {
  const stateDir = await mkdtemp(join(tmpdir(), "svc-chat-"));
  t.after(() => rm(stateDir, { recursive: true, force: true }));
  const server = options && (await startFakeModelServer(options));
  if (server) {
    t.after(() => server.close());
    const models = { providers: { fake: { baseUrl: server.url, models: [{ id: "gpt-x" }] } } };
    await writeFile(
      join(stateDir, "svc.json"),
      JSON.stringify({ models, agents: { defaults: { model: "fake/gpt-x" } } }),
    );
  }
  const gateway = await startGatewayProcess(stateDir);
  t.after(() => gateway.kill());
  return { stateDir, gateway, server };
}

/** Runs one command line of `svc`. */
function svc(stateDir: string, args: readonly string[], input = "") {
  const child = spawn(process.execPath, [join(root, "host/cli/svc.js"), ...args], { env: cleanEnvironment(stateDir) });
  let out = "";
  let err = "";
  child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
  child.stdin.end(input);
  const ended = new Promise<{ code: number | null; out: string; err: string }>((resolve) => {
    child.once("close", (code) => resolve({ code, out, err }));
  });
  return { child, ended, soFar: () => out };
}

async function historyOf(stateDir: string, sessionKey: string) {
  const params = JSON.stringify({ sessionKey });
  const { out } = await svc(stateDir, ["gateway", "call", "chat.history", "--params", params, "--json"]).ended;
  return (JSON.parse(out) as { messages: { role: string; stopReason?: string }[] }).messages;
}

describe("svc chat", () => {
  it("talks to the offline responder without any configuration", async (t) => {
    const { stateDir } = await start(t);
    const { code, out } = await svc(stateDir, ["chat", "--message", "echo good morning"]).ended;
    assert.equal(code, 0);
    assert.equal(out.trim(), "good morning");
  });

  it("takes a conversation line by line from a pipe, with a tool on the way", async (t) => {
    const { stateDir } = await start(t);
    const { code, out } = await svc(stateDir, ["chat", "--session", "piped"], "echo one\nstatus\n").ended;
    assert.equal(code, 0);
    assert.match(out, /one[\s\S]*session_status[\s\S]*agent:main:piped/);
    const roles = (await historyOf(stateDir, "piped")).map(({ role }) => role);
    assert.deepEqual(roles, ["user", "assistant", "user", "assistant", "toolResult", "assistant"]);
  });

  it("streams a model's answer and prints one JSON value with --json", async (t) => {
    const { stateDir, server } = await start(t, { replies: [{ pieces: ["Hel", "lo"] }] });
    const { code, out } = await svc(stateDir, ["chat", "--message", "hi", "--json"]).ended;
    const { status, text } = JSON.parse(out) as { status: string; text: string };
    assert.deepEqual([code, status, text], [0, "ok", "Hello"]);
    assert.equal(server?.requests.length, 1);
  });

  it("Ctrl-C aborts the reply at the gateway and at the model", async (t) => {
    const pieces = Array.from({ length: 200 }, (_, index) => `word${index} `);
    const { stateDir, server } = await start(t, { replies: [{ pieces, delayMs: 20 }] });
    const chat = svc(stateDir, ["chat", "--message", "talk"]);
    for (let turn = 0; turn < 500 && !chat.soFar().includes("word1 "); turn++)
      await new Promise((resolve) => setTimeout(resolve, 10));
    chat.child.kill("SIGINT");
    const { code, out } = await chat.ended;
    assert.notEqual(code, 0);
    assert.ok(!out.includes("word199"));
    for (let turn = 0; turn < 200 && !server?.requests[0]?.aborted; turn++)
      await new Promise((resolve) => setTimeout(resolve, 10));
    assert.equal(server?.requests[0]?.aborted, true);
    assert.equal((await historyOf(stateDir, "main")).at(-1)?.stopReason, "aborted");
  });

  it("reports the cause and the next step when no gateway runs", async (t) => {
    const stateDir = await mkdtemp(join(tmpdir(), "svc-chat-"));
    t.after(() => rm(stateDir, { recursive: true, force: true }));
    const { code, err } = await svc(stateDir, ["chat", "--message", "hi", "--url", "ws://127.0.0.1:1"]).ended;
    assert.equal(code, 3);
    assert.match(err, /cannot reach ws:\/\/127\.0\.0\.1:1[\s\S]*svc gateway run/);
  });
});

describe("svc gateway health, status and probe", () => {
  it("print text and JSON", async (t) => {
    const { stateDir } = await start(t);
    const [health, status, probe] = await Promise.all(
      ["health", "status", "probe"].map((verb) => svc(stateDir, ["gateway", verb, "--json"]).ended),
    );
    assert.equal((JSON.parse(health?.out ?? "") as { ok: boolean }).ok, true);
    assert.ok("sessions" in (JSON.parse(status?.out ?? "") as object));
    assert.equal((JSON.parse(probe?.out ?? "") as { reachable: boolean }).reachable, true);
    const forPeople = await svc(stateDir, ["gateway", "probe"]).ended;
    assert.match(forPeople.out, /Reachable: yes/);
  });

  it("probe fails with the next step when no gateway answers", async (t) => {
    const stateDir = await mkdtemp(join(tmpdir(), "svc-chat-"));
    t.after(() => rm(stateDir, { recursive: true, force: true }));
    const { code, out, err } = await svc(stateDir, ["gateway", "probe", "--url", "ws://127.0.0.1:1"]).ended;
    assert.notEqual(code, 0);
    assert.match(out + err, /svc gateway run/);
  });
});
