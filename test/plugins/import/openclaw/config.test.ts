/** Configurations of OpenClaw, converted and checked with the validation of `svc config validate`. */
import assert from "node:assert/strict";
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import type { CheckedConfig } from "@svc/kit/import";
import { isGatewayError, matches } from "@svc/sdk";
import { SecretRecord } from "@svc/sdk/import";
import { validateConfig } from "../../../../host/cli/config/read.ts";
import { UNPROTECTED } from "../../../../host/config/foreign-keys.ts";
import {
  type ConfigSource,
  convertConfig,
  type Unprotected,
  withoutCommandPolicy,
} from "../../../../plugins/import/openclaw/config.ts";
import { peerId } from "../../../../plugins/import/openclaw/config-channels.ts";
import { dotted, leaves } from "../../../../plugins/import/openclaw/config-paths.ts";
import { directory, put } from "../../../directory.ts";

type Values = Record<string, unknown>;

/** The real validation, of a gateway with the full bundle and an empty state. */
function validation(t: TestContext): (config: Values) => Promise<CheckedConfig> {
  const stateDir = directory(t);
  return async (config) => {
    process.env["SVC_STATE_DIR"] = stateDir;
    const file = join(stateDir, "candidate.json");
    writeFileSync(file, JSON.stringify(config));
    const printed: unknown[] = [];
    await validateConfig(file, { json: true, print: (value) => void printed.push(value), note: () => undefined });
    return printed[0] as CheckedConfig; // what the command prints
  };
}

interface Scene extends Partial<Omit<ConfigSource, "without">> {
  readonly without?: readonly string[];
}

const HOME = "/home/ann";

function convert(t: TestContext, config: Values | string, { without = [], ...scene }: Scene = {}) {
  const text = typeof config === "string" ? config : JSON.stringify(config);
  const directories = { directory: `${HOME}/.openclaw`, path: `${HOME}/.openclaw/openclaw.json`, home: HOME };
  return convertConfig({
    text,
    ...directories,
    stateDir: `${HOME}/.svc`,
    env: {},
    without: new Set(without),
    agents: [],
    dotEnv: {},
    people: [],
    check: validation(t),
    ...scene,
  });
}

/** The refusal, and the settings that it names. */
async function refusal(t: TestContext, config: Values | string, scene: Scene = {}) {
  const error: unknown = await convert(t, config, scene).then(
    () => assert.fail("it was converted"),
    (thrown: unknown) => thrown,
  );
  assert.ok(isGatewayError(error), String(error));
  const { code, keys = [] } = error.details as { code: string; keys?: readonly (Unprotected | string)[] };
  return {
    code,
    keys: keys.map((one) => (typeof one === "string" ? one : one.key)),
    message: error.message,
    all: keys,
  };
}

function at(value: unknown, path: string): unknown {
  return path.split(".").reduce<unknown>((node, key) => Object(node)[key] as unknown, value);
}

/** `{ [path]: value }` as nested objects. */
function nested(path: string, value: unknown): Values {
  return path
    .split(".")
    .reverse()
    .reduce<unknown>((below, key) => (key === "[]" ? [below] : { [key]: below }), value) as Values;
}

const action = ({ items }: Awaited<ReturnType<typeof convertConfig>>, id: string) =>
  items.find((item) => item.id === id)?.action;

const SECRETS = {
  gateway: "canary-gateway-9f1c",
  hook: "canary-hook-7733",
  model: "canary-model-0b2e",
  dotenv: "canary-dotenv-52aa",
  profile: "canary-profile-41de",
  oauth: "canary-oauth-8c60",
  bot: "4711:canary-bot-aa07",
  irc: "canary-irc-6d4d",
};

/** A file as somebody has it after some months. */
const REALISTIC = `{
  // my gateway
  env: { vars: { LLM_KEY: "${SECRETS.model}", TZ_NAME: "Europe/Berlin" }, shellEnv: { enabled: true } },
  gateway: {
    mode: "local", port: 32110, bind: "loopback", auth: { mode: "token", token: "\${GATEWAY_TOKEN}" },
    nodes: { denyCommands: ["camera.clip"] }, http: { endpoints: { chatCompletions: { enabled: true } } },
  },
  hooks: {
    enabled: true, token: "${SECRETS.hook}", transformsDir: "${HOME}/.openclaw/hooks/transforms", presets: ["gmail"],
    mappings: [{ id: "gh", match: { path: "gh" }, action: "agent", messageTemplate: "Repo {{r}}", wakeMode: "now" }],
  },
  agents: {
    defaults: {
      model: { primary: "llm/big", fallbacks: ["llm/small"] }, workspace: "~/.openclaw/workspace",
      models: { "llm/big": { alias: "big", params: { t: 1 } } }, heartbeat: { every: "60m" },
      compaction: { mode: "safeguard", reserveTokensFloor: 4000 },
    },
    list: [
      { id: "main", default: true, name: "Molly", agentDir: "${HOME}/.openclaw/agents/main/agent" },
      { id: "work", tools: { profile: "coding", deny: ["web_search"] }, sandbox: { mode: "off" } },
    ],
  },
  bindings: [{ agentId: "work", match: { channel: "whatsapp", peer: { kind: "direct", id: "+15550001111" } } }],
  channels: {
    telegram: {
      botToken: "${SECRETS.bot}", allowFrom: [12345678], groups: { "-100123": { requireMention: true } },
      textChunkLimit: 3000,
    },
    whatsapp: { dmPolicy: "allowlist", allowFrom: ["+1 555 000 1111"] },
    irc: {
      host: "127.0.0.1", password: "${SECRETS.irc}", nickserv: { password: "\${NOWHERE}" },
      allowFrom: ["ann!ann@localhost"],
    },
  },
  models: { providers: { llm: {
    baseUrl: "http://127.0.0.1:1/v1", apiKey: "\${LLM_KEY}", api: "openai-completions",
    models: [
      { id: "big", name: "Big", contextWindow: 1000, compat: { supportsStore: false } },
      { id: "small", name: "Small" },
    ],
  } } },
  auth: {
    profiles: {
      "anthropic:default": { provider: "anthropic", mode: "api_key" },
      "openai-codex:me@example.com": { provider: "openai-codex", mode: "oauth", email: "me@example.com" },
    },
    order: { anthropic: ["anthropic:second", "anthropic:default"] }, cooldowns: { billingMaxHours: 2 },
  },
  session: {
    dmScope: "per-channel-peer", identityLinks: { ann: ["telegram:12345678", "whatsapp:+15550001111"] },
  },
  messages: { ackReaction: "x", queue: { mode: "collect" } },
  commands: { native: "auto", useAccessGroups: true },
  cron: { enabled: true, store: "/x/jobs.json", sessionRetention: "48h" },
  tools: {
    exec: { security: "allowlist", ask: "off", host: "sandbox" }, elevated: { enabled: true },
    fs: { workspaceOnly: false },
  },
  plugins: {
    enabled: true, load: { paths: ["/opt/their-plugin"] }, slots: { memory: "x" },
    entries: { telegram: { enabled: true }, theirs: { enabled: true, config: { key: 1 } } },
  },
  logging: { level: "info" }, discovery: { mdns: { mode: "off" } }, talk: { agentId: "main" },
  meta: { lastTouchedVersion: "2026.3.2" },
}`;

const CREDENTIALS = {
  version: 1,
  profiles: {
    "anthropic:default": { type: "api_key", provider: "anthropic", key: SECRETS.profile },
    "anthropic:second": { type: "token", provider: "anthropic", token: `${SECRETS.profile}-2` },
    "openai-codex:me@example.com": { type: "oauth", provider: "openai-codex", access: SECRETS.oauth, refresh: "r" },
  },
};
const REALISTIC_SCENE = {
  agents: [{ id: "main", authProfiles: CREDENTIALS }],
  dotEnv: { GATEWAY_TOKEN: SECRETS.gateway, GROQ_API_KEY: SECRETS.dotenv },
};

describe("a realistic configuration", () => {
  it("becomes one that validation accepts, without anything unknown or without effect", async (t) => {
    const { config } = await convert(t, REALISTIC, REALISTIC_SCENE);
    const { issues, withoutEffect, warnings } = await validation(t)(config);
    assert.deepEqual({ issues, withoutEffect }, { issues: [], withoutEffect: [] });
    assert.deepEqual(warnings, []);
    for (const gone of ["env", "auth", "meta", "discovery", "plugins", "talk", "commands"])
      assert.equal(config[gone], undefined, gone);
    assert.deepEqual(at(config, "gateway.aliases"), ["openclaw"]);
  });

  it("has exactly one item for each leaf of the source", async (t) => {
    const { items } = await convert(t, REALISTIC, REALISTIC_SCENE);
    const { default: JSON5 } = await import("json5");
    const expected = leaves(JSON5.parse(REALISTIC)).map(dotted);
    assert.deepEqual(
      items.map(({ id }) => id),
      expected,
    );
    for (const item of items)
      assert.equal(item.action === "take", item.reason === undefined, `${item.id} says why, unless it is taken`);
  });

  it("keeps, drops and converts", async (t) => {
    const made = await convert(t, REALISTIC, REALISTIC_SCENE);
    const expected: Record<string, string> = {
      "gateway.port": "take",
      "gateway.mode": "drop",
      "hooks.transformsDir": "drop",
      "env.vars.LLM_KEY": "convert",
      "env.vars.TZ_NAME": "keep",
      "env.shellEnv.enabled": "drop",
      "agents.defaults.models.llm/big.params.t": "drop",
      "agents.list[0].agentDir": "drop",
      "agents.list[1].sandbox.mode": "drop",
      "channels.telegram.textChunkLimit": "keep",
      "channels.irc.allowFrom": "keep",
      "models.providers.llm.models[0].compat.supportsStore": "keep",
      "auth.profiles.anthropic:default.mode": "convert",
      "auth.profiles.openai-codex:me@example.com.mode": "drop",
      "auth.order.anthropic": "convert",
      "auth.cooldowns.billingMaxHours": "drop",
      "cron.store": "drop",
      "tools.exec.host": "drop",
      "tools.elevated.enabled": "drop",
      "plugins.load.paths": "keep",
      "plugins.entries.theirs.config.key": "keep",
      "talk.agentId": "keep",
    };
    assert.deepEqual(Object.fromEntries(Object.keys(expected).map((id) => [id, action(made, id)])), expected);
    assert.deepEqual(made.kept["plugins.load"], { paths: ["/opt/their-plugin"] });
    assert.equal(at(made.kept["channels.irc"], "password"), SECRETS.irc);
    assert.deepEqual(made.weaker, [], "nothing was protected");
  });

  it("has the same people, groups, workspaces and models as before", async (t) => {
    const { config, warnings, stricter } = await convert(t, REALISTIC, REALISTIC_SCENE);
    assert.deepEqual(at(config, "channels.telegram.allowFrom"), ["12345678"]);
    assert.deepEqual(at(config, "channels.telegram.groupAllowFrom"), ["12345678"], "only they are read in groups");
    assert.deepEqual(at(config, "channels.whatsapp"), {
      dmPolicy: "allowlist",
      allowFrom: ["15550001111"],
      transport: "web",
      groups: { "*": {} },
      groupAllowFrom: ["15550001111"],
    });
    assert.deepEqual(at(config, "session.identityLinks.ann"), ["telegram:12345678", "whatsapp:15550001111"]);
    assert.equal(at(config, "bindings.0.match.peer.id"), "15550001111");
    assert.equal(at(config, "agents.defaults.workspace"), `${HOME}/.openclaw/workspace`);
    assert.equal(at(config, "agents.list.0.workspace"), undefined);
    assert.equal(at(config, "agents.list.1.workspace"), `${HOME}/.openclaw/workspace-work`);
    assert.deepEqual(at(config, "agents.defaults.models"), { "llm/big": { alias: "big" }, "llm/small": {} });
    assert.ok(warnings.some((line) => line.startsWith("channels.whatsapp: the login")));
    assert.ok(stricter.some((line) => line.startsWith("tools.fs.workspaceOnly")));
  });

  it("refers to its secrets, and names none in the report", async (t) => {
    const { config, items, weaker, stricter, warnings, secrets } = await convert(t, REALISTIC, REALISTIC_SCENE);
    const ref = (id: string) => ({ source: "file", provider: "imported", id: `/${id}` });
    assert.deepEqual(at(config, "models.providers.llm.apiKey"), ref("LLM_KEY"));
    assert.deepEqual(at(config, "models.providers.groq.apiKey"), ref("GROQ_API_KEY"), "a variable counts there");
    assert.deepEqual(at(config, "models.providers.anthropic.accounts"), [
      { name: "second", apiKey: ref("anthropic:second") },
      { name: "default", apiKey: ref("anthropic:default") },
    ]);
    assert.equal(at(config, "gateway.auth.token"), SECRETS.gateway, "takes text only");
    assert.deepEqual(at(config, "secrets.providers.imported"), {
      source: "file",
      path: `${HOME}/.svc/credentials/imported.json`,
    });
    assert.deepEqual(Object.fromEntries(secrets.map(({ id, value }) => [id, value])), {
      LLM_KEY: SECRETS.model,
      GROQ_API_KEY: SECRETS.dotenv,
      "anthropic:default": SECRETS.profile,
      "anthropic:second": `${SECRETS.profile}-2`,
    });
    for (const record of secrets) assert.ok(matches(SecretRecord, record), record.id);
    const report = JSON.stringify({ items, weaker, stricter, warnings });
    for (const secret of Object.values(SECRETS)) assert.ok(!report.includes(secret), secret);
    assert.ok(!JSON.stringify(config).includes(SECRETS.oauth));
    assert.ok(warnings.some((line) => line.startsWith("login openai-codex:me@example.com")));
  });
});

describe("protections", () => {
  /** Settings with a value that protects something; each is refused alone. */
  const PROTECTIVE: readonly [path: string, value: unknown, key?: string][] = [
    ["agents.defaults.sandbox", { mode: "all", scope: "session" }],
    ["agents.list.[]", { id: "a", sandbox: { mode: "non-main" } }, "agents.list[0].sandbox"],
    ["agents.entries.a.sandbox", { mode: "all" }],
    ["agents.list.[]", { id: "a", tools: { exec: { security: "deny" } } }, "agents.list[0].tools.exec.security"],
    ["tools.sandbox", { tools: { allow: ["read"] } }],
    ["tools.elevated", { enabled: false }, "tools.elevated.enabled"],
    ["tools.elevated", { allowFrom: { telegram: ["1"] } }, "tools.elevated.allowFrom"],
    ["tools.exec.safeBins", ["jq"]],
    ["tools.exec.safeBinTrustedDirs", ["/usr/bin"]],
    ["tools.exec.safeBinProfiles", { jq: { maxPositional: 1 } }],
    ["tools.exec.applyPatch.workspaceOnly", true],
    ["tools.exec.applyPatch.enabled", false],
    ["tools.exec.applyPatch.allowModels", ["x/y"]],
    ["tools.exec.host", "node"],
    ["tools.exec.node", "box"],
    ["tools.loopDetection", { enabled: true }],
    ["tools.message.allowCrossContextSend", false],
    ["tools.message.broadcast.enabled", false],
    ["gateway.remote.tlsFingerprint", "aa:bb"],
    ["plugins.enabled", false],
    ["plugins.allow", ["a"]],
    ["plugins.deny", ["a"]],
    ["commands.allowFrom", { telegram: ["1"] }],
    ["commands.ownerAllowFrom", ["1"]],
    ["channels.telegram.groups", { "-1": { allowFrom: ["1"] } }, "channels.telegram.groups.-1.allowFrom"],
    ["channels.telegram.groups", { "-1": { skills: ["a"] } }, "channels.telegram.groups.-1.skills"],
    ["channels.telegram.groups", { "*": {}, "-1": { enabled: false } }, "channels.telegram.groups.-1.enabled"],
    ["channels.telegram.groupPolicy", "members"],
    ["channels.discord.guilds.1", { channels: { 2: { users: ["3"] } } }, "channels.discord.guilds.1.channels.2.users"],
    ["gateway.nodes.denyCommands", ["camera.*"], "gateway.nodes.denyCommands[0]"],
    ["bindings.[]", { agentId: "a", match: { channel: "telegram", weekday: 1 } }, "bindings[0].match"],
    [
      "hooks.mappings.[]",
      { match: { path: "x", sender: "y" }, action: "wake", textTemplate: "z" },
      "hooks.mappings[0].match",
    ],
  ];

  for (const [path, value, key = path] of PROTECTIVE) {
    it(`${key} stops the import until it is given up`, async (t) => {
      const config = nested(path, value);
      const { code, keys, message, all } = await refusal(t, config);
      assert.equal(code, "IMPORT_UNPROTECTED");
      assert.deepEqual(keys, [key]);
      assert.ok(message.includes(`--without ${/\[/.test(key) ? `'${key}'` : key}`), message);
      for (const one of all) assert.ok(typeof one === "object" && one.protects !== "" && one.instead !== "");
      const made = await convert(t, config, { without: [key] });
      assert.equal(made.weaker.length, 1);
      assert.ok(made.weaker[0]?.startsWith(`${key}: `), made.weaker[0]);
      assert.deepEqual((await validation(t)(made.config)).issues, []);
      assert.deepEqual(
        made.warnings.filter((line) => line.startsWith("--without")),
        [],
      );
    });
  }

  /** In force here without being refused. */
  const TAKEN: readonly [path: string, value: unknown][] = [
    ["gateway.tls.enabled", true],
    ["gateway.http.securityHeaders.strictTransportSecurity", "max-age=1"],
    ["agents.list", [{ id: "a", skills: ["x"] }]],
    ["approvals.exec.agentFilter", ["a"]],
    ["browser.ssrfPolicy.allowedHostnames", ["a.example"]],
    ["tools.deny", ["exec"]],
    ["tools.fs.workspaceOnly", true],
    ["channels.telegram.dmPolicy", "disabled"],
    ["channels.telegram.groupPolicy", "disabled"],
  ];
  for (const [path, value] of TAKEN)
    it(`${path} protects here, too`, async (t) => {
      const made = await convert(t, nested(path, value));
      assert.deepEqual(at(made.config, path), value);
      assert.deepEqual(made.weaker, []);
    });

  it("every key that validation refuses for a missing protection is refused, converted or off", async (t) => {
    const handled = new Set(PROTECTIVE.flatMap(([path, , key]) => [path, key ?? path]));
    const others = Object.keys(UNPROTECTED).filter(
      (key) => ![...handled].some((one) => one.replace(/\[\d+\]/g, "[]").startsWith(key)),
    );
    assert.deepEqual(others, [
      "channels.defaults.groupPolicy",
      "commands.useAccessGroups",
      "agents.list[].tools.elevated",
      "agents.list[].tools.loopDetection",
    ]);
    const { config } = await convert(t, {
      channels: { defaults: { groupPolicy: "disabled" }, telegram: {}, signal: { groupPolicy: "open" } },
      commands: { useAccessGroups: true },
    });
    assert.equal(at(config, "channels.telegram.groupPolicy"), "disabled");
    assert.equal(at(config, "channels.signal.groupPolicy"), "open");
    const agent = { tools: { elevated: { enabled: false }, loopDetection: { enabled: true } } };
    const { keys } = await refusal(t, { agents: { list: [{ id: "a", ...agent }] } });
    assert.deepEqual(keys, ["agents.list[0].tools.elevated.enabled", "agents.list[0].tools.loopDetection"]);
  });

  /** Mutations: settings that no version has. */
  for (const key of [
    "gateway.futurePolicy.hosts",
    "gateway.auth.extraCheck",
    "security.verifyPeers",
    "tools.exec.denyPaths",
    "tools.newTool.scope",
    "channels.telegram.approveNewcomers",
    "cron.limits.perHour",
    "logging.tlsTarget",
    "models.providers.x.secretStore",
    "newSandbox.kind",
  ])
    it(`a new setting that looks protective is refused: ${key}`, async (t) => {
      const config = nested(key, "strict");
      if (key.startsWith("models")) Object.assign(at(config, "models.providers.x") as Values, { models: [] });
      assert.deepEqual((await refusal(t, config)).keys, [key]);
    });

  it("names all of them at once, and a key covers those below it", async (t) => {
    const config = { agents: { defaults: { sandbox: { mode: "all" } } }, plugins: { allow: ["a"], deny: ["b"] } };
    assert.deepEqual((await refusal(t, config)).keys.toSorted(), [
      "agents.defaults.sandbox",
      "plugins.allow",
      "plugins.deny",
    ]);
    assert.deepEqual((await refusal(t, config, { without: ["plugins"] })).keys, ["agents.defaults.sandbox"]);
  });

  it("a sandbox that is given up leaves agents without commands", async (t) => {
    const config = { agents: { defaults: { sandbox: { mode: "all" } } }, tools: { exec: { security: "full" } } };
    const made = await convert(t, config, { without: ["agents.defaults.sandbox"] });
    assert.equal(at(made.config, "tools.exec.security"), "deny");
  });

  /** Values that switch a protection off are no protection. */
  const OFF: readonly [path: string, value: unknown][] = [
    ["agents.defaults.sandbox", { mode: "off", docker: { network: "none" } }],
    ["tools.elevated", { enabled: true }],
    ["tools.loopDetection", { enabled: false, historySize: 5 }],
    ["tools.message.allowCrossContextSend", true],
    ["tools.exec.applyPatch", { enabled: true, workspaceOnly: false }],
    ["tools.exec.safeBins", []],
    ["tools.fs.workspaceOnly", false],
    ["tools.exec.host", "auto"],
    ["plugins.enabled", true],
    ["gateway.auth.allowTailscale", true],
    ["gateway.newAllowList", ["*"]],
    ["gateway.verifyFoo", false],
    ["browser.newLimits", {}],
  ];
  for (const [path, value] of OFF)
    it(`${path} ${JSON.stringify(value)} protects nothing and is dropped`, async (t) => {
      const made = await convert(t, nested(path, value));
      assert.equal(at(made.config, path), undefined);
      assert.deepEqual(made.weaker, []);
      assert.ok(made.items.every((item) => item.action === "drop" || item.action === "keep"));
    });

  it("an agent without a mode of its own has the sandbox of the defaults", async (t) => {
    const list = [
      { id: "a", sandbox: { scope: "agent" } },
      { id: "b", sandbox: { mode: "off" } },
    ];
    const { keys } = await refusal(t, { agents: { defaults: { sandbox: { mode: "all" } }, list } });
    assert.deepEqual(keys, ["agents.defaults.sandbox", "agents.list[0].sandbox"]);
  });

  it("a name in --without that is not needed is a warning", async (t) => {
    const { warnings } = await convert(t, {}, { without: ["tools.sandbx"] });
    assert.ok(warnings.some((line) => line.startsWith("--without tools.sandbx: ")));
  });
});

describe("settings with another name", () => {
  const latest = { meta: { migrations: { modelPolicyAllowlist: true } } };
  const llm = { baseUrl: "http://127.0.0.1:1", models: [{ id: "a" }, { id: "b" }] };

  const RENAMED: readonly [why: string, source: Values, path: string, expected: unknown][] = [
    [
      "node commands",
      { gateway: { nodes: { commands: { deny: ["x.y"], allow: ["z"] } } } },
      "gateway.nodes",
      { denyCommands: ["x.y"], allowCommands: ["z"] },
    ],
    ["mode deny", { tools: { exec: { mode: "deny" } } }, "tools.exec", { security: "deny" }],
    ["mode allowlist", { tools: { exec: { mode: "allowlist" } } }, "tools.exec", { security: "allowlist", ask: "off" }],
    ["mode ask", { tools: { exec: { mode: "ask" } } }, "tools.exec", { security: "allowlist", ask: "on-miss" }],
    ["mode auto", { tools: { exec: { mode: "auto" } } }, "tools.exec", { security: "allowlist", ask: "on-miss" }],
    ["mode full", { tools: { exec: { mode: "full" } } }, "tools.exec", { security: "full", ask: "off" }],
    ["memory search", { memory: { search: { enabled: false } } }, "agents.defaults.memorySearch", { enabled: false }],
    [
      "agents, the default one first",
      { agents: { entries: { a: { workspace: "/a" }, b: { default: true }, c: { workspace: "/c" } } } },
      "agents.list",
      [
        { id: "b", default: true },
        { id: "a", workspace: "/a" },
        { id: "c", workspace: "/c" },
      ],
    ],
    [
      "allowed models",
      {
        ...latest,
        models: { providers: { llm } },
        agents: {
          defaults: {
            model: "llm/a",
            models: { "llm/b": { alias: "bee" }, "x/y": { alias: "no" } },
            modelPolicy: { allow: ["llm/b"] },
          },
        },
      },
      "agents.defaults.models",
      { "llm/b": { alias: "bee" }, "llm/a": {} },
    ],
    [
      "all models of a server",
      { ...latest, models: { providers: { llm } }, agents: { defaults: { modelPolicy: { allow: ["llm/*"] } } } },
      "agents.defaults.models",
      { "llm/a": {}, "llm/b": {} },
    ],
    [
      "aliases without a policy",
      { ...latest, agents: { defaults: { models: { "llm/a": { alias: "x" } } } } },
      "agents.defaults.models",
      undefined,
    ],
    [
      "skills of all agents",
      { agents: { defaults: { skills: ["s"] }, list: [{ id: "a" }, { id: "b", workspace: "/b", skills: [] }] } },
      "agents.list",
      [
        { id: "a", skills: ["s"] },
        { id: "b", workspace: "/b", skills: [] },
      ],
    ],
    [
      "BlueBubbles",
      {
        channels: { bluebubbles: { serverUrl: "http://mac:1234", password: "p", groups: { "iMessage;+;chat1": {} } } },
      },
      "channels.imessage",
      { serverUrl: "http://mac:1234", password: "p", groups: { "chat:iMessage;+;chat1": {} }, groupAllowFrom: [] },
    ],
    [
      "Signal",
      { channels: { signal: { httpUrl: "http://127.0.0.1:8080", groupPolicy: "disabled", groups: { "abc=": {} } } } },
      "channels.signal",
      { url: "http://127.0.0.1:8080", groupPolicy: "disabled", groups: { "group:abc=": {} } },
    ],
    [
      "Ollama",
      { models: { providers: { ollama: { baseUrl: "http://127.0.0.1:11434/", api: "ollama", models: [] } } } },
      "models.providers.ollama",
      { baseUrl: "http://127.0.0.1:11434/v1", api: "openai-completions", models: [] },
    ],
    [
      "growing answers",
      { channels: { telegram: { streaming: { mode: "partial", chunkMode: "newline" }, groupPolicy: "disabled" } } },
      "channels.telegram",
      { streaming: "draft", groupPolicy: "disabled" },
    ],
    [
      "channels of servers",
      {
        channels: {
          discord: {
            guilds: {
              1: { requireMention: false, channels: { 22: { allow: true }, 23: { allow: false }, general: {} } },
            },
          },
        },
      },
      "channels.discord",
      { groups: { 22: { requireMention: false } } },
    ],
    [
      "channels of Slack",
      { channels: { slack: { channels: { C1: { allow: true, requireMention: true } }, dm: { enabled: false } } } },
      "channels.slack",
      { groups: { C1: { requireMention: true } }, dmPolicy: "disabled" },
    ],
    ["a single agent's workspace", {}, "agents.defaults.workspace", `${HOME}/.openclaw/workspace`],
  ];
  for (const [why, source, path, expected] of RENAMED)
    it(`${why}: ${path}`, async (t) => {
      const { config } = await convert(t, source);
      assert.deepEqual(at(config, path), expected);
      const { issues, withoutEffect } = await validation(t)(config);
      assert.deepEqual({ issues, withoutEffect }, { issues: [], withoutEffect: [] });
    });

  it("a list is not lost if it is there under both names", async (t) => {
    const nodes = { denyCommands: ["a"], commands: { deny: ["b"] } };
    assert.deepEqual((await refusal(t, { gateway: { nodes } })).keys, ["gateway.nodes.commands.deny"]);
  });

  it("a binding to all accounts, which doctor added, stays", async (t) => {
    const bindings = [{ agentId: "main", match: { channel: "discord", accountId: "*" } }];
    assert.deepEqual((await convert(t, { bindings })).config["bindings"], bindings);
  });

  it("ids of people and groups are those of the plugins", () => {
    const ids: readonly [channel: string, kind: string, id: string, expected: string][] = [
      ["whatsapp", "direct", "+1 (555) 000-1111", "15550001111"],
      ["whatsapp", "dm", "whatsapp:+15550001111", "15550001111"],
      ["whatsapp", "group", "123-456@g.us", "123-456@g.us"],
      ["telegram", "direct", "tg:5", "5"],
      ["signal", "group", "abc=", "group:abc="],
      ["discord", "direct", "<@!7>", "7"],
      ["imessage", "direct", "imessage:Ann@Example.com", "ann@example.com"],
      ["irc", "direct", "ann", "ann"],
      ["constructor", "direct", "x", "x"],
    ];
    for (const [channel, kind, id, expected] of ids) assert.equal(peerId(channel, kind, id), expected);
  });
});

describe("groups", () => {
  /** Who is read in groups: `groupPolicy` limits people there, and groups here. */
  const GROUPS: readonly [why: string, telegram: Values, expected: Values][] = [
    ["people of allowFrom, in all groups", { allowFrom: ["1"] }, { groups: { "*": {} }, groupAllowFrom: ["1"] }],
    [
      "people of groupAllowFrom",
      { allowFrom: ["1"], groupAllowFrom: ["2"] },
      { groups: { "*": {} }, groupAllowFrom: ["2"] },
    ],
    ["listed groups only", { allowFrom: ["1"], groups: { "-5": {} } }, { groups: { "-5": {} }, groupAllowFrom: ["1"] }],
    ["everyone in listed groups if nobody is listed", { groups: { "-5": {} } }, { groups: { "-5": {} } }],
    ["nobody if there is only *", { groups: { "*": {} } }, { groups: { "*": {} }, groupAllowFrom: [] }],
    ["nobody", {}, { groupAllowFrom: [] }],
    ["open, all groups", { groupPolicy: "open" }, { groupPolicy: "open" }],
    [
      "open, listed groups",
      { groupPolicy: "open", groups: { "-5": {} } },
      { groupPolicy: "allowlist", groups: { "-5": {} } },
    ],
    [
      "a group that is off",
      { groups: { "-5": { enabled: false }, "-6": { enabled: true } } },
      { groups: { "-6": {} } },
    ],
  ];
  for (const [why, telegram, expected] of GROUPS)
    it(`of Telegram: ${why}`, async (t) => {
      const { config } = await convert(t, { channels: { telegram } });
      const { allowFrom: _, ...made } = at(config, "channels.telegram") as Values;
      assert.deepEqual(made, expected);
    });

  it("an account has what it inherits there", async (t) => {
    const accounts = { Work: { allowFrom: ["2"] }, open: { groupPolicy: "open" }, plain: { name: "p" } };
    const { config } = await convert(t, { channels: { telegram: { allowFrom: ["1"], accounts } } });
    assert.deepEqual(at(config, "channels.telegram.accounts"), {
      open: { groupPolicy: "open", groupAllowFrom: ["*"] },
      plain: { name: "p" },
      work: { allowFrom: ["2"], groups: { "*": {} }, groupAllowFrom: ["2"] },
    });
    assert.deepEqual(at(config, "channels.telegram.groupAllowFrom"), ["1"]);
  });

  it("entries that are no ids are counted as stricter", async (t) => {
    const { stricter } = await convert(t, { channels: { telegram: { allowFrom: ["@ann", "5"] } } });
    assert.ok(stricter.some((line) => line.startsWith("channels.telegram.allowFrom: 1 of 2 entries")));
  });
});

describe("variables and references", () => {
  it("take text where the schema takes no reference, escaped", async (t) => {
    const source = { logging: { file: "${LOG}" }, channels: { telegram: { botToken: "${BOT}" } } };
    const { config, secrets } = await convert(t, source, { dotEnv: { LOG: "/x/${y}.log", BOT: "1:b" } });
    assert.equal(at(config, "logging.file"), "/x/${y}.log");
    assert.equal(at(config, "channels.telegram.botToken"), "1:b");
    assert.deepEqual([secrets, config["secrets"]], [[], undefined]);
  });

  it("a literal stays a literal", async (t) => {
    const source = { hooks: { path: "/${BASE}" }, channels: { telegram: { botToken: "${BOT}" } } };
    const { config } = await convert(t, source, { dotEnv: { BASE: "in", BOT: "a${GATEWAY}b" } });
    assert.equal(at(config, "hooks.path"), "/in");
    assert.equal(at(config, "channels.telegram.botToken"), "a$${GATEWAY}b");
  });

  it(".env wins over env.vars, and env over nothing", async (t) => {
    const apiKey = "${K}";
    const models = { providers: { groq: { apiKey }, mistral: { apiKey: "${L}" } } };
    const { secrets } = await convert(t, { env: { L: "l", vars: { K: "old" } }, models }, { dotEnv: { K: "new" } });
    assert.deepEqual(secrets, [
      { id: "K", value: "new" },
      { id: "L", value: "l" },
    ]);
  });

  it("one that only this process has stays, with a warning", async (t) => {
    process.env["SVC_TEST_ONLY_KEY"] = "x";
    t.after(() => delete process.env["SVC_TEST_ONLY_KEY"]);
    const models = { providers: { groq: { apiKey: "${SVC_TEST_ONLY_KEY}" } } };
    const { config, warnings } = await convert(t, { models }, { env: process.env });
    assert.equal(at(config, "models.providers.groq.apiKey"), "${SVC_TEST_ONLY_KEY}");
    assert.ok(warnings.some((line) => line.includes("SVC_TEST_ONLY_KEY is set only in this process")));
  });

  it("one that is set nowhere ends the import with its place, unless the setting is not taken", async (t) => {
    const models = { providers: { groq: { apiKey: "${NOWHERE_KEY}" } } };
    const { code, keys, message } = await refusal(t, { models });
    assert.equal(code, "IMPORT_UNREADABLE");
    assert.deepEqual(keys, ["models.providers.groq.apiKey"]);
    assert.ok(message.includes("NOWHERE_KEY"));
    const made = await convert(t, { models }, { without: ["models.providers.groq.apiKey"] });
    assert.equal(at(made.config, "models.providers.groq.apiKey"), undefined);
    await convert(t, { channels: { irc: { password: "${NOWHERE_KEY}" }, telegram: { proxy: "${NOWHERE_KEY}" } } });
  });

  it("a reference of the source stays, or becomes its variable where text is needed", async (t) => {
    const ref = { source: "env", provider: "default", id: "THE_KEY" };
    const source = { models: { providers: { groq: { apiKey: ref } } }, channels: { telegram: { botToken: ref } } };
    const { config } = await convert(t, source, { dotEnv: { THE_KEY: "1:t" } });
    assert.deepEqual(at(config, "models.providers.groq.apiKey"), ref);
    assert.equal(at(config, "channels.telegram.botToken"), "1:t");
  });

  it("a second key of the same provider is an account, and the configured one, too", async (t) => {
    const profile = (key: string) => ({ profiles: { "groq:default": { type: "api_key", provider: "groq", key } } });
    const agents = [
      { id: "main", authProfiles: profile("one") },
      { id: "work", authProfiles: profile("two") },
      { id: "copy", authProfiles: profile("one") },
    ];
    const made = await convert(t, { models: { providers: { groq: { apiKey: "three" } } } }, { agents });
    const ref = (id: string) => ({ source: "file", provider: "imported", id: `/${id}` });
    assert.deepEqual(at(made.config, "models.providers.groq"), {
      accounts: [
        { name: "default", apiKey: ref("groq:default") },
        { name: "work-default", apiKey: ref("groq:work-default") },
        { name: "config", apiKey: "three" },
      ],
    });
    assert.equal(action(made, "models.providers.groq.apiKey"), "convert");
  });

  it("logins, tokens of subscriptions and unknown providers are named, not copied", async (t) => {
    const profiles = {
      "anthropic:max": { type: "token", provider: "anthropic", token: "sk-ant-oat01-canary" },
      "zed:x": { type: "api_key", provider: "zed", key: "canary" },
      "groq:empty": { type: "api_key", provider: "groq", key: "" },
      "openai:login": { type: "oauth", provider: "openai", key: "canary", access: "canary" },
    };
    const agents = [
      { id: "main", authProfiles: { profiles } },
      { id: "credentials/oauth.json", authProfiles: { anthropic: { access: "canary", refresh: "canary" } } },
    ];
    const { config, warnings } = await convert(t, {}, { agents });
    assert.equal(config["models"], undefined);
    for (const name of [...Object.keys(profiles), "anthropic"])
      assert.ok(
        warnings.some((line) => line.startsWith(`login ${name}`)),
        name,
      );
    assert.ok(!JSON.stringify({ config, warnings }).includes("canary"));
  });

  it("a server that no plugin speaks with is put aside", async (t) => {
    const providers = { copilot: { baseUrl: "http://x", api: "github-copilot", models: [] } };
    const made = await convert(t, { models: { providers } });
    assert.deepEqual(made.kept["models.providers.copilot"], providers.copilot);
    assert.deepEqual(made.secrets, []);
  });
});

describe("a source that cannot be converted", () => {
  it("is the configuration of a client", async (t) => {
    assert.equal(
      (await refusal(t, { gateway: { mode: "remote", remote: { url: "wss://x" } } })).code,
      "IMPORT_UNREADABLE",
    );
  });

  for (const text of ["{ a: ", "[]", "3"])
    it(`is not an object in JSON5: ${text}`, async (t) => {
      const { code, message } = await refusal(t, text);
      assert.equal(code, "IMPORT_UNREADABLE");
      assert.ok(message.includes("openclaw.json"));
    });

  it("would start no gateway", async (t) => {
    const { code, message } = await refusal(t, { gateway: { bind: "lan", auth: { mode: "none" } } });
    assert.equal(code, "IMPORT_UNREADABLE");
    assert.ok(message.includes("gateway.bind"));
  });

  it("has a provider with the name of ours", async (t) => {
    const source = {
      secrets: { providers: { imported: { source: "env" } } },
      models: { providers: { groq: { apiKey: "${K}" } } },
    };
    assert.equal((await refusal(t, source, { dotEnv: { K: "k" } })).code, "IMPORT_UNREADABLE");
  });

  it("validation that changes its mind for ever does not hang the import", async (t) => {
    const check = () =>
      Promise.resolve({
        issues: [{ path: "nothing.here", message: "no" }],
        warnings: [],
        unused: [],
        withoutEffect: [],
      });
    assert.equal((await refusal(t, { gateway: { port: 1 } }, { check })).code, "IMPORT_UNREADABLE");
  });
});

describe("$include", () => {
  it("merges files below the directory, and reads none outside of it", async (t) => {
    const root = directory(t);
    const state = join(root, "state");
    const path = join(state, "openclaw.json");
    put(join(state, "parts", "a.json5"), "{ logging: { level: 'warn' }, tools: { deny: ['a'] } }");
    put(join(state, "parts", "b.json5"), "{ $include: './a.json5', tools: { deny: ['b'] } }");
    put(join(state, "loop.json5"), "{ $include: './loop.json5' }");
    put(join(root, "outside.json5"), "{}");
    symlinkSync(join(root, "outside.json5"), join(state, "link.json5"));
    const scene = { directory: state, path };
    const text = (name: string) => `{ $include: [${JSON.stringify(name)}], logging: { consoleStyle: "json" } }`;
    const { config, items } = await convert(t, text("./parts/b.json5"), scene);
    assert.deepEqual(config["logging"], { level: "warn", consoleStyle: "json" });
    assert.deepEqual(at(config, "tools.deny"), ["a", "b"]);
    assert.deepEqual(items.map(({ id }) => id).toSorted(), ["logging.consoleStyle", "logging.level", "tools.deny"]);
    for (const name of ["../outside.json5", "./link.json5", "./missing.json5", "./loop.json5", "./parts"]) {
      const { code, message } = await refusal(t, text(name), scene);
      assert.equal(code, "IMPORT_UNREADABLE", name);
      assert.ok(message.includes(name.slice(2)), message);
    }
  });
});

it("a missing command policy is said as stricter", () => {
  assert.ok(withoutCommandPolicy(true).includes("ran without a question"));
  assert.ok(withoutCommandPolicy(false).includes("needed an approval"));
});
