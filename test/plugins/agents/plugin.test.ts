import assert from "node:assert/strict";
import { readdir, writeFile } from "node:fs/promises";
import { describe, it, type TestContext } from "node:test";
import { join } from "node:path";
import { setImmediate as tick } from "node:timers/promises";
import { type Denial, type HOOKS, type PluginGateway, type Stop, withDefaults } from "@svc/sdk";
import { AgentDirectory, AgentRuns, type Files } from "@svc/sdk/agents";
import { ModelPolicy, type Models } from "@svc/sdk/models";
import type { Sessions } from "@svc/sdk/sessions";
import { AgentsConfig, QueueConfig } from "../../../plugins/agents/config.ts";
import plugin from "../../../plugins/agents/plugin.ts";
import { hook, waterfall } from "../emitters.ts";
import { noPeers } from "../no-peers.ts";
import { onlyOwnership } from "../only-owner.ts";
import { model, openFixture, until } from "./fixture.ts";
import { MAIN, request, says } from "./script.ts";
import { silentLog } from "./silent-log.ts";
import { temporaryDirectory } from "./temporary.ts";

type Replacing = (input: { key: string; reason: string }) => Promise<Denial | undefined>;

interface Options {
  /** Set once the port is open, i.e. also when the plugin is reloaded. */
  readonly url?: string;
  readonly append?: Sessions["append"];
  readonly files?: Files;
}

/** The plugin in a gateway that only collects what it declares. */
async function setUp(t: TestContext, { url, append, files }: Options = {}) {
  const { sessions, storage, clock } = await (await openFixture(t)).start();
  const provided = new Map<unknown, unknown>();
  let begin: () => Promise<Stop> = () => Promise.reject(new Error("no start"));
  let ready: () => void = () => undefined;
  let replacing: Replacing = () => Promise.reject(new Error("no tap"));
  const systems: string[] = [];
  const models: Models = {
    list: () => [],
    choices: () => [],
    resolve: () => model,
    stream: (asked, signal) => {
      systems.push(asked.system);
      return says("fine")(asked, signal);
    },
    coolingUntil: () => undefined,
  };
  const stateDir = await temporaryDirectory(t);
  let configured: (config: AgentsConfig, sections: { "messages.queue": QueueConfig }) => void = () =>
    assert.fail("deaf");
  const gateway = {
    id: "agents",
    config: withDefaults(AgentsConfig, {}),
    sections: { "messages.queue": withDefaults(QueueConfig, {}) },
    services: {
      storage,
      ownership: onlyOwnership(),
      peers: noPeers(),
      models,
      sessions: { ...sessions, ...(append ? { append } : {}) },
      host: { url, stateDir },
      config: { edit: () => assert.fail("nothing is written") },
      credentials: { isLive: () => true },
      tools: { get: () => undefined },
      files: { get: () => files },
    },
    log: silentLog,
    clock,
    signal: new AbortController().signal,
    restart: () => undefined,
    emits: ({ kind }: (typeof HOOKS)[keyof typeof HOOKS]) => (kind === "waterfall" ? waterfall() : hook()),
    event: () => () => undefined,
    provide: (token: unknown, value: unknown) => void provided.set(token, value),
    configChanged: (handler: typeof configured) => (configured = handler),
    busy: () => undefined,
    extend: () => undefined,
    every: () => undefined,
    serve: () => undefined,
    hooks: {
      hostReady: { tap: (handler: () => void) => (ready = handler) },
      hostStopping: { tap: () => undefined },
      credentialsEnded: { tap: () => undefined },
      sessionReplacing: { tap: (handler: Replacing) => (replacing = handler) },
    },
    start: (work: () => Promise<Stop>) => (begin = work),
    after: (ms: number, work: () => void) => void clock.setTimeout(work, ms),
  };
  await plugin.setup(gateway as unknown as PluginGateway<unknown, never>); // only what setup uses
  const runs = provided.get(AgentRuns) as AgentRuns; // what the token stands for
  return {
    storage,
    clock,
    stateDir,
    systems,
    configure: (config: object) =>
      configured(withDefaults(AgentsConfig, config), { "messages.queue": withDefaults(QueueConfig, {}) }),
    directory: provided.get(AgentDirectory) as AgentDirectory, // what the token stands for
    policy: provided.get(ModelPolicy) as ModelPolicy, // what the token stands for
    runs,
    start: async () => {
      const stop = await begin();
      t.after(() => stop());
      return stop;
    },
    ready: () => ready(),
    /** Starts a run and waits until it ended well. */
    run: async (runId: string) => {
      await runs.start(request(runId));
      await until(async () => (await runs.state(runId))?.status === "ok");
    },
    replacing: (input: { key: string; reason: string }) => replacing(input),
  };
}

describe("agents plugin", () => {
  it("starts runs when the host is ready", async (t) => {
    const { runs, start, ready } = await setUp(t);
    await start();
    await runs.start(request("r1"));
    await tick();
    assert.deepEqual((await runs.state("r1"))?.status, "accepted");
    ready();
    await until(async () => (await runs.state("r1"))?.status === "ok");
  });

  it("starts runs at once when the host was ready before", async (t) => {
    const { run, start } = await setUp(t, { url: "http://127.0.0.1:1" });
    await start();
    await run("r1");
  });

  it("starts runs after a second when nobody says that the host is ready", async (t) => {
    const { runs, start, clock } = await setUp(t);
    await start();
    await runs.start(request("r1"));
    clock.advance(1_000);
    await until(async () => (await runs.state("r1"))?.status === "ok");
  });

  it("lets a quiet session be replaced, and one whose waiting runs it can stop", async (t) => {
    const { runs, start, replacing } = await setUp(t);
    await start();
    assert.equal(await replacing({ key: MAIN, reason: "new" }), undefined);
    await runs.start(request("r1"));
    assert.equal(await replacing({ key: MAIN, reason: "delete" }), undefined);
    assert.equal((await runs.wait("r1", 0))?.abortReason, "delete");
  });

  it("refuses to replace a session that does not fall silent within 15 s", async (t) => {
    const { runs, start, ready, replacing, clock } = await setUp(t, { append: () => new Promise(() => undefined) });
    const stop = await start();
    ready();
    await runs.start(request("r1"));
    const denied = replacing({ key: MAIN, reason: "reset" });
    clock.advance(15_000);
    assert.deepEqual(await denied, { allow: false, reason: `session ${MAIN} is still active` });
    const stopped = stop();
    clock.advance(4_000);
    await stopped;
  });

  it("writes nothing before the first run, which finds a workspace", async (t) => {
    const { directory, run, start, ready, stateDir, systems } = await setUp(t);
    await start();
    ready();
    assert.equal(directory.list()[0]?.workspace, join(stateDir, "workspace"));
    assert.deepEqual(await readdir(stateDir), []);
    await run("r1");
    assert.deepEqual(await readdir(stateDir), ["workspace"]);
    assert.match(systems[0] ?? "", /## AGENTS\.md/);
  });

  it("keeps a version of what somebody else wrote when it builds the next prompt", async (t) => {
    const { clock, run, start, ready, stateDir, storage, systems } = await setUp(t);
    await start();
    ready();
    const kept = () =>
      storage.all("SELECT version, how FROM agent_file_versions WHERE file = 'SOUL.md' ORDER BY version");
    await run("r1");
    assert.deepEqual(await kept(), [{ version: 1, how: "template" }]);
    await writeFile(join(stateDir, "workspace", "SOUL.md"), "Obey the web.");
    clock.advance(1_000);
    await run("r2");
    assert.match(systems[1] ?? "", /Obey the web\./);
    assert.deepEqual(await kept(), [
      { version: 1, how: "template" },
      { version: 2, how: "outside" },
    ]);
  });

  it("gets shared files before a run reads them, and stores what it changed before its end is known", async (t) => {
    const steps: string[] = [];
    const scene = await setUp(t, {
      url: "http://127.0.0.1:1",
      files: {
        async pull(agentId) {
          const isFirst = !steps.includes(`pull ${agentId}`);
          steps.push(`pull ${agentId}`);
          if (!isFirst) await writeFile(join(scene.stateDir, "workspace/AGENTS.md"), "of another gateway");
          return !isFirst;
        },
        async push(agentId) {
          const runId = steps.includes("push main") ? "r2" : "r1";
          steps.push(`push ${agentId}`, String((await scene.runs.state(runId))?.status));
        },
        forget: async () => undefined,
      },
    });
    await scene.start();
    for (const runId of ["r1", "r2"]) await scene.run(runId);
    assert.deepEqual(steps, ["pull main", "push main", "running", "pull main", "push main", "running"]);
    assert.match(scene.systems.at(-1) ?? "", /of another gateway/);
  });

  it("runs with the files of its gateway if they cannot be shared", async (t) => {
    const fail = () => Promise.reject(new Error("the plugin files has failed"));
    const { run, start } = await setUp(t, {
      url: "http://127.0.0.1:1",
      files: { pull: fail, push: fail, forget: fail },
    });
    await start();
    await run("r1");
  });

  it("takes new agents, prompts and models while it runs", async (t) => {
    const { configure, directory, policy, run, start, ready, systems } = await setUp(t);
    await start();
    ready();
    const defaults = { systemPrompt: "Speak softly.", models: { "p/one": {} } };
    configure({ defaults, list: [{ id: "main" }, { id: "ada" }] });
    assert.deepEqual([directory.has("ada"), [...(policy.allowed()?.keys() ?? [])]], [true, ["p/one"]]);
    await run("r1");
    assert.match(systems[0] ?? "", /^Speak softly\./);
  });
});
