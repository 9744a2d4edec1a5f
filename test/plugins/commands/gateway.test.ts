/** `/usage`, `/context`, `/subagents`, `/restart`, `/config`. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { invalidRequest } from "@svc/sdk";
import type { AgentRuns, RunState } from "@svc/sdk/agents";
import type { ConfigEdit, ConfigStore, ConfigWritten } from "@svc/sdk/config";
import type { Restarts } from "@svc/sdk/gateway";
import type { SessionEntry, Sessions } from "@svc/sdk/sessions";
import type { UsageRecords } from "@svc/sdk/usage";
import type { CommandSources } from "../../../plugins/commands/sources.ts";
import { having, openCommands, principalWith } from "./commands-scene.ts";

/** A session with `fields` that commands can change. */
function session(fields: object = {}, more: Partial<Sessions> = {}) {
  const state = { entry: { sessionId: "s", updatedAt: 1, ...fields } as SessionEntry };
  const sessions: Partial<Sessions> = {
    agentOf: () => "main",
    get: async () => state.entry,
    ensure: async (_key, patch = {}) => (state.entry = { ...state.entry, ...patch }),
    context: async () => ({ summary: undefined, items: [] }),
    ...more,
  };
  return having<Sessions>(sessions);
}

describe("/usage", () => {
  const point = { timestamp: 1, input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost: 0 };
  const usage = (cumulativeCost: number): CommandSources["usage"] =>
    having<UsageRecords>({
      timeseries: async () => ({ points: [{ ...point, cumulativeTokens: 1_234, cumulativeCost }] }),
    });

  it("shows tokens and cost", async () => {
    const { says } = openCommands({ sessions: session({ responseUsage: "full" }), usage: usage(0.12) });
    assert.equal(
      await says("/usage"),
      "Usage of this conversation: 1234 tokens, $0.1200. Below answers in channels: full.",
    );
    const free = openCommands({ sessions: session(), usage: usage(0) });
    assert.match(await free.says("/usage"), /1234 tokens, no known cost\. Below answers in channels: off\.$/);
  });

  it("sets the line below answers, and refuses another word", async () => {
    const patches: unknown[] = [];
    const call = async (_method: unknown, params: unknown) => (patches.push(params), { entry: {} });
    const { says } = openCommands({ sessions: session(), call: call as unknown as CommandSources["call"] });
    assert.equal(await says("/usage tokens"), "Usage below answers in channels: tokens.");
    assert.deepEqual(patches, [{ key: "agent:main:main", responseUsage: "tokens" }]);
    await assert.rejects(says("/usage all"), { code: "INVALID_REQUEST", message: /choices: off, tokens, full/ });
  });

  it("names the plugin it needs", async () =>
    assert.match(await openCommands({ sessions: session() }).says("/usage"), /needs the plugin sessions/));
});

describe("/context", () => {
  it("shows what the entry knows", async () => {
    const systemPromptReport = {
      systemPrompt: { chars: 900 },
      injectedWorkspaceFiles: [{ name: "SOUL.md", injectedChars: 300 }, { name: 1 }],
      tools: { entries: [{}, {}] },
    };
    const context = async () => ({ summary: "s", items: [{ id: "1" }] as never });
    const sessions = session({ totalTokens: 500, contextTokens: 2_000, systemPromptReport }, { context });
    assert.deepEqual((await openCommands({ sessions }).says("/context")).split("\n"), [
      "Context: 500 of 2000 tokens (25 %); 1 messages after a summary of earlier ones.",
      "System prompt: 900 characters.",
      "Files in it, in characters: SOUL.md 300.",
      "Tools: 2.",
    ]);
  });

  it("says what it does not know", async () => {
    const { says } = openCommands({ sessions: session({ totalTokens: 5, totalTokensFresh: false }) });
    assert.equal(
      await says("/context"),
      "Context: unknown use of an unknown window, until the next reply; 0 messages.",
    );
    assert.match(await openCommands().says("/context"), /needs the plugin sessions/);
  });
});

describe("/subagents", () => {
  function open() {
    const running = new Map<string, readonly RunState[]>();
    const start = (key: string, runId: string, startedAt: number) =>
      running.set(key, [{ runId, sessionKey: key, source: "subagent", status: "running", startedAt }]);
    start("sub:a", "run-a", 2);
    start("sub:b", "run-b", 1);
    const aborted: string[] = [];
    const runs: Partial<AgentRuns> = {
      active: (key) => running.get(key) ?? [],
      abort: (runId) => (aborted.push(runId), true),
    };
    const call = async (_method: unknown, params: object) => {
      assert.equal((params as { spawnedBy: string }).spawnedBy, "agent:main:main");
      return { sessions: [{ key: "sub:a", label: "Read the news" }, { key: "sub:b" }, { key: "sub:ended" }] };
    };
    const sources = {
      sessions: session(),
      runs: having<AgentRuns>(runs),
      call: call as unknown as CommandSources["call"],
    };
    return { aborted, running, ...openCommands(sources) };
  }

  it("lists those at work, the oldest first", async () => {
    const { says, running } = open();
    assert.equal(await says("/subagents"), "1. sub:b\n2. Read the news");
    running.clear();
    assert.equal(await says("/subagents list"), "No sub-agent is at work for this conversation.");
  });

  it("stops one, and not another one when the message is repeated", async () => {
    const { says, aborted, running } = open();
    assert.equal(await says("/subagents stop 1"), "Stopped sub:b.");
    running.delete("sub:b");
    assert.equal(await says("/subagents stop 1"), "Stopped sub:b.");
    assert.deepEqual(aborted, ["run-b"]);
  });

  it("refuses a number that is not listed, and other words", async () => {
    const { says, aborted } = open();
    await assert.rejects(says("/subagents stop 3"), { message: /no sub-agent number 3; \/subagents lists 2/ });
    await assert.rejects(says("/subagents stop"), { message: /list and stop <number>/ });
    assert.deepEqual(aborted, []);
    assert.match(await openCommands({ sessions: session() }).says("/subagents"), /needs the plugin agents/);
  });
});

describe("/restart", () => {
  const open = (possible: boolean) => {
    const reasons: string[] = [];
    const restarts: Restarts = {
      possible,
      schedule: ({ reason }) => (reasons.push(reason), { delayMs: 2_000, coalesced: false, cooldownMsApplied: 0 }),
    };
    return { reasons, ...openCommands({ sessions: session(), restarts: having<Restarts>(restarts) }) };
  };

  it("schedules one restart, also if the message is repeated after it", async () => {
    const { says, reasons } = open(true);
    assert.equal(await says("/restart"), "The gateway restarts in 2 s, after the replies in progress.");
    assert.equal(await says("/restart"), "The gateway has restarted.");
    assert.deepEqual(reasons, ["chat command of p"]);
  });

  it("gives the command where the gateway cannot do it", async () => {
    const { says, reasons } = open(false);
    assert.match(await says("/restart"), /run: svc gateway restart$/);
    assert.match(await openCommands().says("/restart"), /run: svc gateway restart$/);
    assert.match(await open(true).says("/restart", { principal: principalWith("operator.write") }), /^Only the owner/);
    assert.deepEqual(reasons, []);
  });
});

describe("/config", () => {
  const CONFIG = { gateway: { port: 1, auth: { token: "__SVC_REDACTED__" } }, list: [{ a: 1 }] };

  /** @param reload outcome of a change; `undefined`: nothing changed */
  function open(reload?: ConfigWritten["reload"]) {
    const edits: (readonly ConfigEdit[])[] = [];
    const actors: string[] = [];
    const store: Partial<ConfigStore> = {
      snapshot: async () => ({ config: CONFIG, valid: true, issues: [] }) as never, // only these are read
      async edit({ actor, action }, decide) {
        actors.push(`${actor}: ${action}`);
        edits.push(decide({ list: [{}] }));
        if (edits[0]?.[0]?.value === "refused") invalidRequest("gateway.port must be a number");
        return { path: "", hash: "", config: CONFIG, changed: reload ? ["x"] : [], reload };
      },
    };
    return { edits, actors, ...openCommands({ config: having<ConfigStore>(store) }) };
  }

  it("shows settings, and never a secret", async () => {
    const { says } = open();
    assert.equal(await says("/config get gateway.port"), "gateway.port: 1");
    assert.equal(await says("/config get list.0.a"), "list[0].a: 1");
    assert.equal(await says("/config get nothing"), "nothing: not set");
    assert.equal(await says("/config get gateway.auth.token"), 'gateway.auth.token: "__SVC_REDACTED__"');
    assert.match(await says("/config get"), /^Settings: gateway, list\./);
  });

  it("changes one through the checks of the configuration", async () => {
    const { says, edits, actors } = open("hot");
    assert.equal(await says("/config set gateway.port 1"), "gateway.port: 1. It is in effect.");
    assert.equal(await says('/config set list.0.b {"c": true}'), "list[0].b: not set. It is in effect.");
    assert.equal(await says("/config unset list[0].a"), "list[0].a: 1. It is in effect.");
    assert.deepEqual(edits, [
      [{ path: ["gateway", "port"], value: 1 }],
      [{ path: ["list", 0, "b"], value: { c: true } }],
      [{ path: ["list", 0, "a"], value: undefined }],
    ]);
    assert.deepEqual(new Set(actors), new Set(["p: chat command /config set", "p: chat command /config unset"]));
    assert.match(await open("restart").says("/config set gateway.port 1"), /after a restart: \/restart$/);
    assert.match(await open().says("/config set gateway.port 1"), /Nothing has changed\.$/);
  });

  it("does not repeat a secret that was set", async () => {
    const reply = await open("hot").says("/config set gateway.auth.token very-secret-words");
    assert.doesNotMatch(reply, /very-secret/);
  });

  for (const text of [
    "/config",
    "/config list",
    "/config set a",
    "/config get a b",
    "/config unset a b",
    "/config unset",
  ])
    it(`refuses "${text}"`, () => assert.rejects(open().says(text), { message: /^write \/config get/ }));

  it("refuses what the configuration refuses, and who is not the owner", async () => {
    await assert.rejects(open().says("/config set gateway.port refused"), { message: /must be a number/ });
    const { says, edits } = open();
    assert.match(await says("/config get", { principal: principalWith("operator.write") }), /^Only the owner/);
    assert.deepEqual(edits, []);
    assert.match(await openCommands().says("/config get"), /needs the plugin config/);
  });

  const paths: [text: string, path: readonly (string | number)[] | undefined][] = [
    ["gateway.port", ["gateway", "port"]],
    ["plugins.use[0]", ["plugins", "use", 0]],
    ['hooks."a.b".x', ["hooks", "a.b", "x"]],
    ['hooks."a b".x', ["hooks", "a b", "x"]],
    ["hooks['a b'].x", ["hooks", "a b", "x"]],
    ["a..b", undefined],
    ["a.", undefined],
    ["a[x]", undefined],
    ["a.__proto__.b", undefined],
  ];
  for (const [text, path] of paths)
    it(`reads the path ${text}`, async () => {
      const { says, edits } = open();
      const set = says(`/config set ${text} 1`);
      if (!path) return assert.rejects(set, { code: "INVALID_REQUEST" });
      await set;
      assert.deepEqual(edits, [[{ path, value: 1 }]]);
    });

  it("reads values as JSON, or as text", async () => {
    const { says, edits } = open();
    for (const value of ["1", "true", "a b"]) await says(`/config set a ${value}`);
    assert.deepEqual(
      edits.map(([edit]) => edit?.value),
      [1, true, "a b"],
    );
    await assert.rejects(says("/config set a {a"), { code: "INVALID_REQUEST", message: /is not JSON/ });
  });
});
