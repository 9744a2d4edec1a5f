// own process: starts gateways and terminals
/** `svc onboard` from an empty state directory to an answered message: in a terminal, by flags and by lines of JSON. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { startFakeModelServer } from "@svc/sdk/testing";
import { directory, put } from "../../directory.ts";
import { freePort } from "../../free-port.ts";
import { cleanEnvironment, startGatewayProcess } from "../../gateway-process.ts";
import { svc } from "../../run-svc.ts";
import { until } from "../../until.ts";
import { setupAt } from "./scene.ts";
import { SVC, terminal } from "./terminal.ts";

const limited = { timeout: 240_000 };

async function machine(t: TestContext) {
  const stateDir = directory(t);
  const port = String(await freePort());
  const env = { SVC_GATEWAY_PORT: port };
  const file = () => JSON.parse(readFileSync(join(stateDir, "svc.json"), "utf8"));
  t.after(() => svc(stateDir, ["gateway", "stop"], env)); // a test that failed in the middle
  const isRunning = async () => (await svc(stateDir, ["gateway", "probe"], env)).code === 0;
  return { stateDir, env, file, isRunning };
}

const NUMBER = /Number \[\d\]: $/;

describe("svc onboard in a terminal", limited, () => {
  it("goes from nothing to an answered message, and keeps the gateway running until Ctrl-C", async (t) => {
    const { stateDir, env, file, isRunning } = await machine(t);
    const screen = terminal(t, stateDir, ["onboard"], env);
    await screen.sees(/starting one[\s\S]*svc gateway token[\s\S]*Who may reach[\s\S]*Number \[1\]: $/);
    screen.types("9\r");
    await screen.sees(/Enter a number from 1 to 2[\s\S]*Number \[1\]: $/);
    screen.types("\r");
    await screen.sees(/language model[\s\S]*Number \[1\]: $/);
    screen.types("1\r");
    await screen.sees(/chat network[\s\S]*Number \[1\]: $/);
    screen.types("\r");
    await screen.sees(/webhooks[\s\S]*\[y\/N\] $/);
    screen.types("maybe\r");
    await screen.sees(/Answer y or n[\s\S]*\[y\/N\] $/);
    screen.types("y\r");
    await screen.sees(/hooks\/agent[\s\S]*first message[\s\S]*> $/);
    screen.types("echo good morning\r");
    await screen.sees(/The agent answers:\s+good morning[\s\S]*Number \[1\]: $/);
    screen.types("2\r");
    await screen.sees(/The gateway runs/);
    assert.ok(await isRunning());
    const { hooks, wizard } = file();
    assert.deepEqual([hooks.enabled, wizard.lastRunMode], [true, "local"]);
    assert.ok(!screen.text().includes(hooks.token), "the token is not shown");
    screen.types("\u0003");
    assert.equal(await screen.ended, 0);
    assert.ok(!(await isRunning()));
    assert.ok(readFileSync(join(stateDir, "workspace/BOOTSTRAP.md"), "utf8").length > 0);
  });

  it("hides the key, keeps finished parts after Ctrl-C, and offers them when it is repeated", async (t) => {
    const server = await startFakeModelServer({
      models: ["m1", "m2"],
      apiKey: "right-key-1",
      replies: [{ text: "I am here." }],
    });
    t.after(() => server.close());
    const { stateDir, env, file, isRunning } = await machine(t);
    const screen = terminal(t, stateDir, ["onboard"], env);
    await screen.sees(/Who may reach[\s\S]*Number \[1\]: $/);
    screen.types("\r");
    await screen.sees(/Another server[\s\S]*Number \[1\]: $/);
    const [, other = ""] = /(\d+)\. Another server/.exec(screen.text()) ?? [];
    screen.types(`${other}\r`);
    await screen.sees(/Address of the server[\s\S]*> $/);
    screen.types(`${server.url}\r`);
    await screen.sees(/requires a key[\s\S]*> $/);
    screen.types("wrong-key-1\r");
    await screen.sees(/rejects the key[\s\S]*> $/);
    screen.types("right-key-1\r");
    await screen.sees(/added 2 models[\s\S]*Which model[\s\S]*Number \[1\]: $/);
    screen.types("\u0003");
    assert.equal(await screen.ended, 130);
    assert.match(screen.text(), /was cancelled\. What was set up so far stays\.\s+Next: svc onboard/);
    assert.doesNotMatch(screen.text(), /(?:right|wrong)-key-1/);
    assert.equal(file()["models"].providers.local.apiKey, "right-key-1");
    assert.ok(!(await isRunning()));

    const again = terminal(t, stateDir, ["onboard"], env);
    await again.sees(NUMBER);
    again.types("\r");
    await again.sees(/1\. Keep local[\s\S]*Number \[1\]: $/);
    again.types("\r");
    await again.sees(/Which model[\s\S]*local\/m1 \(current\)[\s\S]*Number \[1\]: $/);
    again.types("\r");
    await again.sees(/chat network[\s\S]*Number \[1\]: $/);
    again.types("\r");
    await again.sees(/\[y\/N\] $/);
    again.types("\r");
    await again.sees(/first message[\s\S]*\[What can you do\?; a space: empty\] > $/);
    again.types("\r");
    await again.sees(/I am here\.[\s\S]*Number \[1\]: $/);
    again.types("3\r");
    assert.equal(await again.ended, 0);
    assert.equal(file()["agents"].defaults.model, "local/m1");
  });

  it("offers to end a setup whose terminal is gone", async (t) => {
    const { stateDir, env } = await machine(t);
    const gateway = await startGatewayProcess(stateDir, env, { port: env.SVC_GATEWAY_PORT });
    t.after(() => gateway.kill());
    const client = await gateway.connect();
    t.after(() => client.close());
    const gone = await setupAt(client);
    await gone.start();
    const screen = terminal(t, stateDir, ["onboard"], env);
    await screen.sees(/Another setup is open since[\s\S]*\[Y\/n\] $/);
    screen.types("n\r");
    assert.equal(await screen.ended, 1);
    assert.deepEqual(await gone.status(), { status: "running" });
    const second = terminal(t, stateDir, ["onboard"], env);
    await second.sees(/\[Y\/n\] $/);
    second.types("\r");
    await second.sees(/Who may reach/);
    await assert.rejects(gone.status(), { code: "INVALID_REQUEST" });
    second.types("\u0003");
    assert.equal(await second.ended, 130);
    assert.equal((await svc(stateDir, ["gateway", "probe"], env)).code, 0, "a gateway that ran before goes on");
  });
});

describe("svc onboard without a person", limited, () => {
  it("accepts all defaults with --yes: the offline responder, no channels; the gateway stops at the end", async (t) => {
    const { stateDir, env, file, isRunning } = await machine(t);
    const { code, stdout, stderr } = await svc(
      stateDir,
      ["onboard", "--yes", "--workspace", join(stateDir, "workspace-own")],
      env,
    );
    assert.equal(code, 0, stderr);
    assert.match(stdout, /> None for now[\s\S]*I am the offline responder[\s\S]*svc gateway run/);
    assert.equal(file()["agents"].defaults.workspace, join(stateDir, "workspace-own"));
    assert.ok(readFileSync(join(stateDir, "workspace-own/BOOTSTRAP.md")).length > 0);
    assert.ok(!(await isRunning()));
  });

  it("takes the server and the variable with its key from flags; a wrong key ends the setup", async (t) => {
    const server = await startFakeModelServer({ models: ["m"], apiKey: "right-key-1", replies: [{ text: "ready" }] });
    t.after(() => server.close());
    const { stateDir, env, file } = await machine(t);
    const words = ["onboard", "--yes", "--provider", server.url, "--key-env", "ACME_KEY"];
    const wrong = await svc(stateDir, words, { ...env, ACME_KEY: "wrong-key-1" });
    assert.equal(wrong.code, 1);
    assert.match(wrong.stderr, /rejects the key[\s\S]*Next: svc onboard/);
    const right = await svc(stateDir, words, { ...env, ACME_KEY: "right-key-1" });
    assert.equal(right.code, 0, right.text);
    assert.match(right.stdout, /ready/);
    assert.doesNotMatch(wrong.text + right.text, /(?:right|wrong)-key-1/);
    assert.equal(file()["models"].providers.local.apiKey, "${ACME_KEY}");
    const refused = await svc(stateDir, ["onboard", "--key-env", "sk-123"], env);
    assert.equal(refused.code, 2);
    const unknown = await svc(stateDir, ["onboard", "--yes", "--provider", "acme"], {
      ...env,
      ACME_KEY: "right-key-1",
    });
    assert.equal(unknown.code, 1);
    assert.match(unknown.stderr, /--provider acme is no option; options: keep, offline/);
  });

  it("prints steps and reads answers as lines of JSON; the end of the input cancels", async (t) => {
    const { stateDir, env, file } = await machine(t);
    const [node = "", ...script] = SVC;
    const talk = spawn(node, [...script, "onboard", "--json"], { env: cleanEnvironment(stateDir, env) });
    let out = "";
    talk.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
    const ended = new Promise<number | null>((resolve) => talk.once("close", resolve));
    talk.stdin.end('"loopback"\n\n""\ntrue\n"echo hi"\nnull\n');
    assert.equal(await ended, 0, out);
    const lines = out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    assert.deepEqual(
      lines.map(({ step, done }) => step?.type ?? done),
      ["select", "select", "select", "confirm", "text", "note", true],
    );
    assert.match(lines[5]?.["step"].message, /hi$/);
    assert.deepEqual([lines[6]?.["status"], lines[6]?.["gateway"]], ["done", "stop"]);
    assert.equal(file()["hooks"].enabled, true);
    const short = spawn(node, [...script, "onboard", "--json"], { env: cleanEnvironment(stateDir, env) });
    let error = "";
    short.stderr.on("data", (chunk: Buffer) => (error += chunk.toString()));
    short.stdin.end('"loopback"\n');
    assert.equal(await new Promise((resolve) => short.once("close", resolve)), 1);
    assert.match(error, /The input ended before the setup/);
  });

  it("keeps finished parts when it is killed, and its gateway stops", async (t) => {
    const { stateDir, env, file, isRunning } = await machine(t);
    const [node = "", ...script] = SVC;
    const talk = spawn(node, [...script, "onboard", "--json"], { env: cleanEnvironment(stateDir, env) });
    let out = "";
    talk.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
    talk.stdin.write('"loopback"\n"offline"\n""\ntrue\n');
    await until(() => out.includes("first message"), "the last question");
    talk.kill("SIGKILL");
    assert.equal(file()["hooks"].enabled, true);
    await until(async () => !(await isRunning()), "the end of the gateway");
    const again = await svc(stateDir, ["onboard", "--yes"], env);
    assert.equal(again.code, 0, again.text);
    assert.equal(file()["hooks"].enabled, true);
  });

  it("restarts the gateway after the setup for keys that need it", async (t) => {
    const { stateDir, env, file } = await machine(t);
    const gateway = await startGatewayProcess(stateDir, env, { port: env.SVC_GATEWAY_PORT });
    t.after(() => gateway.kill());
    const [node = "", ...script] = SVC;
    const talk = spawn(node, [...script, "onboard", "--json"], { env: cleanEnvironment(stateDir, env) });
    let error = "";
    talk.stderr.on("data", (chunk: Buffer) => (error += chunk.toString()));
    talk.stdin.end('"lan"\n\n\n\n\n\n');
    assert.equal(await new Promise((resolve) => talk.once("close", resolve)), 0, error);
    assert.match(error, /restarts, so that these changes take effect: gateway\.bind/);
    assert.equal(file()["gateway"].bind, "lan");
    const status = await svc(stateDir, ["gateway", "probe"], env);
    assert.equal(status.code, 0, status.text);
  });

  it("says why the gateway does not start", async (t) => {
    const { stateDir, env } = await machine(t);
    put(join(stateDir, "svc.json"), '{"logging": {"level": "loud"}}');
    const { code, stderr } = await svc(stateDir, ["onboard", "--yes"], env);
    assert.equal(code, 1);
    assert.match(stderr, /the gateway did not start:[\s\S]*logging\.level[\s\S]*Afterwards: svc onboard/);
  });
});
