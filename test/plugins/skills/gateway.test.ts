/** Skills in a real gateway: methods, prompts of runs, and commands that belong to a skill. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { agents } from "@svc/sdk/agents";
import { execApproval, execApprovalRequested, type ExecPolicyFile } from "@svc/sdk/approvals";
import { config as configMethods } from "@svc/sdk/config";
import { createDevice } from "@svc/sdk/device";
import { skills } from "@svc/sdk/skills";
import { type FakeModelReply, type FakeModelServer, startFakeModelServer, testGateway } from "@svc/sdk/testing";
import { sessionsUsage } from "@svc/sdk/usage";
import { withoutSandbox } from "../../bubblewrap.ts";
import { connectNode } from "../../conformance/attendance.ts";
import { directory, put } from "../../directory.ts";
import { text } from "./scene.ts";

const PLUGINS =
  "skills workspace agents approvals config devices models nodes outbound provider-openai secrets sessions storage-sqlite tools usage".split(
    " ",
  );
const KEY = "key-of-the-skill-1234";
const FULL: ExecPolicyFile = { version: 1, defaults: { security: "full", ask: "off" } };
const skip = await withoutSandbox();

async function start(t: TestContext, replies: readonly FakeModelReply[] = [], file: object = {}) {
  const server = await startFakeModelServer({ replies });
  t.after(() => server.close());
  const stateDir = directory(t);
  const provider = { baseUrl: server.url, apiKey: "key-1", models: [{ id: "m" }] };
  const base = { models: { providers: { fake: provider } }, agents: { defaults: { model: "fake/m" } } };
  put(join(stateDir, "svc.json"), JSON.stringify({ ...base, ...file }), 0o600);
  const running = await testGateway(t, {
    plugins: PLUGINS,
    stateDir,
    gateway: { config: undefined, env: { SVC_STATE_DIR: stateDir, HOME: stateDir } },
  });
  let serial = 0;
  const talk = async () => {
    const runId = `run-${(serial += 1)}`;
    await running.client.call(agents.run, { message: "go", sessionKey: "main", idempotencyKey: runId });
    const { status } = await running.client.call(agents.wait, { runId, timeoutMs: 20_000 });
    assert.equal(status, "ok");
  };
  const setPolicy = (policy: ExecPolicyFile) =>
    put(join(stateDir, "exec-approvals.json"), JSON.stringify(policy), 0o600);
  /** A skill in the directory of installed ones. */
  const add = (name: string, more = "", body?: string) =>
    put(join(stateDir, "skills", name, "SKILL.md"), text(name, more, body));
  return { ...running, server, talk, setPolicy, add };
}

const calls = (name: string, args: object): FakeModelReply => ({ toolCalls: [{ name, arguments: args }] });
const exec = (command: string, more: object = {}) => calls("exec", { command, ...more });

function told({ requests }: FakeModelServer): string {
  const message = requests.at(-1)?.body.messages?.findLast(({ role }) => role === "tool");
  return typeof message?.content === "string" ? message.content : JSON.stringify(message?.content);
}

function prompt({ requests }: FakeModelServer): string {
  return JSON.stringify(requests.at(-1)?.body.messages?.[0]?.content);
}

const NEEDS_KEY = "metadata:\n  svc:\n    primaryEnv: DEMO_KEY\n    requires: {env: [DEMO_KEY]}\n";

describe("skills.* of a gateway", { timeout: 120_000 }, () => {
  it("lists the skills of an agent, and refuses an unknown one", async (t) => {
    const { client, stateDir, add } = await start(t);
    add("demo", NEEDS_KEY);
    add("broken", "metadata: {}\n---\n");
    put(join(stateDir, "skills/none/SKILL.md"), "no front matter");
    const { workspaceDir, managedSkillsDir, skills: all, problems } = await client.call(skills.status, {});
    assert.deepEqual([workspaceDir, managedSkillsDir], [join(stateDir, "workspace"), join(stateDir, "skills")]);
    const demo = all.find(({ name }) => name === "demo");
    assert.deepEqual(
      [demo?.source, demo?.primaryEnv, demo?.eligible, demo?.missing.env],
      ["svc-managed", "DEMO_KEY", false, ["DEMO_KEY"]],
    );
    assert.equal(all.filter(({ bundled }) => bundled === true).length, 6);
    assert.deepEqual(
      problems?.map(({ path }) => path),
      [join(stateDir, "skills/none/SKILL.md")],
    );
    await assert.rejects(client.call(skills.status, { agentId: "nobody" }), { code: "INVALID_REQUEST" });
  });

  it("answers a failed installation with payload and error in one frame [W2.11]", async (t) => {
    const { client, add } = await start(t);
    add("demo", "metadata:\n  svc:\n    install: [{kind: apt, package: jq, bins: [jq]}]\n");
    for (const [params, why] of [
      [{ name: "nothing", installId: "x" }, /no skill "nothing"/],
      [{ name: "demo", installId: "x" }, /no installer "x"; it has: apt-0/],
      [{ name: "demo", installId: "apt-0" }, /apt-get install/],
    ] as const) {
      const error = await client.call(skills.install, params).then(
        () => assert.fail(),
        (thrown: unknown) => thrown,
      );
      const { code, message, payload } = error as { code: string; message: string; payload: unknown };
      assert.equal(code, "UNAVAILABLE");
      assert.match(message, why);
      assert.deepEqual(payload, { ok: false, message, stdout: "", stderr: "", code: null });
    }
    await assert.rejects(client.request("skills.install", { name: "demo", installId: "x", timeoutMs: 5 }), {
      code: "INVALID_REQUEST",
    });
  });

  it("changes settings at once, in clear text for the caller only", async (t) => {
    const { client, gateway, stateDir, add } = await start(t);
    add("demo", NEEDS_KEY);
    const eligible = async () =>
      (await client.call(skills.status, {})).skills.find(({ name }) => name === "demo")?.eligible;
    const before = gateway.holdings();
    const updated = await client.call(skills.update, {
      skillKey: "demo",
      apiKey: ` ${KEY} `,
      env: { A: "one", B: "two" },
    });
    assert.deepEqual(updated, { ok: true, skillKey: "demo", config: { apiKey: KEY, env: { A: "one", B: "two" } } });
    assert.equal(await eligible(), true);
    const merged = await client.call(skills.update, { skillKey: "demo", enabled: false, env: { A: "", C: "three" } });
    assert.deepEqual(merged.config, { apiKey: KEY, enabled: false, env: { B: "two", C: "three" } });
    assert.equal(await eligible(), false);
    const shown = JSON.stringify(await client.call(configMethods.get, {}));
    for (const secret of [KEY, "two", "three"]) assert.equal(shown.includes(`"${secret}"`), false);
    const cleared = await client.call(skills.update, { skillKey: "demo", apiKey: "", enabled: true });
    assert.deepEqual(cleared.config, { enabled: true, env: { B: "two", C: "three" } });
    assert.equal(await eligible(), false);
    const unknown = await client.call(skills.update, { skillKey: "no.such skill" });
    assert.deepEqual([unknown.ok, unknown.config], [true, {}]);
    await assert.rejects(client.call(skills.update, { skillKey: "__proto__", enabled: true }), {
      code: "INVALID_REQUEST",
    });
    assert.deepEqual(gateway.holdings(), before); // nothing was reloaded
    const { skills: stored } = JSON.parse(readFileSync(join(stateDir, "svc.json"), "utf8"));
    assert.deepEqual(stored.entries["no.such skill"], {});
  });

  it("lists programs to nodes only, without those of skills that agents can write", async (t) => {
    const { client, gateway, add, stateDir } = await start(t);
    const naming = (bin: string) =>
      `metadata:\n  svc:\n    requires: {bins: [${bin}]}\n    install: [{kind: go, module: x.example/y, bins: [${bin}-go]}]\n`;
    add("demo", naming("demo-bin"));
    put(join(stateDir, "workspace/skills/own/SKILL.md"), text("own", naming("own-bin")));
    await assert.rejects(client.call(skills.bins, {}), /unauthorized role: operator/);
    const node = await connectNode({ url: gateway.url, token: gateway.auth.token }, createDevice());
    t.after(() => node.close());
    const { bins } = await node.call(skills.bins, {});
    assert.deepEqual(bins, bins.toSorted());
    assert.deepEqual(
      ["demo-bin", "demo-bin-go", "own-bin", "git"].map((bin) => bins.includes(bin)),
      [true, true, false, true],
    );
  });

  it("installs a skill from elsewhere, and removes it with its programs", async (t) => {
    const { client, stateDir } = await start(t);
    const source = directory(t);
    put(join(source, "demo/SKILL.md"), text("demo", "metadata: { svc: { skillKey: own.key } }\n"));
    const { digest } = await client.call(skills.add, { source: join(source, "demo") });
    const { directory: to } = await client.call(skills.add, { source: join(source, "demo"), digest });
    for (const key of ["own%2Ekey", "demo"]) put(join(stateDir, "skill-tools", key, "bin/x"), "x");
    const names = async () => (await client.call(skills.status, {})).skills.map(({ name }) => name);
    assert.ok((await names()).includes("demo"));
    await client.call(skills.remove, { name: "demo" });
    assert.deepEqual(
      [existsSync(to), readdirSync(join(stateDir, "skill-tools")), (await names()).includes("demo")],
      [false, ["demo"], false], // the programs of another skill stay
    );
    await assert.rejects(client.call(skills.remove, { name: "demo" }), { code: "NOT_FOUND" });
    await assert.rejects(client.call(skills.remove, { name: "../credentials" }), { code: "NOT_FOUND" });
  });
});

describe("an agent with skills", { timeout: 120_000 }, () => {
  it("gets the list of its skills in the prompt, reads one, and gets changes at the next run", async (t) => {
    const replies = [calls("skill", { name: "demo" }), { text: "done" }, { text: "done" }, { text: "done" }];
    const { client, server, talk, add, stateDir } = await start(t, replies, {
      skills: { load: { watchDebounceMs: 0 } },
    });
    add("demo", "", "Say hello.");
    await talk();
    assert.match(prompt(server), /# Skills\\n.*\\n- demo: About demo\./);
    assert.match(told(server), /^Say hello\.\n\n\[The directory of this skill is /);
    const report = async () => {
      const usage = await client.call(sessionsUsage.report, { includeContextWeight: true });
      return usage.sessions[0]?.contextWeight as {
        skills: { promptChars: number; entries: { name: string }[] };
        tools: { entries: unknown[] };
      };
    };
    const first = await report();
    assert.ok(first.skills.entries.some(({ name }) => name === "demo"));
    assert.ok(first.skills.promptChars > 100 && first.tools.entries.length > 3);
    add("demo-two");
    rmSync(join(stateDir, "skills/demo"), { recursive: true });
    await talk();
    assert.doesNotMatch(prompt(server), /- demo: /);
    assert.match(prompt(server), /- demo-two: /);
    assert.ok(!(await report()).skills.entries.some(({ name }) => name === "demo"));
  });

  it("gets no list if it has no skills", async (t) => {
    const agent = { id: "main", model: "fake/m", skills: [] };
    const { server, talk, add } = await start(t, [{ text: "done" }], { agents: { list: [agent] } });
    add("demo");
    await talk();
    assert.doesNotMatch(prompt(server), /Skills/);
  });

  it("gets no list if it may not use the tool `skill`", async (t) => {
    const { server, talk, add } = await start(t, [{ text: "done" }], { tools: { deny: ["skill"] } });
    add("demo");
    await talk();
    assert.doesNotMatch(prompt(server), /Skills/);
  });

  it("gives a command of a skill its key and programs, and never shows the key", async (t) => {
    const command = 'echo "[$DEMO_KEY]"; tool; printf %s "$DEMO_KEY" | cut -c1-4';
    const replies = [
      exec(command, { skill: "demo" }),
      { text: "done" },
      exec(command),
      { text: "done" },
      exec("true", { skill: "nothing" }),
      { text: "done" },
    ];
    const { server, talk, add, stateDir, setPolicy } = await start(t, replies, {
      skills: { entries: { demo: { apiKey: KEY } } },
    });
    setPolicy(FULL);
    add("demo", NEEDS_KEY);
    put(join(stateDir, "skill-tools/demo/bin/tool"), "#!/bin/sh\necho tool of the skill\n", 0o755);
    await talk();
    assert.match(told(server), /^\[\[hidden\]\]\ntool of the skill\nkey-\n/);
    await talk();
    assert.match(told(server), /^\[\]\n[^]*tool: (?:command )?not found/);
    await talk();
    assert.match(told(server), /no skill \\?"nothing\\?" for this agent/);
    assert.equal(JSON.stringify(server.requests.map(({ body }) => body)).includes(KEY), false);
  });

  it("shows the skill and the names of its variables in an approval, which does not cover the command without the skill", async (t) => {
    const run = (more: object) => [exec("true", more), { text: "done" }];
    const replies = [...run({ skill: "demo" }), ...run({ skill: "demo" }), ...run({})];
    const { client, talk, add, setPolicy } = await start(t, replies, {
      skills: { entries: { demo: { apiKey: KEY } } },
    });
    setPolicy({ version: 1, defaults: { security: "full", ask: "always" } });
    add("demo", NEEDS_KEY);
    const asked: unknown[] = [];
    client.on(execApprovalRequested, (question) => {
      asked.push(question);
      void client.call(execApproval.resolve, { id: question.id, decision: "allow-always" });
    });
    for (let round = 0; round < 3; round += 1) await talk();
    const commands = asked.map((question) => (question as { request: { command: string } }).request.command);
    assert.deepEqual(commands, ['[in the workspace, for the skill "demo", with DEMO_KEY] true', "true"]);
    assert.equal(JSON.stringify(asked).includes(KEY), false);
  });

  it("runs programs of its skills without approval under autoAllowSkills, except those that only a workspace skill names", async (t) => {
    const policy = (autoAllowSkills: boolean): ExecPolicyFile => ({
      version: 1,
      defaults: { security: "allowlist", ask: "off", autoAllowSkills },
    });
    const replies = [
      exec("seq 2"),
      { text: "done" },
      exec("seq 2"),
      { text: "done" },
      exec("factor 6"),
      { text: "done" },
    ];
    const { server, talk, add, setPolicy, stateDir } = await start(t, replies);
    const naming = (bin: string) => `metadata:\n  svc:\n    requires: {bins: [${bin}]}\n`;
    add("demo", naming("seq"));
    put(join(stateDir, "workspace/skills/own/SKILL.md"), text("own", naming("factor")));
    setPolicy(policy(false));
    await talk();
    assert.match(told(server), /did not run/);
    setPolicy(policy(true));
    await talk();
    assert.match(told(server), /^1\n2\n/);
    await talk();
    assert.match(told(server), /did not run/);
  });

  it("reads its skills in a sandbox", { skip }, async (t) => {
    const tools = { exec: { sandbox: { mode: "require" } } };
    const stateOf = (path: string) => `cat ${path}/SKILL.md; ls ${path}/../../svc.json`;
    const { server, talk, add, setPolicy, stateDir } = await start(t, [], { tools });
    setPolicy(FULL);
    add("demo", "", "Inside.");
    const path = join(realpathSync(stateDir), "skills/demo");
    server.reply(exec(stateOf(path)), { text: "done" });
    await talk();
    assert.match(told(server), /Inside\.[^]*svc\.json'?: No such file/);
  });
});
