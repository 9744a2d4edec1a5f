/** Keys of the sections `cron`, `logging`, `mcp` (each server disabled, so that nothing is started), `memorySearch`, `update` and heartbeats. */
import { channelPlugins } from "../checkout.ts";
import type { Given } from "./config-cases.ts";

const AT = { source: "env", id: "SAMPLE" };

const token = (webhookToken: object) => ({ cron: { webhookToken } });
const tokens = (after: object): Given => ({ between: [token(AT), token({ ...AT, ...after })] });

const PROGRAM = { enabled: false, command: "sample" };
const ADDRESS = { enabled: false, url: "https://one.example/mcp" };

const servers = (entry: object) => ({ mcp: { servers: { acme: entry } } });
const change = (base: object, more: object): Given => ({ between: [servers(base), servers({ ...base, ...more })] });
const program = (more: object) => change(PROGRAM, more);
const address = (more: object) => change(ADDRESS, more);

/** A reference at a place of an entry: it is added, and one part of it changes. */
function reference(path: string, base: object, put: (ref: object) => object): Record<string, Given> {
  const from = { ...base, ...put(AT) };
  return {
    [`${path}.source`]: change(from, put({ ...AT, source: "file" })),
    [`${path}.id`]: change(from, put({ ...AT, id: "OTHER" })),
    [`${path}.provider`]: change(from, put({ ...AT, provider: "other" })),
  };
}

const ALL = "agents.defaults.memorySearch";
const ONE = "agents.list[].memorySearch";

const forAll = (memorySearch: object) => ({ agents: { defaults: { memorySearch } } });
const forOne = (memorySearch: object) => ({ agents: { list: [{ id: "main", memorySearch }] } });

/** The value of a key in both places, before and after. */
function both(key: string, before: object, after: object): Record<string, Given> {
  return {
    [`${ALL}.${key}`]: { between: [forAll(before), forAll(after)] },
    [`${ONE}.${key}`]: { between: [forOne(before), forOne(after)] },
  };
}

const talking = (apiKey: object) => ({ talk: { apiKey } });
const speaking = (apiKey: object) => ({ talk: { providers: { acme: { apiKey } } } });
/** A reference in both places of the section `talk`. */
function talkKeys(part: string, changed: string): Record<string, Given> {
  const [before, after] = [AT, { ...AT, [part]: changed }];
  return {
    [`talk.apiKey.${part}`]: { between: [talking(before), talking(after)] },
    [`talk.providers.*.apiKey.${part}`]: { between: [speaking(before), speaking(after)] },
  };
}

const key = (apiKey: object) => ({ remote: { apiKey } });

export const SECTIONS_GIVEN: Readonly<Record<string, Given>> = {
  "channels.msteams.appId": { values: ["00000000-0000-4000-8000-000000000001"] },
  "channels.signal.account": { values: ["+15550001111"] },
  "channels.website.allowedOrigins": { values: [["https://shop.example"]] },
  "channels.website.knownVisitors.*": { values: ["0".repeat(64)] },
  "channels.whatsapp.phoneNumberId": { values: ["10000"] },
  "channels.whatsapp.number": { values: ["4915100000001"] },
  "channels.whatsapp.webUrl": { values: ["wss://web.example/ws"] },
  "channels.slack.botToken": { values: ["xoxb-sample"] },
  "channels.slack.appToken": { values: ["xapp-sample"] },
  "channels.slack.slashCommand": { values: ["/other"] },
  "channels.telegram.webhookUrl": { beside: { channels: { telegram: { webhookSecret: "sample" } } } },
  "cron.webhookToken.source": tokens({ source: "file" }),
  "cron.webhookToken.id": tokens({ id: "OTHER" }),
  "cron.webhookToken.provider": tokens({ provider: "other" }),
  "cron.retry.backoffMs": { values: [[1_000], [2_000, 4_000]] },
  "cron.retry.retryOn": { values: [["network"], ["timeout", "rate_limit"]] },
  "cron.sessionRetention": { values: ["12h", false] },
  // Apart from the names of its files, a picture of the log shows only its level.
  "logging.level": { values: ["error"] }, // a lower level would write into the report of this test
  "logging.consoleLevel": { values: ["error"] },
  "logging.file": { values: ["own.log"] },
  "skills.entries.*.config.*": { values: ["a", "b"] },
  "mcp.servers.*.command": program({ command: "other" }),
  "mcp.servers.*.args": program({ args: ["sample"] }),
  "mcp.servers.*.cwd": program({ cwd: "/tmp" }),
  "mcp.servers.*.sandbox.mode": program({ sandbox: { mode: "prefer" } }),
  "mcp.servers.*.sandbox.network": program({ sandbox: { network: true } }),
  "mcp.servers.*.sandbox.memoryMb": program({ sandbox: { memoryMb: 100 } }),
  "mcp.servers.*.sandbox.processes": program({ sandbox: { processes: 20 } }),
  "mcp.servers.*.sandbox.readPaths": program({ sandbox: { readPaths: ["/srv/data"] } }),
  "mcp.servers.*.sandbox.writePaths": program({ sandbox: { writePaths: ["/srv/cache"] } }),
  "mcp.servers.*.enabled": change({ ...PROGRAM, command: "/no/such/program" }, { enabled: true }),
  "mcp.servers.*.include": program({ include: ["sample"] }),
  "mcp.servers.*.exclude": program({ exclude: ["sample"] }),
  "mcp.servers.*.scope": program({ scope: "operator.read" }),
  "mcp.servers.*.toolTimeoutSeconds": program({ toolTimeoutSeconds: 7 }),
  "mcp.servers.*.startTimeoutSeconds": program({ startTimeoutSeconds: 7 }),
  "mcp.servers.*.env.*": program({ env: { acme: "text" } }),
  "mcp.servers.*.url": address({ url: "https://two.example/mcp" }),
  "mcp.servers.*.transport": address({ transport: "sse" }),
  "mcp.servers.*.headers.*": address({ headers: { acme: "text" } }),
  ...reference("mcp.servers.*.env.*", PROGRAM, (ref) => ({ env: { acme: ref } })),
  ...reference("mcp.servers.*.headers.*", ADDRESS, (ref) => ({ headers: { acme: ref } })),
  ...reference("mcp.servers.*.url", { enabled: false }, (ref) => ({ url: ref })),
  ...both("extraPaths", {}, { extraPaths: ["/srv/notes"] }),
  ...both("remote.apiKey.source", key(AT), key({ ...AT, source: "file" })),
  ...both("remote.apiKey.id", key(AT), key({ ...AT, id: "OTHER" })),
  ...both("remote.apiKey.provider", key(AT), key({ ...AT, provider: "other" })),
  "canvasHost.enabled": { values: [false] },
  "canvasHost.liveReload": { values: [false] },
  "canvasHost.root": { values: ["/srv/pages"] },
  ...talkKeys("source", "file"),
  ...talkKeys("id", "OTHER"),
  ...talkKeys("provider", "other"),
  "ui.seamColor": { values: ["#ff8800"] },
  "update.checkOnStart": { values: [false] },
};

const SETTINGS = "host/logs/settings.test.ts";
const MEMORY_SETTINGS = "plugins/memory/settings.test.ts";
const SERVER = "plugins/memory/embedding/embeddings.test.ts";

export const SECTIONS_SEEN_ELSEWHERE: Readonly<Record<string, string>> = {
  "cron.enabled": "plugins/cron/config.test.ts",
  "cron.maxConcurrentRuns": "plugins/cron/config.test.ts",
  "cron.retry.maxAttempts": "plugins/cron/cron.test.ts",
  "cron.retry.backoffMs": "plugins/cron/cron.test.ts",
  "cron.retry.retryOn": "plugins/cron/runs/verdict.test.ts",
  "cron.webhookToken": "plugins/cron/cron.test.ts",
  "cron.webhookToken.": "plugins/cron/runs/notifications.test.ts",
  "cron.sessionRetention": "plugins/cron/cron.test.ts",
  "cron.runLog.keepLines": "plugins/cron/config.test.ts",
  "cron.failureAlert.": "plugins/cron/config.test.ts",
  "cron.failureDestination.": "plugins/cron/config.test.ts",
  "channels.defaults.heartbeat.": "plugins/heartbeat/beats.test.ts",
  // Each network with its settings is tried as a whole; the shared ones are tried at telegram.
  ...Object.fromEntries(
    channelPlugins()
      .filter(({ isBundled }) => isBundled)
      .flatMap(({ plugin, channels }) => channels.map((id) => [`channels.${id}.`, `plugins/${plugin}/network.ts`])),
  ),
  "approvals.exec.": "plugins/channels/approvals.test.ts",
  "approvals.plugin.": "plugins/channels/approvals.test.ts",
  "logging.consoleStyle": SETTINGS,
  "logging.file": SETTINGS,
  "logging.maxFileBytes": SETTINGS,
  "logging.maxTotalBytes": SETTINGS,
  "logging.retentionDays": SETTINGS,
  "logging.redactSensitive": SETTINGS,
  "logging.redactPatterns": SETTINGS,
  "mcp.servers.*.command": "plugins/mcp/stdio.test.ts",
  "mcp.servers.*.args": "plugins/mcp/scene.ts",
  "mcp.servers.*.cwd": "plugins/mcp/stdio.test.ts",
  "mcp.servers.*.sandbox.": "plugins/mcp/sandbox.test.ts",
  "mcp.servers.*.enabled": "plugins/mcp/stdio.test.ts",
  "mcp.servers.*.include": "plugins/mcp/stdio.test.ts",
  "mcp.servers.*.exclude": "plugins/mcp/stdio.test.ts",
  "mcp.servers.*.scope": "plugins/mcp/stdio.test.ts",
  "mcp.servers.*.toolTimeoutSeconds": "plugins/mcp/stdio.test.ts",
  "mcp.servers.*.startTimeoutSeconds": "plugins/mcp/supervisor.test.ts",
  "mcp.servers.*.env.*": "plugins/mcp/stdio.test.ts",
  "mcp.servers.*.env.*.": "plugins/mcp/stdio.test.ts",
  "mcp.servers.*.url": "plugins/mcp/http.test.ts",
  "mcp.servers.*.url.": "plugins/mcp/decisions.test.ts",
  "mcp.servers.*.transport": "plugins/mcp/http.test.ts",
  "mcp.servers.*.headers.*": "plugins/mcp/http.test.ts",
  "mcp.servers.*.headers.*.": "plugins/mcp/http.test.ts",
  [`${ALL}.enabled`]: MEMORY_SETTINGS,
  [`${ALL}.sources`]: "plugins/agents/directory/memory-search.test.ts",
  [`${ALL}.extraPaths`]: "plugins/memory/engine/index.test.ts",
  [`${ALL}.provider`]: MEMORY_SETTINGS,
  [`${ALL}.remote.baseUrl`]: MEMORY_SETTINGS,
  [`${ALL}.remote.apiKey`]: SERVER,
  [`${ALL}.remote.apiKey.`]: SERVER,
  [`${ALL}.remote.headers.*`]: SERVER,
  [`${ALL}.model`]: SERVER,
  [`${ALL}.fallback`]: "plugins/agents/directory/memory-search.test.ts",
  [`${ALL}.store.vector.enabled`]: MEMORY_SETTINGS,
  [`${ALL}.chunking.`]: MEMORY_SETTINGS,
  [`${ALL}.sync.`]: MEMORY_SETTINGS,
  [`${ALL}.query.`]: MEMORY_SETTINGS,
  [`${ALL}.cache.`]: MEMORY_SETTINGS,
  [`${ONE}.`]: "plugins/agents/directory/memory-search.test.ts",
  "agents.list[].skills": "plugins/skills/gateway.test.ts",
  "skills.allowBundled": "plugins/skills/library.test.ts",
  "skills.load.": "plugins/skills/library.test.ts",
  "skills.install.": "plugins/skills/install.test.ts",
  "skills.limits.": "plugins/skills/library.test.ts",
  "skills.entries.*.enabled": "plugins/skills/library.test.ts",
  "skills.entries.*.apiKey": "plugins/skills/gateway.test.ts",
  "skills.entries.*.apiKey.": "plugins/skills/library.test.ts",
  "skills.entries.*.env.*": "plugins/skills/library.test.ts",
  "skills.entries.*.env.*.": "plugins/skills/library.test.ts",
  "canvasHost.": "plugins/canvas/serving.test.ts",
  "talk.": "plugins/talk/talk.test.ts",
  "ui.seamColor": "plugins/talk/talk.test.ts",
  "ui.assistant.": "plugins/control-panel/identity.test.ts",
  "update.channel": "plugins/update/npm-update.test.ts",
  "update.checkOnStart": "plugins/update/decisions.test.ts",
  "update.auto.": "plugins/update/decisions.test.ts",
  "wizard.": "plugins/wizard/wizard.test.ts",
};
