/** Facts about keys that the schema lacks: values that need a context, and the tests of effects that a picture does not show. */
import { join } from "node:path";
import { SECTIONS_GIVEN, SECTIONS_SEEN_ELSEWHERE } from "./config-cases-sections.ts";
import { SECRETS_GIVEN, SECRETS_SEEN_ELSEWHERE } from "./config-cases-secrets.ts";
import { HOOKS_ON, SIGNING_SECRET } from "./hooks-picture.ts";
import { STORAGE } from "../storage-engine.ts";

/** Both configurations as a whole. */
type Pair = readonly [before: object, after: object];

/** How to try a key for which the schema alone does not suffice. */
export interface Given {
  /** Set in addition to the key, before and after. */
  readonly beside?: object;
  /** Tried in turn until one has a visible effect. */
  readonly values?: readonly unknown[] | ((stateDir: string) => readonly unknown[]);
  /** Name of the map's entry. Default `acme`. */
  readonly entry?: string;
  /** Both configurations as a whole. */
  readonly between?: Pair | ((stateDir: string) => Pair);
  /** The key exists only so that a refusal can name the alternative: any value is refused like this. */
  readonly refused?: RegExp;
}

/** In force at every step: a model server that records its requests. */
export const COMMON = {
  gateway: { auth: { token: "common-token" } },
  logging: { level: "silent" },
  models: { providers: { acme: { api: "probe", models: [{ id: "sample" }, { id: "other", reasoning: true }] } } },
};

const agents = (...list: object[]) => ({ agents: { list } });
const [MAIN, SAMPLE] = [{ id: "main" }, { id: "sample" }];
const rules = (match: object) => ({ session: { sendPolicy: { rules: [{ action: "deny", match }] } } });
const bound = (match: object) => ({
  ...agents(MAIN, SAMPLE, { id: "other" }),
  bindings: [{ agentId: "sample", match: { channel: "sample", accountId: "*", ...match } }],
});
const peer = (kind: string, id: string) => bound({ peer: { kind, id } });
const inGuild = (...roles: string[]) => bound({ guildId: "sample", roles });
const binding = (narrow: object): Given => ({ between: [bound({ guildId: "nowhere" }), bound(narrow)] });
const hooksOn = { hooks: HOOKS_ON };
/** A mapping that exists before and after, and the change of one key. */
const mapping = (before: object, after: object): Given => {
  const base = { id: "sample", match: { path: "sample" } };
  const text = (more: object) => ("action" in more ? {} : { messageTemplate: "m" }); // refused for another action
  const whole = (more: object) => ({ hooks: { ...HOOKS_ON, mappings: [{ ...base, ...text(more), ...more }] } });
  return { between: [whole(before), whole(after)] };
};
const signed = (before: object, after: object) => {
  const verify = { type: "github", secret: SIGNING_SECRET };
  const whole = (more: object) => ({ messageTemplate: "", verify: { ...verify, ...more } });
  return mapping(whole(before), whole(after));
};
const transformed = (before: object, after: object) =>
  mapping({ transform: { module: "sample.mjs", ...before } }, { transform: { module: "sample.mjs", ...after } });

const HOOKS: Readonly<Record<string, Given>> = {
  "hooks.enabled": { between: [{ hooks: { token: HOOKS_ON.token } }, hooksOn] },
  "hooks.token": { between: [hooksOn, { hooks: { ...HOOKS_ON, token: "another-hook-token" } }] },
  "browser.color": { values: ["#00AA00"] },
  "browser.profiles.*.color": { values: ["#00AA00"] },
  "browser.extraArgs": { values: [["--lang=de"]] },
  "hooks.path": { beside: hooksOn },
  "hooks.maxBodyBytes": { beside: hooksOn },
  "hooks.defaultSessionKey": { beside: hooksOn },
  "hooks.allowRequestSessionKey": { beside: hooksOn },
  "hooks.allowedSessionKeyPrefixes": {
    beside: { hooks: { ...HOOKS_ON, allowRequestSessionKey: true } },
    values: [["hook:"]],
  },
  "hooks.allowedAgentIds": { beside: hooksOn },
  "hooks.presets": { beside: hooksOn, values: [["generic"]] },
  "hooks.disabled": { beside: hooksOn, values: [["wake"]] },
  "hooks.transformsDir": { beside: hooksOn },
  "hooks.mappings[].id": mapping({}, { id: "other" }),
  "hooks.mappings[].enabled": mapping({}, { enabled: false }),
  "hooks.mappings[].match.path": mapping({}, { match: { path: "other" } }),
  "hooks.mappings[].match.source": mapping({}, { match: { source: "other" } }),
  "hooks.mappings[].match.headers.*": mapping({}, { match: { headers: { "x-sample": "other" } } }),
  "hooks.mappings[].match.when.*": mapping({}, { match: { when: { source: { not: "sample" } } } }),
  "hooks.mappings[].action": mapping({}, { action: "wake" }),
  "hooks.mappings[].verify.type": signed({}, { type: "stripe" }),
  "hooks.mappings[].verify.secret": signed({}, { secret: "another-signing-secret-of-the-picture" }),
  "hooks.mappings[].verify.toleranceSeconds": signed({ type: "stripe" }, { type: "stripe", toleranceSeconds: 30 }),
  "hooks.mappings[].idempotencyKey": mapping({}, { idempotencyKey: "{{source}}" }),
  "hooks.mappings[].wakeMode": mapping({}, { wakeMode: "next-heartbeat" }),
  "hooks.mappings[].name": mapping({}, { name: "{{source}}" }),
  "hooks.mappings[].agentId": mapping({}, { agentId: "main" }),
  "hooks.mappings[].sessionKey": mapping({}, { sessionKey: "hook:{{source}}" }),
  "hooks.mappings[].messageTemplate": mapping({}, { messageTemplate: "{{text}}" }),
  "hooks.mappings[].textTemplate": mapping({ action: "wake" }, { action: "wake", textTemplate: "{{text}}" }),
  "hooks.mappings[].deliver": mapping({}, { deliver: false }),
  "hooks.mappings[].allowUnsafeExternalContent": mapping({}, { allowUnsafeExternalContent: true }),
  "hooks.mappings[].channel": mapping({}, { channel: "last" }),
  "hooks.mappings[].to": mapping({}, { to: "{{source}}" }),
  "hooks.mappings[].model": mapping({}, { model: "acme/other" }),
  "hooks.mappings[].thinking": mapping({}, { thinking: "low" }),
  "hooks.mappings[].timeoutSeconds": mapping({}, { timeoutSeconds: 7 }),
  "hooks.mappings[].transform.module": mapping({}, { transform: { module: "sample.mjs" } }),
  "hooks.mappings[].transform.export": transformed({}, { export: "other" }),
  "hooks.mappings[].transform.placement": transformed({}, { placement: "worker" }),
  "hooks.mappings[].transform.timeoutMs": transformed({}, { timeoutMs: 1_000 }),
};

const proxied = (trustedProxy: object) => ({
  gateway: {
    auth: { mode: "trusted-proxy", trustedProxy: { secret: "proxy-secret-of-this-test", ...trustedProxy } },
    trustedProxies: ["127.0.0.1"],
  },
});

export const GIVEN: Readonly<Record<string, Given>> = {
  "gateway.bind": { values: ["auto"] },
  "gateway.customBindHost": { values: ["127.0.0.1"] },
  "gateway.auth.mode": {
    between: [
      { gateway: { auth: { mode: "token", password: "common-password" } } },
      { gateway: { auth: { mode: "password", password: "common-password" } } },
    ],
  },
  "gateway.auth.password": { beside: { gateway: { auth: { mode: "password", password: "common-password" } } } },
  "gateway.auth.trustedProxy.userHeader": { beside: proxied({}) },
  "gateway.auth.trustedProxy.requiredHeaders": { beside: proxied({}) },
  "gateway.auth.trustedProxy.allowUsers": { beside: proxied({}) },
  "gateway.auth.trustedProxy.secret": {
    between: [
      proxied({ userHeader: "x-user" }),
      proxied({ userHeader: "x-user", secret: "another-secret-of-this-test" }),
    ],
  },
  "gateway.trustedProxies": { values: [["127.0.0.1"]] },
  "gateway.allowRealIpFallback": { beside: { gateway: { trustedProxies: ["127.0.0.1"] } } },
  "gateway.controlUi.allowedOrigins": { values: [["https://page.example"]] },
  "gateway.aliases": { values: [["acme"]] },
  // These tests name their plugins themselves, so this does not affect them.
  "plugins.entries.*.enabled": { entry: "nobody", values: [false] },

  "agents.defaults.userTimezone": { values: ["Asia/Tokyo"] },
  "agents.defaults.workspace": { values: (stateDir) => [join(stateDir, "workspace-elsewhere")] },
  "agents.defaults.models.*.alias": { entry: "acme/sample" },
  "agents.list[].default": { between: [agents(MAIN, SAMPLE), agents(MAIN, { ...SAMPLE, default: true })] },
  "agents.list[].workspace": { values: (stateDir) => [join(stateDir, "workspace-elsewhere")] },
  "agents.list[].agentDir": { values: (stateDir) => [join(stateDir, "agents", "elsewhere")] },

  "models.default": { values: ["acme/other"] },
  "models.providers.*.auth": { values: ["oauth"], refused: /not supported, only .+api-key/ },
  "models.providers.*.injectNumCtxForOpenAICompat": { values: [true], refused: /num_ctx is not sent/ },
  "models.providers.*.models[].compat.*": { values: [true], refused: /server quirks cannot be configured/ },
  "models.bedrockDiscovery.enabled": { values: [true], refused: /models are not looked up/ },

  "session.identityLinks.*": { beside: { session: { dmScope: "per-peer" } } },
  "session.sendPolicy.rules[].match.channel": { between: [rules({}), rules({ channel: "sample" })] },
  "session.sendPolicy.rules[].match.chatType": { between: [rules({}), rules({ chatType: "group" })] },
  "session.sendPolicy.rules[].match.keyPrefix": { between: [rules({}), rules({ keyPrefix: "sample" })] },
  "session.sendPolicy.rules[].match.rawKeyPrefix": { between: [rules({}), rules({ rawKeyPrefix: "agent:main:acme" })] },
  "bindings[].agentId": { beside: agents(MAIN, SAMPLE, { id: "other" }) },
  "bindings[].match.channel": { between: [bound({ channel: "nowhere" }), bound({})] },
  "bindings[].match.accountId": { between: [bound({ accountId: "nobody" }), bound({})] },
  "bindings[].match.peer.kind": { between: [peer("direct", "ann"), peer("group", "ann")] },
  "bindings[].match.peer.id": { between: [peer("direct", "nobody"), peer("direct", "ann")] },
  "bindings[].match.guildId": binding({ guildId: "sample" }),
  "bindings[].match.teamId": { between: [bound({ teamId: "nowhere" }), bound({ teamId: "sample" })] },
  "bindings[].match.roles": { between: [inGuild("nobody"), inGuild("sample")] },
  ...Object.fromEntries(
    "account topic label subscription pushToken hookUrl includeBody maxBytes renewEveryMinutes serve tailscale"
      .split(" ")
      .map((key) => [`hooks.gmail.${key}`, { values: ["sample"], refused: /no mail watcher/ }]),
  ),
  "gateway.nodes.allowCommands": { values: [["camera.snap"]] },
  "gateway.nodes.denyCommands": { values: [["location.get"]] },
  "approvals.exec.enabled": { values: [false] },
  "gateway.http.endpoints.chatCompletions.images.allowedMimes": { values: [["image/png"]] },
  "gateway.http.endpoints.responses.files.allowedMimes": { values: [["text/plain"]] },
  "gateway.http.endpoints.responses.images.allowedMimes": { values: [["image/png"]] },
  "tools.exec.pathPrepend": { values: [["/opt/tools"]] },
  "tools.exec.sandbox.readPaths": { values: [["/srv/data"]] },
  "tools.exec.sandbox.writePaths": { values: [["/srv/cache"]] },
  "agents.list[].tools.exec.sandbox.readPaths": { values: [["/srv/data"]] },
  "agents.list[].tools.exec.sandbox.writePaths": { values: [["/srv/cache"]] },
  ...HOOKS,
  ...SECRETS_GIVEN,
  ...SECTIONS_GIVEN,
  ...(STORAGE === "storage-sqlite"
    ? { "storage-sqlite.file": { values: ["another.db"] } }
    : { "storage-postgres.url": { values: [`${process.env["SVC_DATABASE_URL"]}&application_name=another`] } }),
};

const AGENTS = "plugins/agents";
const SESSIONS = "plugins/sessions/lifecycle";

/** The test of an effect that no picture shows; it contains the last word of the key. A key that ends in a dot: all keys below. */
export const SEEN_ELSEWHERE: Readonly<Record<string, string>> = {
  "gateway.http.endpoints.chatCompletions.": "plugins/http-chat/config.test.ts",
  "gateway.http.endpoints.responses.": "plugins/http-responses/facts.test.ts",
  "files.": "plugins/files/plugin.test.ts",
  "gateway.maxConnectionsPerAddress": "host/net/limits.test.ts",
  "gateway.compat.": "host/net/broadcast.test.ts",
  "gateway.http.securityHeaders.": "host/net/http.test.ts",
  "gateway.tls.": "host/net/tls/certificate.test.ts",
  "agents.defaults.maxAnswerChars": "plugins/agents/runs/turn.test.ts",
  "gateway.tools.": "plugins/http-tools/policy.test.ts",
  "agents.list[].tools.": "plugins/http-tools/policy.test.ts",
  "tools.profile": "plugins/http-tools/policy.test.ts",
  "tools.allow": "plugins/http-tools/policy.test.ts",
  "tools.alsoAllow": "plugins/http-tools/policy.test.ts",
  "tools.deny": "plugins/http-tools/policy.test.ts",
  "tools.byProvider.": "plugins/tools/policy.test.ts",
  "tools.fromOutside": "plugins/tools/outside.test.ts",
  "tools.subagents.": "plugins/tools/policies.test.ts",
  "tools.sessions.visibility": "plugins/sessions/tools/tools.test.ts",
  "tools.agentToAgent.": "plugins/sessions/tools/tools.test.ts",
  "tools.exec.security": "plugins/workspace/exec.test.ts",
  "tools.exec.ask": "plugins/workspace/exec.test.ts",
  "tools.exec.timeoutSec": "plugins/workspace/exec.test.ts",
  "tools.exec.pathPrepend": "plugins/workspace/decisions.test.ts",
  "tools.exec.sandbox.": "plugins/workspace/sandbox.test.ts",
  "agents.list[].tools.exec.sandbox.": "plugins/workspace/sandbox.test.ts",
  "tools.media.image.": "plugins/media/descriptions.test.ts",
  "tools.media.audio.": "plugins/media/transcription.test.ts",
  "tools.media.video.": "plugins/media/frames.test.ts",
  "tools.media.concurrency": "plugins/media/transcription.test.ts",
  "tools.media.": "plugins/media/gateway.test.ts",
  "audio.transcription.": "plugins/media/transcription.test.ts",
  "agents.defaults.imageModel": "plugins/channels/media-messages.test.ts",
  "agents.defaults.imageModel.": "plugins/media/defaults.test.ts",
  "agents.defaults.pdfModel": "plugins/media/defaults.test.ts",
  "agents.defaults.pdfModel.": "plugins/media/defaults.test.ts",
  "agents.defaults.pdfMaxBytesMb": "plugins/media/defaults.test.ts",
  "agents.defaults.pdfMaxPages": "plugins/media/defaults.test.ts",
  "agents.defaults.mediaMaxMb": "plugins/channels/media-messages.test.ts",
  "browser.ssrfPolicy.": "plugins/browser/guard.test.ts",
  "browser.profiles.": "plugins/browser/life.test.ts",
  "browser.enabled": "plugins/browser/gateway.test.ts",
  "browser.evaluateEnabled": "plugins/browser/routes.test.ts",
  "browser.executablePath": "plugins/browser/life.test.ts",
  "browser.headless": "plugins/browser/life.test.ts",
  "browser.noSandbox": "plugins/browser/life.test.ts",
  "browser.extraArgs": "plugins/browser/gateway.test.ts",
  "browser.attachOnly": "plugins/browser/life.test.ts",
  "browser.cdpUrl": "plugins/browser/life.test.ts",
  "browser.remoteCdpTimeoutMs": "plugins/browser/life.test.ts",
  "browser.remoteCdpHandshakeTimeoutMs": "plugins/browser/life.test.ts",
  "browser.defaultProfile": "plugins/browser/gateway.test.ts",
  "browser.color": "plugins/browser/gateway.test.ts",
  "browser.snapshotDefaults.": "plugins/browser/routes.test.ts",
  "browser.idleMinutes": "plugins/browser/life.test.ts",
  "gateway.nodes.browser.": "plugins/nodes/listing.test.ts",
  "tools.web.search.": "plugins/web/search.test.ts",
  "tools.web.fetch.": "plugins/web/fetch-tool.test.ts",
  "gateway.auth.rateLimit.": "host/gateway-config.test.ts",
  "gateway.controlUi.enabled": "host/auth/bind.test.ts",
  "gateway.controlUi.basePath": "plugins/control-panel/serving.test.ts",
  "gateway.controlUi.root": "plugins/control-panel/serving.test.ts",
  "gateway.controlUi.allowInsecureAuth": "host/gateway-config.test.ts",
  "gateway.controlUi.dangerouslyDisableDeviceAuth": "host/gateway-config.test.ts",
  "gateway.reload.mode": "host/reconfigure.test.ts",
  "gateway.reload.debounceMs": "host/gateway-config-file.test.ts",
  "agents.defaults.verboseDefault": `${AGENTS}/runs/events.test.ts`,
  "agents.defaults.timeoutSeconds": `${AGENTS}/runs/stopping-runs.test.ts`,
  "agents.defaults.maxConcurrent": `${AGENTS}/runs/queueing.test.ts`,
  "agents.defaults.maxToolRounds": `${AGENTS}/runs/turn.test.ts`,
  "agents.defaults.skipBootstrap": `${AGENTS}/directory/workspace-files.test.ts`,
  "agents.defaults.bootstrapMaxChars": `${AGENTS}/directory/workspace-prompt.test.ts`,
  "agents.defaults.bootstrapTotalMaxChars": `${AGENTS}/directory/workspace-prompt.test.ts`,
  "agents.defaults.userTimezone": `${AGENTS}/directory/directory.test.ts`,
  "agents.defaults.subagents.maxConcurrent": `${AGENTS}/runs/lanes.test.ts`,
  "agents.defaults.subagents.maxSpawnDepth": `${AGENTS}/subagents/subagents.test.ts`,
  "agents.defaults.subagents.maxChildrenPerAgent": `${AGENTS}/subagents/subagents.test.ts`,
  "agents.defaults.subagents.runTimeoutSeconds": `${AGENTS}/subagents/subagents.test.ts`,
  "agents.defaults.subagents.model": `${AGENTS}/subagents/subagents.test.ts`,
  "agents.defaults.subagents.model.primary": `${AGENTS}/runs/options.test.ts`,
  "agents.defaults.subagents.model.fallbacks": `${AGENTS}/runs/options.test.ts`,
  "agents.defaults.subagents.thinking": `${AGENTS}/subagents/subagents.test.ts`,
  "agents.defaults.compaction.maxHistoryShare": `${AGENTS}/history/compaction.test.ts`,
  "messages.queue.debounceMs": `${AGENTS}/runs/queueing.test.ts`,
  "messages.queue.debounceMsByChannel.*": `${AGENTS}/runs/queue-plan.test.ts`,
  "messages.queue.cap": `${AGENTS}/runs/queue-plan.test.ts`,
  "messages.queue.drop": `${AGENTS}/runs/queue-plan.test.ts`,
  "messages.tts.auto": "plugins/tts/prefs.test.ts",
  "messages.tts.enabled": "plugins/tts/gateway.test.ts",
  "messages.tts.mode": "plugins/tts/speaking.test.ts",
  "messages.tts.provider": "plugins/tts/speaking.test.ts",
  "messages.tts.summaryModel": "plugins/tts/texts.test.ts",
  "messages.tts.modelOverrides.": "plugins/tts/texts.test.ts",
  "messages.tts.openai.": "plugins/tts/engines.test.ts",
  "messages.tts.elevenlabs.": "plugins/tts/engines.test.ts",
  "messages.tts.edge.": "plugins/tts/edge.test.ts",
  "messages.tts.espeak.": "plugins/tts/programs.test.ts",
  "messages.tts.prefsPath": "plugins/tts/gateway.test.ts",
  "messages.tts.maxTextLength": "plugins/tts/speaking.test.ts",
  "messages.tts.timeoutMs": "plugins/tts/speaking.test.ts",
  "models.providers.*.authHeader": "plugins/models/accounts.test.ts",
  "models.idleTimeoutSeconds": "plugins/models/idle.test.ts",
  "models.discovery.": "plugins/models/discovery.test.ts",
  "session.reset.": `${SESSIONS}/reset-policy.test.ts`,
  "session.resetByType.": `${SESSIONS}/reset-policy.test.ts`,
  "session.resetByChannel.": `${SESSIONS}/reset-policy.test.ts`,
  "session.idleMinutes": `${SESSIONS}/reset-policy.test.ts`,
  "session.maintenance.mode": `${SESSIONS}/maintenance.test.ts`,
  "session.maintenance.pruneAfter": `${SESSIONS}/maintenance.test.ts`,
  "session.maintenance.pruneDays": `${SESSIONS}/maintenance.test.ts`,
  "session.maintenance.maxEntries": `${SESSIONS}/maintenance.test.ts`,
  "session.maintenance.resetArchiveRetention": `${SESSIONS}/maintenance.test.ts`,
  "session.maintenance.maxDiskBytes": `${SESSIONS}/maintenance.test.ts`,
  "session.maintenance.highWaterBytes": `${SESSIONS}/maintenance.test.ts`,
  "hooks.gmail.model": "plugins/preset-gmail/preset.test.ts",
  "hooks.gmail.thinking": "plugins/preset-gmail/preset.test.ts",
  "hooks.gmail.allowUnsafeExternalContent": "plugins/preset-gmail/preset.test.ts",
  "hooks.github.secret": "plugins/preset-github/preset.test.ts",
  ...SECRETS_SEEN_ELSEWHERE,
  ...SECTIONS_SEEN_ELSEWHERE,
  "plugins.use": "host/gateway-plugins.test.ts",
  "plugins.load.paths": "host/gateway-plugins.test.ts",
  "plugins.entries.*.enabled": "host/gateway-plugins.test.ts",
  "plugins.entries.*.run": "host/carriers/placement.test.ts",
  "plugins.entries.*.wake": "host/carriers/asleep.test.ts",
  "plugins.entries.*.memoryMb": "host/carriers/placement.test.ts",
  "provider-offline.wordDelayMs": "plugins/provider-offline/provider.test.ts",
  ...(STORAGE === "storage-sqlite"
    ? { "storage-sqlite.busyTimeoutMs": "plugins/storage-sqlite/plugin.test.ts" }
    : {
        "storage-postgres.url": "plugins/storage-postgres/gateway.test.ts",
        "storage-postgres.connections": "plugins/storage-postgres/gateway.test.ts",
      }),
};

/** Keys of which only the acceptance is tested: why no effect is visible, or that a test is missing. */
export const NO_EFFECT_SEEN: Readonly<Record<string, string>> = {
  "tools.exec.cleanupMs": "the sweep is tested by itself, with the time as an argument",
  "tools.exec.host": "there is one place where commands run",
  "tools.fs.workspaceOnly": "it can only be true",
  "agents.defaults.subagents.archiveAfterMinutes": "no test asks for another time than the default",
  "agents.defaults.compaction.mode": "no test sets it",
  "agents.defaults.compaction.reserveTokens": "no test sets it",
  "agents.defaults.compaction.keepRecentTokens": "no test sets it",
  "session.maintenance.rotateBytes": "accepted without effect: there is no file that grows",
  "bindings[].comment": "for people",
  "skills.entries.*.config.*": "for the skill's own use",
  "approvals.exec.enabled": "no channel delivers questions yet, so it can only be false",
};
