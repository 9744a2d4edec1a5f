/** The parts of the bundled plugins that need no model server, in a gateway: access, workspace, webhooks, the first message. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { type Principal, unavailable } from "@svc/sdk";
import type { AgentRuns, RunRequest } from "@svc/sdk/agents";
import type { SkillStatus } from "@svc/sdk/skills";
import type { SetupStep } from "@svc/sdk/wizard";
import { createFirstMessagePart } from "../../../plugins/chat/setup-part.ts";
import { createAccessPart } from "../../../plugins/config/setup-part.ts";
import { createSkillPart } from "../../../plugins/skills/setup-part.ts";
import { startWizard } from "./scene.ts";

const limited = { timeout: 120_000 };
const call = (config: Readonly<Record<string, unknown>> = {}) => ({
  principal: { id: "token" } as Principal,
  config,
  signal: new AbortController().signal,
});
const question = (step: SetupStep) => ("ask" in step ? step.ask : assert.fail(JSON.stringify(step)));

describe("the part about access", () => {
  it("names the place of the credential for each mode", async () => {
    const told: readonly (readonly [mode: string, RegExp])[] = [
      ["token", /token[\s\S]*svc gateway token/],
      ["password", /password[\s\S]*svc gateway token/],
      ["none", /every program on this machine controls the gateway/],
      ["trusted-proxy", /gateway\.auth\.mode is trusted-proxy/],
    ];
    for (const [authMode, text] of told)
      assert.match(question(await createAccessPart({ authMode }).start(call())).message, text);
  });

  it("offers the current address first, even an unlisted one, and writes only a change", async () => {
    const part = createAccessPart({ authMode: "token" });
    const asked = question(await part.start(call({ gateway: { bind: "tailnet" } })));
    assert.ok(asked.kind === "select");
    assert.deepEqual(
      [asked.initial, asked.options.map(({ value }) => value)],
      ["tailnet", ["tailnet", "loopback", "lan"]],
    );
    assert.deepEqual(await part.next({ ...call(), state: undefined, answer: "loopback" }), { done: true });
    const lan = await part.next({ ...call(), state: undefined, answer: "lan" });
    assert.deepEqual("done" in lan && lan.config, { gateway: { bind: "lan" } });
  });
});

describe("parts in a gateway", limited, () => {
  it("turn webhooks on with a hidden token, keep that token, and turn webhooks off", async (t) => {
    const { gateway, setup, written } = await startWizard(t, ["webhooks", "webhook-wake", "storage-sqlite"]);
    await setup.start();
    assert.equal(setup.step.initialValue, false);
    const { step } = await setup.answer(true);
    const { token } = written()["hooks"];
    assert.match(token, /^[0-9a-f]{48}$/);
    assert.match(step?.message ?? "", /POST http:\/\/127\.0\.0\.1:\d+\/hooks\/agent .*hooks\.token in .*svc\.json/);
    assert.doesNotMatch(step?.message ?? "", new RegExp(token));
    await setup.answer();
    const wake = async () => {
      const { status } = await fetch(`${gateway.url.replace(/^ws/, "http")}/hooks/wake`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: '{"text": "hi"}',
      });
      return status;
    };
    assert.equal(await wake(), 501, "the token is accepted; no plugin of this test has the action");
    await setup.start();
    assert.equal(setup.step.initialValue, true);
    await setup.answer(true);
    await setup.answer();
    assert.equal(written()["hooks"].token, token);
    await setup.start();
    await setup.answer(false);
    assert.deepEqual([written()["hooks"].enabled, await wake()], [false, 404]);
  });

  const AGENTS = ["agents", "sessions", "models", "provider-offline", "storage-sqlite", "chat"];

  it("set the requested workspace, ask again after a refused one, and get a first answer", async (t) => {
    const { setup, stateDir, written } = await startWizard(t, AGENTS);
    await setup.start({ workspace: "relative" });
    assert.match(setup.step.message ?? "", /relative path[\s\S]*Directory for the files/);
    await setup.answer(stateDir);
    assert.match(setup.step.message ?? "", /contains the state directory/);
    mkdirSync(join(stateDir, "workspace-mine"));
    await setup.answer(join(stateDir, "workspace-mine"));
    assert.equal(written()["agents"].defaults.workspace, join(stateDir, "workspace-mine"));
    assert.match(setup.step.title ?? "", /Language model/);
    await setup.answer("offline");
    assert.match(setup.step.message ?? "", /first message/);
    await setup.answer("echo it works");
    assert.match(setup.step.message ?? "", /The agent answers:\n\nit works/);
    assert.deepEqual(await setup.answer(), { done: true, status: "done" });
    assert.ok(existsSync(join(stateDir, "workspace-mine/BOOTSTRAP.md")));
  });

  it("name the default workspace if none was requested", async (t) => {
    const { setup, stateDir } = await startWizard(t, AGENTS);
    await setup.start();
    assert.match(setup.step.message ?? "", new RegExp(`^Workspace: ${stateDir}/workspace\n`));
  });
});

describe("the first message", () => {
  const partWith = (runs: Partial<AgentRuns>) =>
    createFirstMessagePart({
      sessions: { defaults: () => ({ mainSessionKey: "agent:main:main" }) as never }, // the used part
      runs: { start: async () => ({}) as never, wait: async () => undefined, abort: () => true, ...runs },
    });
  const next = async (part: ReturnType<typeof partWith>, state: unknown, answer: string) =>
    part.next({ ...call(), state, answer });

  it("goes to the main session on behalf of the person", async () => {
    const requests: RunRequest[] = [];
    const part = partWith({
      start: async (request) => {
        requests.push(request);
        return {} as never; // not used
      },
      wait: async () => ({ status: "ok", text: "hello" }) as never, // the used part
    });
    const step = await next(part, { at: "message" }, " hi ");
    assert.equal(question(step).message, "The agent answers:\n\nhello");
    const [{ sessionKey, message, principal } = assert.fail()] = requests;
    assert.deepEqual([sessionKey, message, principal.id], ["agent:main:main", "hi", "token"]);
  });

  it("shows why there is no answer, and can be repeated or skipped", async () => {
    const aborted: string[] = [];
    const late = partWith({ abort: (_, reason) => aborted.push(reason) > 0 });
    const failed = await next(late, { at: "message" }, "hi");
    assert.match(question(failed).message, /did not answer: no answer within 4 minutes/);
    assert.deepEqual(aborted, ["timeout"]);
    const rejected = partWith({ wait: async () => ({ status: "error", errorMessage: "key rejected" }) as never });
    assert.match(question(await next(rejected, { at: "message" }, "hi")).message, /key rejected/);
    assert.equal(question(await next(late, { at: "failed" }, "repeat")).kind, "text");
    assert.match(JSON.stringify(await next(late, { at: "failed" }, "skip")), /has not answered a message yet/);
    assert.deepEqual(await next(late, { at: "message" }, " "), { done: true, message: "First message: skipped." });
    await assert.rejects(
      next(partWith({ start: async () => unavailable("stopping") }), { at: "message" }, "hi"),
      /stopping/,
    );
  });
});

describe("the part about skills", () => {
  const needs = { bins: [], anyBins: [], env: [], config: [], os: [] };
  const skill = (name: string, kind: "node" | "apt", changes: Partial<SkillStatus> = {}): SkillStatus => ({
    name,
    description: `about ${name}`,
    source: "svc-bundled",
    filePath: `/s/${name}/SKILL.md`,
    baseDir: `/s/${name}`,
    skillKey: name,
    always: false,
    disabled: false,
    blockedByAllowlist: false,
    eligible: false,
    requirements: needs,
    missing: { ...needs, bins: [name] },
    configChecks: [],
    install: [{ id: kind, kind, label: `Install ${name} (${kind})`, bins: [name] }],
    ...changes,
  });
  const all = [
    skill("ready", "node", { eligible: true, missing: needs }),
    skill("tool", "node"),
    skill("broken", "node"),
    skill("system", "apt"),
    skill("off", "node", { disabled: true }),
    skill("outside", "node", { outside: true }),
    skill("unlisted", "node", { excludedByAgent: true }),
    skill("complete", "node", { missing: needs }),
    skill("keyless", "node", { missing: { ...needs, bins: ["keyless"], env: ["KEY"] } }),
  ];

  function open({ list = all, allowSystem = false } = {}) {
    const installed: string[] = [];
    const part = createSkillPart({
      status: async () => ({
        workspaceDir: "/w",
        managedSkillsDir: "/m",
        problems: [],
        skills: list.map((one) => (installed.includes(one.name) ? { ...one, eligible: true } : one)),
      }),
      async install(name, installId) {
        if (name === "broken") unavailable("npm ended with exit code 1; see stderr");
        installed.push(name);
        assert.equal(installId, list.find((one) => one.name === name)?.install[0]?.id);
      },
      allowSystem: () => allowSystem,
    });
    return { part, installed };
  }

  it("offers what the gateway may install for skills that lack only programs, installs the chosen ones, and names failures", async () => {
    const { part, installed } = open();
    const asked = question(await part.start(call()));
    assert.ok(asked.kind === "multiselect");
    assert.deepEqual([asked.options.map(({ value }) => value), asked.initial], [["tool", "broken"], []]);
    const done = await part.next({ ...call(), state: undefined, answer: ["tool", "broken", "system", "ready"] });
    assert.deepEqual(installed, ["tool"]);
    assert.deepEqual(done, {
      done: true,
      message: [
        "broken was not installed: npm ended with exit code 1; see stderr",
        "Skills: 2 of 9 can be used. svc skills check says what the others lack.",
      ].join("\n"),
    });
  });

  it("offers system packages only if skills.install.allowSystem is on, and asks nothing if it can install nothing", async () => {
    const asked = question(await open({ allowSystem: true }).part.start(call()));
    assert.deepEqual(asked.kind === "multiselect" && asked.options.map(({ value }) => value), [
      "tool",
      "broken",
      "system",
    ]);
    const ready = [skill("ready", "node", { eligible: true, missing: needs })];
    const nothing = await open({ list: ready }).part.start(call());
    assert.deepEqual(nothing, { done: true, message: "Skills: 1 of 1 can be used." });
  });
});
