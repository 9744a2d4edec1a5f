/** `svc chat` and the verbs of `svc gateway` that ask a running one, on the command line. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { type FakeModelServerOptions, startFakeModelServer } from "@svc/sdk/testing";
import { root } from "../checkout.ts";
import { directory } from "../directory.ts";
import { cleanEnvironment, startGatewayProcess } from "../gateway-process.ts";
import { until } from "../until.ts";

/** A running gateway in a temporary state directory; with a model server when replies are given. */
async function start(t: TestContext, options?: FakeModelServerOptions) {
  const stateDir = directory(t);
  const server = options && (await startFakeModelServer(options));
  if (server) {
    t.after(() => server.close());
    const models = { providers: { fake: { baseUrl: server.url, models: [{ id: "gpt-x" }] } } };
    const config = { models, agents: { defaults: { model: "fake/gpt-x" } } };
    await writeFile(join(stateDir, "svc.json"), JSON.stringify(config));
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
  it("talks to the offline responder without any configuration: one message, or lines from a pipe with a tool on the way", async (t) => {
    const { stateDir } = await start(t);
    const single = await svc(stateDir, ["chat", "--message", "echo good morning"]).ended;
    assert.deepEqual([single.code, single.out.trim()], [0, "good morning"]);
    const { code, out } = await svc(stateDir, ["chat", "--session", "piped"], "echo one\nstatus\n").ended;
    assert.equal(code, 0);
    assert.match(out, /one[\s\S]*session_status[\s\S]*agent:main:piped/);
    const roles = (await historyOf(stateDir, "piped")).map(({ role }) => role);
    assert.deepEqual(roles, ["user", "assistant", "user", "assistant", "toolResult", "assistant"]);
  });

  it("prints a model's answer as one JSON value; Ctrl-C aborts the reply at the gateway and at the model", async (t) => {
    const pieces = Array.from({ length: 200 }, (_, index) => `word${index} `);
    const { stateDir, server } = await start(t, { replies: [{ pieces: ["Hel", "lo"] }, { pieces, delayMs: 20 }] });
    const answer = await svc(stateDir, ["chat", "--message", "hi", "--json"]).ended;
    const { status, text } = JSON.parse(answer.out) as { status: string; text: string };
    assert.deepEqual([answer.code, status, text, server?.requests.length], [0, "ok", "Hello", 1]);
    const chat = svc(stateDir, ["chat", "--message", "talk"]);
    await until(() => chat.soFar().includes("word1 "), "the beginning of the reply");
    chat.child.kill("SIGINT");
    const { code, out } = await chat.ended;
    assert.notEqual(code, 0);
    assert.ok(!out.includes("word199"));
    await until(() => server?.requests[1]?.aborted === true, "the abort at the model");
    assert.equal((await historyOf(stateDir, "main")).at(-1)?.stopReason, "aborted");
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
});

it("svc chat and svc gateway probe report the cause and the next step when no gateway answers", async (t) => {
  const [stateDir, url] = [directory(t), "ws://127.0.0.1:1"];
  const chat = await svc(stateDir, ["chat", "--message", "hi", "--url", url]).ended;
  assert.equal(chat.code, 3);
  assert.match(chat.err, /cannot reach ws:\/\/127\.0\.0\.1:1[\s\S]*svc gateway run/);
  const probe = await svc(stateDir, ["gateway", "probe", "--url", url]).ended;
  assert.notEqual(probe.code, 0);
  assert.match(probe.out + probe.err, /svc gateway run/);
});
