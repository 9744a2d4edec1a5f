// long: reloads every plugin of the bundle
/**
 * The bundle passes the contract suites that third-party plugins are tested with: every namespace, every provider, every tool,
 * the transform of the examples. Methods whose samples need more context (a node, a question, a hash) are called with documented
 * params in `methods.test.ts`; here they are served, checked and reloaded.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Contract, Plugin } from "@svc/sdk";
import { ModelProvider } from "@svc/sdk/models";
import {
  contributionOf,
  namespaceContract,
  type NamespaceSample,
  type NamespaceScene,
  providerContract,
  toolContract,
  transformContract,
} from "@svc/sdk/testing";
import { Tool } from "@svc/sdk/tools";
import githubIssue from "../../examples/webhook-transform/hooks/transforms/github-issue.ts";
import agentsPlugin from "../../plugins/agents/plugin.ts";
import anthropicPlugin from "../../plugins/provider-anthropic/plugin.ts";
import bedrockPlugin from "../../plugins/provider-bedrock/plugin.ts";
import googlePlugin from "../../plugins/provider-google/plugin.ts";
import offlinePlugin from "../../plugins/provider-offline/plugin.ts";
import openaiPlugin from "../../plugins/provider-openai/plugin.ts";
import sessionsPlugin from "../../plugins/sessions/plugin.ts";
import { converseFormat } from "../plugins/providers/servers/converse.ts";
import { geminiFormat } from "../plugins/providers/servers/gemini.ts";
import { responsesFormat } from "../plugins/providers/servers/responses.ts";
import { type Format, startScripted } from "../plugins/providers/servers/scripted.ts";
import { BUNDLE } from "./config-bundle.ts";
import { contracts, good, type Scene } from "./samples.ts";
import { STORAGE } from "../storage-engine.ts";

/** Plugins by the contracts they serve, and methods that accept unknown keys, as the wire contract defines. */
const NAMESPACES: readonly {
  readonly id: string;
  readonly contract: Contract;
  readonly open?: readonly string[];
  /** Their samples need a configuration file or a session. */
  readonly needs?: readonly string[];
}[] = [
  { id: "agents", contract: contracts.agents, needs: ["create", "update", "delete"] },
  {
    id: "approvals",
    contract: {
      ...contracts.execApproval,
      ...prefixed("policy", contracts.execApprovals),
      ...prefixed("plugin", contracts.pluginApproval),
      ...prefixed("question", contracts.question),
    },
    open: ["waitDecision"],
  },
  { id: "browser", contract: contracts.browser, open: ["request"] },
  { id: "canvas", contract: contracts.nodeCanvas },
  { id: "chat", contract: { ...contracts.chat, ...prefixed("messages", contracts.sessionMessages) } },
  { id: "commands", contract: contracts.commands },
  {
    id: "channels",
    contract: {
      ...contracts.channels,
      ...prefixed("out", contracts.outbound),
      ...prefixed("pairing", contracts.channelPairing),
      ...prefixed("login", contracts.channelLogin),
      ...prefixed("web", contracts.webLogin),
    },
    needs: [
      "logout",
      "out.send",
      "out.poll",
      "out.action",
      "login.start",
      "pairing.list",
      "pairing.remove",
      "web.start",
      "web.wait",
    ],
  },
  { id: "config", contract: contracts.config },
  { id: "cron", contract: contracts.cron, open: ["add", "update"] },
  { id: "devices", contract: contracts.devices },
  { id: "files", contract: contracts.files },
  {
    id: "health",
    contract: {
      ...contracts.health,
      ...prefixed("gateways", contracts.gateways),
      ...prefixed("viewers", contracts.viewers),
    },
    open: ["check", "status", "presence", "event"],
    needs: ["viewers.set"],
  },
  { id: "heartbeat", contract: contracts.heartbeat, open: ["last", "set"] },
  { id: "control-panel", contract: contracts.panel },
  { id: "import", contract: contracts.imports, needs: ["take", "give"] },
  { id: "logs", contract: contracts.logs },
  { id: "media", contract: contracts.media, needs: ["transcribe", "describe"] },
  { id: "memory", contract: contracts.memory, open: ["doctor"] },
  { id: "models", contract: contracts.models },
  { id: "nodes", contract: { ...contracts.nodes, ...prefixed("push", contracts.push) } },
  { id: "plugins", contract: contracts.plugins, needs: ["disable", "enable"] },
  { id: "secrets", contract: contracts.secrets, open: ["list", "reload", "resolve"] },
  { id: "sessions", contract: { ...contracts.sessions, ...contracts.sessionsWatch }, needs: ["resolve"] },
  { id: "skills", contract: contracts.skills, needs: ["install", "update", "add", "remove"] },
  { id: STORAGE, contract: contracts.storage },
  {
    id: "talk",
    contract: { ...contracts.talk, ...prefixed("wake", contracts.voicewake) },
    open: ["mode", "wake.get", "wake.set"],
  },
  { id: "tools", contract: contracts.tools },
  {
    id: "tts",
    contract: contracts.tts,
    open: ["status", "providers", "enable", "disable", "setProvider", "convert"],
    needs: ["convert"],
  },
  { id: "update", contract: contracts.update },
  {
    id: "usage",
    contract: { ...contracts.usage, ...contracts.sessionsUsage },
    open: ["status", "cost", "timeseries", "logs"],
    needs: ["timeseries"],
  },
  { id: "webhooks", contract: contracts.webhooks, needs: ["disable", "enable"] },
  { id: "wizard", contract: contracts.wizard },
];

/** Merges the samples: two contracts of one plugin may have the same keys. */
function prefixed(prefix: string, contract: Contract): Contract {
  return Object.fromEntries(Object.entries(contract).map(([key, method]) => [`${prefix}.${key}`, method]));
}

/** Everything except the plugin itself. */
const without = (...ids: string[]) => BUNDLE.filter((name) => !ids.some((id) => name === `@svc/plugin-${id}`));

/** The samples of a contract that need only a state directory; the others throw when they use their context. */
function samplesOf(contract: Contract) {
  const found = new Map<string, readonly NamespaceSample<unknown>[]>();
  const nobody = new Proxy({} as Scene, {
    get: (_, key) => {
      if (key === "stateDir") return "/nowhere";
      throw new Error(`needs ${String(key)}`);
    },
  });
  const isPlain = (sample: (scene: Scene) => unknown) => {
    try {
      sample(nobody);
      return true;
    } catch {
      return false;
    }
  };
  for (const [name, samples] of Object.entries(good)) {
    const key = Object.keys(contract).find((one) => contract[one]?.name === name);
    if (key === undefined || !samples.every(isPlain)) continue;
    found.set(
      key,
      samples.map(
        (sample) =>
          ({ stateDir }: NamespaceScene) =>
            sample({ stateDir } as Scene),
      ),
    );
  }
  return found;
}

describe("the contract of a namespace", { timeout: 300_000 }, () => {
  it("is met by every plugin that has one", () => {
    const tried = NAMESPACES.flatMap(({ contract }) => Object.values(contract).map(({ name }) => name));
    assert.deepEqual(tried.toSorted(), Object.keys(good).toSorted());
  });

  for (const { id, contract, open = [], needs = [] } of NAMESPACES)
    it(`is met by ${id}`, async (t) => {
      const samples = samplesOf(contract);
      for (const key of needs) samples.delete(key);
      const sideEffects = Object.keys(contract).filter((key) => !samples.has(key));
      const options = { plugin: id, plugins: without(id), contract, open, sideEffects };
      await namespaceContract(t, { ...options, samples: Object.fromEntries(samples) });
    });
});

describe("the contract of a model provider", { timeout: 300_000 }, () => {
  it("is met by provider-openai", async (t) => {
    const provider = await contributionOf(t, ModelProvider, "openai-completions", { plugin: openaiPlugin });
    await providerContract(t, { provider });
  });

  it("is met by provider-anthropic", async (t) => {
    const provider = await contributionOf(t, ModelProvider, "anthropic-messages", { plugin: anthropicPlugin });
    await providerContract(t, { provider });
  });

  const others: readonly [id: string, api: string, plugin: Plugin, format: Format][] = [
    ["provider-openai", "openai-responses", openaiPlugin, responsesFormat],
    ["provider-google", "google-generative-ai", googlePlugin, geminiFormat],
    ["provider-bedrock", "bedrock-converse-stream", bedrockPlugin, converseFormat],
  ];
  for (const [id, api, plugin, format] of others)
    it(`is met by ${id} with ${api}`, async (t) => {
      const provider = await contributionOf(t, ModelProvider, api, { plugin });
      await providerContract(t, { provider, server: () => startScripted(format) });
    });

  it("is met by provider-offline, which calls no server", async (t) => {
    const provider = await contributionOf(t, ModelProvider, "offline", { plugin: offlinePlugin });
    await providerContract(t, { provider, server: "none" });
  });
});

describe("the contract of a tool", { timeout: 300_000 }, () => {
  it("is met by the tools of sessions", async (t) => {
    const beside = { plugin: sessionsPlugin, plugins: without("sessions") };
    const status = await contributionOf(t, Tool, "session_status", beside);
    await toolContract(t, { tool: status, name: "session_status", samples: [{}] });
    const list = await contributionOf(t, Tool, "sessions_list", beside);
    await toolContract(t, { tool: list, name: "sessions_list", samples: [{}, { limit: 1 }], invalid: [{ limit: 0 }] });
  });

  it("is met by the tools of agents", async (t) => {
    const beside = { plugin: agentsPlugin, plugins: without("agents") };
    const spawn = await contributionOf(t, Tool, "sessions_spawn", beside);
    await toolContract(t, {
      tool: spawn,
      name: "sessions_spawn",
      samples: [{ task: "echo hi", label: "short" }],
      invalid: [{ task: "" }, { task: "x", runTimeoutSeconds: -1 }],
    });
    const subagents = await contributionOf(t, Tool, "subagents", beside);
    await toolContract(t, {
      tool: subagents,
      name: "subagents",
      samples: [{ action: "list" }, { action: "stop", target: "all" }],
      invalid: [{ action: "start" }],
    });
  });
});

describe("the contract of a transform", () => {
  it("is met by the example", (t) =>
    transformContract(t, { transform: githubIssue, invalid: [{ action: "opened", issue: {}, repository: {} }] }));
});
