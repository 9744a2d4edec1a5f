/** Every method of the full bundle with its documented params, for generated tests. */
import { join } from "node:path";
import type { Method } from "@svc/sdk";
import { agents, files } from "@svc/sdk/agents";
import { execApproval, execApprovals, pluginApproval, question } from "@svc/sdk/approvals";
import { browser } from "@svc/sdk/browser";
import { channelLogin, channelPairing, channels, outbound, webLogin } from "@svc/sdk/channels";
import { chat, sessionMessages } from "@svc/sdk/chat";
import { commands } from "@svc/sdk/commands";
import { config } from "@svc/sdk/config";
import { cron } from "@svc/sdk/cron";
import { devices } from "@svc/sdk/devices";
import { gateways, health, viewers } from "@svc/sdk/health";
import { heartbeat } from "@svc/sdk/heartbeat";
import { imports } from "@svc/sdk/import";
import { logs } from "@svc/sdk/logs";
import { media } from "@svc/sdk/media";
import { memory } from "@svc/sdk/memory";
import { models } from "@svc/sdk/models";
import { nodeCanvas, nodes } from "@svc/sdk/nodes";
import { panel } from "@svc/sdk/panel";
import { plugins } from "@svc/sdk/plugins";
import { push } from "@svc/sdk/push";
import { secrets } from "@svc/sdk/secrets";
import { sessions, sessionsWatch } from "@svc/sdk/sessions";
import { skills } from "@svc/sdk/skills";
import { tts } from "@svc/sdk/speech";
import { storage } from "@svc/sdk/storage";
import { talk, voicewake } from "@svc/sdk/talk";
import { tools } from "@svc/sdk/tools";
import { update } from "@svc/sdk/update";
import { sessionsUsage, usage } from "@svc/sdk/usage";
import { webhooks } from "@svc/sdk/webhooks";
import { wizard } from "@svc/sdk/wizard";
import type { Attendance } from "./attendance.ts";
import { root } from "../checkout.ts";
import { makeInstallable } from "./installable.ts";
import type { HookRuns } from "./hook-runs.ts";

const ofAgents = {
  agents,
  browser,
  channelLogin,
  channelPairing,
  channels,
  chat,
  commands,
  cron,
  heartbeat,
  media,
  memory,
  models,
  outbound,
  sessionMessages,
  sessions,
  sessionsUsage,
  sessionsWatch,
  skills,
  tools,
  tts,
  usage,
  viewers,
  webLogin,
};
const ofPeople = {
  devices,
  execApproval,
  execApprovals,
  nodeCanvas,
  nodes,
  pluginApproval,
  push,
  question,
  talk,
  voicewake,
};
const ofTheHost = {
  config,
  files,
  gateways,
  health,
  imports,
  logs,
  panel,
  plugins,
  secrets,
  storage,
  update,
  webhooks,
  wizard,
};
/** Every contract of the full bundle. */
export const contracts = { ...ofAgents, ...ofPeople, ...ofTheHost };

/** Every method of the full bundle, by name. */
export const methods: Readonly<Record<string, Method>> = Object.fromEntries(
  Object.values(contracts)
    .flatMap((contract) => Object.values<Method>(contract))
    .map((method) => [method.name, method]),
);

/** A plugin in an archive that can be installed, and the consent to it. */
const installable = makeInstallable();

let serial = 0;
/** Another one at each call. */
export const key = () => `conformance-${++serial}`;

/** Context that params may depend on. */
export interface Scene extends HookRuns, Attendance {
  readonly stateDir: string;
  /** Hash of the configuration file as it is now. */
  readonly hash: string;
}

type Sample = (scene: Scene) => unknown;

/** A command as it would run on a node. */
const PLAN = { argv: ["/usr/bin/uname", "-a"], cwd: null, rawCommand: null, agentId: "main", sessionKey: null };

const SAY = { message: "echo hi", agentId: "main" };
const TO_ANN = { to: "ann", message: "hi" };
const MAIN = { agentId: "main", sessionKey: "main" };
const LOW = { key: "main", thinkingLevel: "low" };
const QUIETLY = { deleteTranscript: false, emitLifecycleHooks: false };
const JANUARY = { startDate: "2026-01-01", endDate: "2026-01-31" };
const LOG_PART = { subsystem: "host", part: "svc-2026-01-31.1.log" };

/** As the newest command line calls it. */
const act = (params: object) => ({
  channel: "pigeon",
  action: "send",
  params,
  senderIsOwner: true,
  conversationReadOrigin: "direct-operator",
  idempotencyKey: key(),
});

/** A tenth of a second of silence: 8 kHz, mono, 8 bits. */
const WAV = Buffer.concat([
  Buffer.from(
    "RIFF\x44\x03\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x40\x1f\0\0\x01\0\x08\0data\x20\x03\0\0",
    "latin1",
  ),
  Buffer.alloc(800, 0x80),
]).toString("base64");
/** One pixel. */
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
/** `tools.media` for these samples: a program that says the same about every file. */
const SAYS = { command: process.execPath, args: ["-e", "console.log('hello')"] };
export const MEDIA_SECTION = { audio: { models: [SAYS] }, image: { models: [SAYS] } };

/** Accepted params, by method, in an order in which they work; several if the documentation shows several. */
export const good: Readonly<Record<string, readonly Sample[]>> = {
  // Before those that change the configuration, which names what reads files.
  "media.transcribe": [() => ({ data: WAV })],
  "media.describe": [() => ({ data: PNG })],
  agent: [
    () => ({ message: "echo hi", idempotencyKey: key() }),
    () => ({ ...SAY, sessionKey: "agent:main:side", timeout: 5, label: key(), idempotencyKey: key() }),
  ],
  "agent.wait": [() => ({ runId: "nobody", timeoutMs: 1 })],
  "agent.identity.get": [() => ({}), () => ({ sessionKey: "main" }), () => ({ agentId: "main" })],
  "agents.list": [() => ({}), () => undefined],
  "agents.create": [({ stateDir }) => ({ name: "Second", workspace: join(stateDir, "workspace-second"), emoji: "*" })],
  "agents.update": [() => ({ agentId: "second", name: "The second" })],
  "agents.prompt.preview": [() => ({}), () => ({ agentId: "main" })],
  "agents.files.list": [() => ({ agentId: "main" })],
  "agents.files.get": [() => ({ agentId: "main", name: "AGENTS.md" })],
  "agents.files.set": [() => ({ agentId: "main", name: "USER.md", content: "Somebody" })],
  "agents.files.log": [() => ({}), () => ({ agentId: "main", name: "USER.md", limit: 1 })],
  "agents.files.diff": [() => ({ name: "USER.md" }), () => ({ agentId: "main", name: "USER.md", from: 0, to: 1 })],
  "agents.files.restore": [() => ({ agentId: "main", name: "USER.md", version: 1 })],
  "agents.delete": [() => ({ agentId: "second" })],
  "browser.request": [
    () => ({ method: "GET", path: "/tabs" }),
    () => ({ method: "get", path: "/", query: { profile: "default" }, timeoutMs: 1_000 }),
  ],
  "channels.status": [
    () => ({}),
    () => ({ probe: true, timeoutMs: 2_000 }),
    () => ({ channel: "telegram", accountId: "default" }),
  ],
  send: [
    () => ({ ...TO_ANN, idempotencyKey: key() }),
    () => ({ ...TO_ANN, channel: "pigeon", accountId: "default", ...MAIN, idempotencyKey: key() }),
  ],
  poll: [], // see `unserved`
  "message.action": [
    () => act({ target: "ann", message: "hi", pin: false, silent: true, __sessionKey: "main", __agentId: "main" }),
    () => ({ ...act({ to: "ann", message: "hi", dryRun: true }), agentId: "main", sessionKey: "main" }),
  ],
  "channels.login.start": [() => ({ channel: "pigeon" }), () => ({ channel: "pigeon", accountId: "default" })],
  "channels.login.next": [], // see `unserved`
  "channels.login.cancel": [() => ({ loginId: "none" })],
  "channels.pairing.list": [() => ({}), () => ({ channel: "pigeon" })],
  "channels.pairing.approve": [], // see `unserved`
  "channels.pairing.remove": [() => ({ channel: "pigeon", senderId: "nobody" })],
  "web.login.start": [() => ({ force: false, timeoutMs: 1_000, verbose: false, accountId: "default" })],
  "web.login.wait": [() => ({ timeoutMs: 1_000 })],
  "channels.logout": [() => ({ channel: "pigeon" })],
  "chat.history": [
    () => ({ sessionKey: "main" }),
    () => ({ sessionKey: "main", limit: 1000, ids: true, maxChars: 500_000 }),
    () => ({ sessionKey: "main", agentId: "main", offset: 1, maxBytes: 262_144, inputRunIds: ["none"] }),
  ],
  "chat.startup": [
    () => ({ sessionKey: "main" }),
    () => ({ sessionKey: "main", agentId: "main", limit: 80, maxBytes: 262_144 }),
  ],
  "chat.metadata": [() => ({}), () => ({ agentId: "main", sessionKey: "main" })],
  "chat.send": [
    () => ({ sessionKey: "main", message: "echo hi", idempotencyKey: key() }),
    () => ({ sessionKey: "main", message: "/stop", idempotencyKey: key(), deliver: false, timeoutMs: 0 }),
  ],
  "commands.list": [() => undefined, () => ({ agentId: "main", scope: "text", includeArgs: false })],
  "chat.abort": [() => ({ sessionKey: "main" }), () => ({ sessionKey: "main", runId: "nobody" })],
  "chat.inject": [() => ({ sessionKey: "main", message: "by hand", label: "note" })],
  "config.get": [() => ({})],
  "config.move": [() => ({ to: "file" })],
  "config.set": [({ hash }) => ({ raw: "{ logging: { level: 'warn' } }", baseHash: hash })],
  "config.patch": [({ hash }) => ({ raw: "{ logging: { level: 'error' } }", baseHash: hash, note: "quieter" })],
  "config.apply": [({ hash }) => ({ raw: "{}", baseHash: hash, restartDelayMs: 60_000 })],
  "config.schema.lookup": [() => ({ path: "." }), () => ({ path: "agents.list[].model" })],
  "config.schema": [() => ({})],
  "device.pair.list": [() => ({})],
  "device.pair.invite": [() => ({}), () => ({ ttlMs: 60_000 })],
  "device.pair.approve": [({ approveDevice: requestId }) => ({ requestId })],
  "device.pair.reject": [({ rejectDevice: requestId }) => ({ requestId })],
  "device.pair.rename": [({ deviceId }) => ({ deviceId, displayName: "Desk" })],
  "device.token.rotate": [
    ({ deviceId }) => ({ deviceId, role: "operator" }),
    ({ deviceId }) => ({ deviceId, role: "operator", scopes: ["operator.read"] }),
  ],
  "device.token.revoke": [({ deviceId }) => ({ deviceId, role: "operator" })],
  "device.pair.remove": [({ deviceId }) => ({ deviceId })],
  "plugin.approval.list": [() => ({})],
  "question.list": [() => ({})],
  "exec.approval.list": [() => ({}), () => ({ limit: 1 })],
  "exec.approval.request": [
    () => ({ command: "true", timeoutMs: 1 }),
    ({ nodeId }) => ({
      id: key(),
      command: "uname",
      commandArgv: ["uname"],
      systemRunPlan: PLAN,
      env: { LANG: "C" },
      host: "node",
      nodeId,
      security: null,
      ask: "always",
      resolvedPath: "/usr/bin/uname",
      turnSourceChannel: null,
      turnSourceThreadId: 7,
      timeoutMs: 1,
      twoPhase: true,
    }),
  ],
  "exec.approval.resolve": [({ questionId: id }) => ({ id, decision: "allow-once" })],
  "exec.approval.waitDecision": [({ questionId: id }) => ({ id }), ({ decidedId: id }) => ({ id: ` ${id} ` })],
  "exec.approvals.get": [() => ({})],
  "exec.approvals.set": [
    ({ policyHash: baseHash }) => ({
      file: {
        version: 1,
        defaults: { security: "allowlist", ask: "on-miss", askFallback: "deny", autoAllowSkills: false },
        agents: { main: { allowlist: [{ pattern: "/usr/bin/uname" }] } },
      },
      baseHash,
    }),
  ],
  "exec.approvals.node.get": [({ nodeId }) => ({ nodeId })],
  "exec.approvals.node.set": [({ nodeId }) => ({ nodeId, file: { version: 1 }, baseHash: "0".repeat(64) })],
  "exec.approvals.grants": [() => ({})],
  "exec.approvals.forget": [({ digest }) => ({ digest })],
  health: [() => undefined, () => ({ probe: true })],
  "doctor.memory.status": [() => ({}), () => undefined],
  "memory.status": [() => ({}), () => ({ agentId: "main" })],
  "memory.search": [() => ({ query: "tea" }), () => ({ query: "tea", agentId: "main", maxResults: 3, minScore: 0.5 })],
  "memory.files": [() => ({}), () => ({ agentId: "main" })],
  "memory.write": [() => ({ path: "memory/sample.md", content: "tea" })],
  "memory.read": [() => ({ path: "memory/sample.md", agentId: "main" })],
  "memory.index": [() => ({}), () => ({ agentId: "main", force: true })],
  status: [() => undefined, () => ({})],
  "gateways.list": [() => ({})],
  "files.status": [() => ({})],
  "system.info": [() => ({})],
  "system-presence": [() => undefined],
  "system-event": [
    () => ({ text: "the door is open" }),
    () => ({
      text: "Node: desk (10.0.0.7) · app 2 · last input 3s ago · mode ui · reason launch",
      deviceId: "d",
      instanceId: "i",
      host: "desk",
      ip: "10.0.0.7",
      mode: "ui",
      version: "2",
      platform: "linux",
      deviceFamily: "Linux",
      modelIdentifier: "m",
      reason: "launch",
      lastInputSeconds: 3,
      roles: ["operator"],
      scopes: ["operator.read"],
      tags: ["x"],
    }),
  ],
  wake: [() => ({ mode: "next-heartbeat", text: "hi" }), () => ({ mode: "now", text: " " })],
  "last-heartbeat": [() => undefined, () => ({})],
  "set-heartbeats": [() => ({ enabled: false }), () => ({ enabled: true })],
  "panel.pages": [() => ({})],
  "panel.cards": [() => ({})],
  "logs.tail": [
    () => ({}),
    () => ({ ...LOG_PART, cursor: 0, limit: 10, maxBytes: 1_000, level: "info" }),
    () => ({ before: 0, text: "x" }),
  ],
  "models.list": [() => undefined, () => ({}), () => ({ agentId: "main", view: "all" })],
  "models.authStatus": [() => undefined],
  "models.status": [() => undefined],
  "models.known": [() => ({})],
  "models.scan": [() => ({})],
  "models.test": [() => ({})],
  "tools.catalog": [
    () => ({}),
    () => ({ includePlugins: false }),
    () => ({ agentId: "main", verdicts: true, model: "openai/gpt-4o" }),
  ],
  "node.list": [() => ({})],
  "node.describe": [({ nodeId }) => ({ nodeId })],
  "node.invoke": [
    ({ nodeId }) => ({ nodeId, command: "location.get" }),
    ({ nodeId }) => ({
      nodeId,
      command: "system.notify",
      params: { title: "hi" },
      timeoutMs: 9_000,
      idempotencyKey: key(),
    }),
  ],
  "node.invoke.result": [
    ({ invokeId: id, nodeId }) => ({ id, nodeId, ok: true, payload: { bins: {} }, payloadJSON: null, error: null }),
    ({ nodeId }) => ({ id: "nobody-asked", nodeId, ok: false, error: { code: "X", message: "it cannot" } }),
  ],
  "node.event": [
    () => ({ event: "notifications.changed", payload: { change: "posted", key: key(), text: "hi" } }),
    () => ({ event: "exec.finished", payloadJSON: '{"command":"uname","exitCode":1}' }),
    () => ({ event: "agent.request", payload: { message: "echo hi" } }),
    () => ({ event: "chat.subscribe", payload: { sessionKey: "main" } }),
    () => ({ event: "chat.unsubscribe", payload: { sessionKey: "main" } }),
    () => ({ event: "nobody.knows" }),
  ],
  "node.canvas.capability.refresh": [() => ({})],
  "push.test": [], // see `unserved`
  "talk.config": [() => ({}), () => ({ includeSecrets: true })],
  "talk.mode": [() => ({ enabled: true }), () => ({ enabled: false, phase: "idle" })],
  "voicewake.get": [() => ({})],
  "voicewake.set": [() => ({ triggers: ["hey"] }), () => ({ triggers: [] })],
  "node.rename": [({ nodeId }) => ({ nodeId, displayName: "Renamed" })],
  "node.pair.request": [
    () => ({ nodeId: key() }),
    () => ({
      nodeId: key(),
      displayName: "Shed",
      platform: "linux",
      version: "1",
      coreVersion: "1",
      uiVersion: "1",
      deviceFamily: "box",
      modelIdentifier: "m1",
      remoteIp: "203.0.113.4",
      caps: ["canvas"],
      commands: ["location.get"],
      silent: true,
    }),
  ],
  "node.pair.list": [() => ({})],
  "node.pair.approve": [({ approveNode: requestId }) => ({ requestId })],
  "node.pair.reject": [({ rejectNode: requestId }) => ({ requestId })],
  "node.pair.verify": [({ olderNode: nodeId }) => ({ nodeId, token: "wrong" })],
  "plugins.inspect": [() => ({ id: "health" })],
  "plugins.list": [() => undefined, () => ({ includeStats: true })],
  "plugins.reload": [() => ({ id: "health" })],
  "plugins.align": [() => ({})],
  "plugins.disable": [() => ({ id: "health" })],
  "plugins.enable": [() => ({ id: "health" })],
  "plugins.install": [() => ({ spec: installable.path, agree: installable.agree })],
  "plugins.update": [() => ({ id: installable.id })],
  "plugins.doctor": [() => ({})],
  "plugins.remove": [() => ({ id: installable.id, purge: true })],
  "secrets.list": [() => ({})],
  "secrets.reload": [() => ({})],
  "secrets.resolve": [
    () => ({ commandName: "models list", targetIds: ["models.providers.*.apiKey"] }),
    () => ({ commandName: "models list", targetIds: [] }),
  ],
  "sessions.list": [
    () => undefined,
    () => ({
      limit: 5,
      activeMinutes: 60,
      includeGlobal: true,
      includeUnknown: true,
      includeDerivedTitles: true,
      includeLastMessage: true,
      agentId: "main",
      search: "m",
      cursor: "1 agent:main:main",
    }),
    () => ({ offset: 1, archived: "all" }),
  ],
  "sessions.subscribe": [() => undefined, () => ({ limit: 5, includeDerivedTitles: true })],
  "sessions.unsubscribe": [() => ({})],
  "sessions.messages.subscribe": [() => ({ key: "main" }), () => ({ key: "main", agentId: "main" })],
  "sessions.messages.unsubscribe": [() => ({ key: "main" })],
  "sessions.describe": [
    () => ({ key: "main", agentId: "main" }),
    () => ({ key: "no-such", includeDerivedTitles: true, includeLastMessage: true }),
  ],
  "sessions.create": [
    () => ({}),
    () => ({ key: key(), agentId: "main", label: key(), parentSessionKey: "main", message: "hello" }),
  ],
  "sessions.viewers.set": [() => ({ sessionKeys: ["main"], agentId: "main" }), () => ({ sessionKeys: [] })],
  "sessions.preview": [() => ({ keys: ["main", "no-such"], limit: 3, maxChars: 20 })],
  "sessions.resolve": [
    () => ({ key: "main" }),
    () => ({ reference: { key: "no-such" }, allowMissing: true }),
    () => ({ shortId: "0123456789abcdef", allowMissing: true }),
  ],
  "sessions.patch": [
    () => ({ ...LOW, label: key() }),
    () => ({ ...LOW, thinkingLevel: null }),
    () => ({ ...LOW, unread: false }),
  ],
  "sessions.compact": [() => ({ key: "main" }), () => ({ key: "main", maxLines: 1 })],
  "sessions.usage": [
    () => ({}),
    () => ({ key: "main", ...JANUARY, mode: "utc", limit: 3, top: 1, includeContextWeight: true }),
    () => ({ agentId: "main", mode: "specific", timeZone: "Europe/Berlin" }),
    () => ({ agentScope: "all" }),
  ],
  "sessions.usage.timeseries": [() => ({ key: "main" })],
  "sessions.usage.logs": [() => ({ key: "main", limit: 5 })],
  "sessions.reset": [() => ({ key: "main" }), () => ({ key: "fresh", reason: "new" })],
  "sessions.delete": [() => ({ key: "no-such" }), () => ({ key: "fresh", ...QUIETLY })],
  "skills.status": [() => ({}), () => ({ agentId: "main" })],
  "skills.bins": [() => ({})],
  "skills.install": [], // see `unserved`
  "skills.update": [() => ({ skillKey: "sample", enabled: true, apiKey: "", env: { SAMPLE: "" } })],
  "skills.add": [() => ({ source: join(root, "plugins/skills/bundled/git-summary") })],
  "skills.remove": [], // see `unserved`
  "update.status": [() => ({})],
  "update.check": [() => ({})],
  "cron.status": [() => ({})],
  "cron.list": [
    () => ({}),
    () => ({ enabled: "all", limit: 10, offset: 0, query: "a", sortBy: "name", sortDir: "desc" }),
    () => ({ includeDisabled: true }),
    ({ cronJobId }) => ({ id: cronJobId }),
  ],
  "cron.get": [({ cronJobId }) => ({ id: cronJobId }), ({ cronJobId }) => ({ jobId: cronJobId })],
  "cron.add": [
    () => ({
      name: "sample",
      enabled: false,
      schedule: { kind: "every", everyMs: 3_600_000 },
      sessionTarget: "main",
      wakeMode: "next-heartbeat",
      payload: { kind: "systemEvent", text: "sample" },
    }),
    ({ stateDir }) => ({
      data: { name: stateDir, enabled: "false", schedule: { cron: "0 9 * * *", tz: "UTC" }, message: "report" },
    }),
  ],
  "cron.update": [({ cronJobId }) => ({ id: cronJobId, patch: { name: "other", description: "a sample" } })],
  "cron.run": [({ cronJobId }) => ({ id: cronJobId, mode: "due" }), ({ cronJobId }) => ({ jobId: cronJobId })],
  "cron.runs": [
    () => ({}),
    ({ cronJobId }) => ({ id: cronJobId, limit: 5, offset: 0, statuses: ["ok", "error"], deliveryStatus: "unknown" }),
    () => ({
      agentId: "main",
      scope: "all",
      status: "skipped",
      deliveryStatuses: ["delivered"],
      query: "x",
      sortDir: "asc",
    }),
  ],
  "import.kinds": [() => ({})],
  "import.take": [
    () => ({
      kind: "session",
      records: [{ id: "agent:main:moved", sessionId: "moved-1", updatedAt: 1, entry: { label: "Moved" } }],
    }),
  ],
  "import.give": [() => ({ kind: "session" }), () => ({ kind: "archive", after: "a" })],
  "storage.usage": [() => ({})],
  "storage.clean": [() => ({ dryRun: true }), () => ({ vacuum: true })],
  "cron.cancel": [({ cronJobId }) => ({ id: cronJobId })],
  "cron.preview": [
    () => ({ schedule: { kind: "every", everyMs: 3_600_000 } }),
    ({ cronJobId }) => ({ schedule: { kind: "cron", expr: "0 8 * * *", tz: "UTC" }, id: cronJobId, count: 3 }),
  ],
  "cron.remove": [({ cronJobId }) => ({ id: cronJobId }), () => ({ jobId: "nobody" })],
  // One call: `config.patch` and `config.apply` use the rest of their shared budget.
  "update.run": [() => ({ dryRun: true, note: "now", sessionKey: "main", restartDelayMs: 0, timeoutMs: 1 })],
  "tts.status": [() => ({}), () => undefined],
  "tts.providers": [() => ({})],
  "tts.enable": [() => ({})],
  "tts.disable": [() => ({})],
  "tts.setProvider": [() => ({ provider: "edge" })],
  "tts.convert": [], // see `unserved`
  "usage.status": [() => ({}), () => undefined],
  "usage.cost": [() => ({ days: 30 }), () => ({ startDate: "2026-03-01", endDate: "2026-03-31", mode: "utc" })],
  "webhooks.list": [() => ({})],
  "webhooks.check": [() => ({})],
  "webhooks.init": [() => ({})],
  "webhooks.disable": [() => ({ id: "wake" })],
  "webhooks.enable": [() => ({ id: "wake" })],
  "webhooks.try": [
    () => ({ mapping: "wake", payload: { text: "hi" } }),
    () => ({ mapping: "agent", payload: { message: "hi" }, headers: { "X-Event": "push" }, path: "agent?x=1" }),
  ],
  "webhooks.runs": [() => ({}), () => ({ status: "failed", mapping: "wake", limit: 5 })],
  "webhooks.run": [({ runId }) => ({ runId })],
  "webhooks.replay": [({ failedRunId }) => ({ runId: failedRunId })],
  "wizard.start": [() => ({ mode: "local" })],
  "wizard.next": [], // see `unserved`
  "wizard.status": [],
  "wizard.cancel": [],
};

/** Documented params of methods that no plugin of the bundle can execute. */
export const unserved: Readonly<Record<string, Sample>> = {
  "wizard.next": () => ({ sessionId: "none", answer: { stepId: "none", value: true } }),
  "wizard.status": () => ({ sessionId: "none" }),
  "wizard.cancel": () => ({ sessionId: "none" }),
  "channels.login.next": () => ({ loginId: "none", answers: {} }),
  "channels.pairing.approve": () => ({ channel: "pigeon", code: "AAAAAAAA", notify: false }),
  "tts.convert": () => ({ text: "Hello", channel: "pigeon" }), // needs a network or a program
  "skills.install": () => ({ name: "no-such", installId: "apt", timeoutMs: 1_000 }),
  "skills.remove": () => ({ name: "no-such" }),
  "push.test": () => ({ nodeId: "none", title: "Hi", body: "there", environment: "sandbox" }),
  poll: () => ({ to: "ann", question: "When?", options: ["now", "later"], channel: "pigeon", idempotencyKey: key() }),
};
