import assert from "node:assert/strict";
import { chmodSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { Command } from "commander";
import type { SecurityCheck, SecurityHit, SecurityView } from "@svc/sdk/cli";
import type { PairedDevice } from "@svc/sdk/devices";
import { weaknessOf } from "../../../../host/auth/weak-secret.ts";
import { GATEWAY_CHECKS } from "../../../../host/cli/audit/gateway-checks.ts";
import { HOOKS_CHECKS } from "../../../../host/cli/audit/hooks-checks.ts";
import { PLUGIN_CHECKS } from "../../../../host/cli/audit/plugin-checks.ts";
import { type HostView, hostView, type PlacedPlugin } from "../../../../host/cli/audit/view.ts";
import { parsePath } from "../../../../host/cli/config/path.ts";
import { parseValue } from "../../../../host/cli/config/value.ts";
import { addInstalledVerbs, createProgram } from "../../../../host/cli/program.ts";
import type { PluginsHere } from "../../../../host/cli/planned-plugins.ts";
import approvals from "../../../../plugins/approvals/security.ts";
import channels from "../../../../plugins/channels/security.ts";
import devices, { manyAdmins, oldTokens, unseen } from "../../../../plugins/devices/security.ts";
import mcp from "../../../../plugins/mcp/security.ts";
import models from "../../../../plugins/models/security.ts";
import secrets from "../../../../plugins/secrets/security.ts";
import tools from "../../../../plugins/tools/security.ts";
import webhookAgent from "../../../../plugins/webhook-agent/security.ts";
import workspace from "../../../../plugins/workspace/security.ts";
import { directory, put } from "../../../directory.ts";
import { wordsOf } from "../svc.ts";

const STRONG = "Zq8vK2mT5xR9bN4wL7cJ1hF6";
/** Must never be printed. */
const CANARY = "sk-CANARY0123456789";

type Config = Readonly<Record<string, unknown>>;
type Row = readonly [id: string, severity: string, bad: Config, good: Config];

const hooks = (more: Config) => ({ hooks: { enabled: true, token: STRONG, allowedAgentIds: ["main"], ...more } });
const gateway = (more: Config) => ({ gateway: more });
const auth = (more: Config, rest: Config = {}) => gateway({ auth: more, ...rest });
const panel = (more: Config) => gateway({ controlUi: more });
const ADA = { allowUsers: ["ada"] };
const proxied = (trustedProxies: readonly string[], more: Config = {}) =>
  auth({ mode: "trusted-proxy", trustedProxy: { userHeader: "x-user", ...more } }, { trustedProxies });
const redaction = (redactSensitive: string) => ({ logging: { redactSensitive } });
const anySession = (...prefixes: readonly string[]) =>
  hooks({ allowRequestSessionKey: true, allowedSessionKeyPrefixes: prefixes });
const UNMARKED = { allowUnsafeExternalContent: true };
const irc = (more: Config) => ({ channels: { irc: more } });
const OPEN = { allowFrom: ["*"] };
const SCOPED = { session: { dmScope: "per-peer" } };
const httpTools = (...allow: readonly string[]) => gateway({ tools: { allow } });
const server = (more: Config) => ({ mcp: { servers: { "a.b": more } } });
const mcpUrl = (url: string, headers?: Config) => server(headers ? { url, headers } : { url });
const mcpArgs = (...args: readonly string[]) => server({ command: "x", args });
const provider = (more: Config) => ({ models: { providers: { p: more } } });
const PLAIN = "http://10.0.0.9/v1";
const WITH_SECRETS = `http://u:${CANARY}@10.0.0.9/v1?key=${CANARY}`;
const LOCAL_MODEL = provider({ apiKey: CANARY, baseUrl: "http://localhost:1/v1" });
const vault = (more: Config) => ({ secrets: { providers: { vault: more } } });

/** A check finds `bad`, and nothing in `good`. */
const ROWS: readonly Row[] = [
  ["gateway.no-auth", "warning", auth({ mode: "none" }), auth({ mode: "token" })],
  ["gateway.no-auth", "critical", auth({ mode: "none" }, { bind: "lan", tls: { enabled: true } }), {}],
  ["gateway.weak-secret", "warning", auth({ token: "short" }), auth({ token: STRONG })],
  ["gateway.weak-secret", "critical", auth({ token: "short" }, { bind: "tailnet" }), {}],
  ["gateway.weak-secret", "warning", auth({ password: "hunter2" }), auth({ password: "Zq8vK2mT5xR9" })],
  ["gateway.no-tls", "warning", gateway({ bind: "lan" }), gateway({ bind: "lan", tls: { enabled: true } })],
  ["gateway.no-tls", "warning", gateway({ bind: "custom", customBindHost: "10.0.0.1" }), gateway({ bind: "tailnet" })],
  ["gateway.wide-proxies", "critical", gateway({ trustedProxies: ["10.0.0.0/24", "0.0.0.0/0"] }), {}],
  [
    "gateway.wide-proxies",
    "critical",
    gateway({ trustedProxies: ["::/0"] }),
    gateway({ trustedProxies: ["fd00::/64"] }),
  ],
  ["gateway.local-proxy-user", "critical", proxied(["127.0.0.1"], ADA), proxied(["10.0.0.2"], ADA)],
  [
    "gateway.local-proxy-user",
    "critical",
    proxied(["10.0.0.2", "::1"], ADA),
    proxied(["::1"], { ...ADA, secret: STRONG }),
  ],
  ["gateway.any-proxy-user", "warning", proxied(["10.0.0.2"]), proxied(["10.0.0.2"], ADA)],
  ["gateway.real-ip", "warning", gateway({ allowRealIpFallback: true }), gateway({ allowRealIpFallback: false })],
  [
    "gateway.any-origin",
    "warning",
    panel({ allowedOrigins: [" * "] }),
    panel({ allowedOrigins: ["https://a.example"] }),
  ],
  ["gateway.host-header-origin", "critical", panel({ dangerouslyAllowHostHeaderOriginFallback: true }), {}],
  ["gateway.panel-without-device", "critical", panel({ dangerouslyDisableDeviceAuth: true }), {}],
  ["gateway.insecure-panel", "warning", panel({ allowInsecureAuth: true }), {}],
  ["logging.redaction-off", "warning", redaction("off"), redaction("tools")],
  ["hooks.gateway-token", "critical", { ...auth({ token: STRONG }), ...hooks({}) }, hooks({})],
  ["hooks.weak-token", "warning", hooks({ token: "x" }), { hooks: { enabled: false, token: "x" } }],
  ["hooks.weak-token", "critical", { ...hooks({ token: undefined }), ...gateway({ bind: "tailnet" }) }, {}],
  ["webhook-agent.any-session", "critical", anySession(" "), anySession("hook:")],
  ["webhook-agent.any-agent", "warning", hooks({ allowedAgentIds: undefined }), hooks({ allowedAgentIds: [] })],
  ["webhook-agent.any-agent", "warning", hooks({ allowedAgentIds: ["main", "*"] }), hooks({})],
  ["webhook-agent.unmarked-content", "critical", hooks({ mappings: [{}, UNMARKED] }), hooks({ mappings: [{}] })],
  ["webhook-agent.unmarked-content", "critical", hooks({ gmail: UNMARKED }), hooks({ gmail: {} })],
  ["channels.open", "critical", irc({ allowFrom: ["account:ada", "*"] }), irc({ allowFrom: ["account:ada"] })],
  ["channels.open", "warning", { ...irc({ accounts: { a: OPEN } }), ...SCOPED }, irc({ enabled: false, ...OPEN })],
  ["channels.open", "critical", irc({ accounts: [OPEN] }), irc({ accounts: "*" })],
  ["channels.every-word", "warning", irc({ requireMention: false, groups: ["*"] }), irc({ groups: ["*"] })],
  ["channels.every-word", "warning", irc({ groups: { "*": { requireMention: false } } }), irc({ groups: { "*": {} } })],
  ["tools.from-outside", "critical", { tools: { fromOutside: "allow" } }, { tools: { fromOutside: "ask" } }],
  ["tools.http-dangerous", "warning", httpTools("cron", "read"), httpTools("read")],
  ["mcp.plain-http", "warning", mcpUrl(`http://mcp.example/${CANARY}`), mcpUrl("http://127.0.0.1:3000/mcp")],
  ["mcp.plain-http", "critical", mcpUrl("http://mcp.example/", { a: CANARY }), mcpUrl("https://mcp.example/")],
  ["mcp.secret-argument", "warning", mcpArgs("--verbose", "--api-key", CANARY), mcpArgs("--token-file", "/x")],
  ["mcp.secret-argument", "warning", mcpArgs(`--token=${CANARY}`), mcpArgs("--token=")],
  ["models.plain-http", "critical", provider({ baseUrl: WITH_SECRETS, apiKey: CANARY }), provider({ baseUrl: PLAIN })],
  ["models.plain-http", "critical", provider({ accounts: [{ apiKey: CANARY, baseUrl: PLAIN }] }), LOCAL_MODEL],
  ["secrets.any-program", "warning", vault({ allowInsecurePath: true }), vault({})],
];

const OURS = [...GATEWAY_CHECKS, ...HOOKS_CHECKS];
const PLUGINS: readonly SecurityCheck[] = [...channels, ...webhookAgent, ...tools, ...mcp, ...models, ...secrets];

/** @param state the state directory */
function viewOf(config: Config, state = "/nowhere", plugins: readonly PlacedPlugin[] = []): HostView {
  const paths = { stateDir: state, credentialsDir: join(state, "credentials") };
  const here = { file: { resolved: config }, paths, sources: [], disabled: new Set() } as unknown as PluginsHere;
  return { ...hostView(here, {}, 0), plugins };
}

type Found = SecurityHit & { readonly id: string; readonly severity: string };

async function findings(config: Config): Promise<readonly Found[]> {
  const view = viewOf(config);
  const found: Found[] = [];
  for (const check of [...OURS, ...PLUGINS])
    if ("find" in check)
      for (const hit of await check.find(view as HostView & SecurityView))
        found.push({ id: check.id, ...hit, severity: hit.severity ?? check.severity });
  return found;
}

/** The configuration after `svc config set|unset`. */
async function mended(config: Config, line: string): Promise<Config> {
  const [, , verb, ...rest] = wordsOf(line);
  const asText = rest[0] === "--string";
  const [path = "", text = ""] = asText ? rest.slice(1) : rest;
  const next = structuredClone(config) as Record<string | number, unknown>;
  const parts = parsePath(path);
  let node = next;
  for (const part of parts.slice(0, -1)) node = (node[part] ??= {}) as typeof node;
  const last = parts.at(-1) ?? "";
  if (verb === "set") node[last] = await parseValue(text, asText);
  else if (Array.isArray(node)) node.splice(Number(last), 1);
  else delete node[last];
  return next;
}

describe("security checks of the configuration", () => {
  it("each have a row here", () => {
    const ids = [...OURS, ...PLUGINS].map(({ id }) => id);
    assert.equal(new Set(ids).size, ids.length);
    assert.deepEqual([...new Set(ROWS.map(([id]) => id))].sort(), ids.sort());
  });

  for (const [at, [id, severity, bad, good]] of ROWS.entries()) {
    it(`${id} finds the fault and nothing else, and its command fixes it (row ${at})`, async () => {
      const found = async (config: Config) => (await findings(config)).filter((one) => one.id === id);
      const [hit, ...more] = await found(bad);
      assert.deepEqual([hit?.severity, more, await found(good)], [severity, [], []]);
      assert.ok(!JSON.stringify(hit).includes("CANARY"));
      assert.deepEqual(await found(await mended(bad, hit?.fix ?? "")), []);
    });
  }

  it("find nothing in an empty or malformed configuration", async () => {
    assert.deepEqual(await findings({}), []);
    const sections = "gateway hooks tools mcp models channels secrets session logging plugins".split(" ");
    for (const wrong of [null, true, 7, "text", [], [null], { servers: [], providers: "x", auth: [], mappings: 7 }])
      assert.deepEqual(await findings(Object.fromEntries(sections.map((key) => [key, wrong]))), []);
  });
});

describe("a secret", () => {
  const rows: readonly (readonly [secret: string, weakness: RegExp | undefined])[] = [
    ["abc", /^has 3 characters, and the minimum is 24$/],
    ["aaaaaaaaaaaaaaaaaaaaaaaaaaaa", /^has only 1 different characters$/],
    ["abcdefghijabcdefghijabcdefghij", /^repeats one short text$/],
    ["abcdefghijklmnopqrstuvwxyz", /^counts up through the alphabet$/],
    ["my-secret-gateway-token-password", /^consists of well-known words$/],
    [STRONG, undefined],
    ["0f3c9a7b1e5d2846a0c4f8e97b6d1352", undefined],
  ];
  for (const [secret, weakness] of rows)
    it(`${secret} is ${weakness ? "weak" : "not weak"}, and is not shown`, () => {
      const why = weaknessOf(secret, 24);
      if (!weakness) return assert.equal(why, undefined);
      assert.match(why ?? "", weakness);
      assert.ok(!why?.includes(secret.slice(0, 5)));
    });
});

it("third-party plugins are listed with their permissions", async () => {
  const plugin = (placement: string, svc: object = {}, more: object = {}): PlacedPlugin =>
    ({ origin: "x", placement, manifest: { id: "x", ...svc }, ...more }) as unknown as PlacedPlugin;
  const confined = { isolation: { supports: ["process"] } };
  const permitted = (permissions: object) => plugin("process", { ...confined, permissions });
  const wide = "plugins.wide-permissions: svc plugins inspect x";
  const rows: readonly (readonly [PlacedPlugin, string | undefined])[] = [
    [plugin("host", {}, { isBundled: true }), undefined],
    [plugin("host"), "plugins.unconfined: svc plugins inspect x"],
    [plugin("worker", confined), "plugins.unconfined: svc config set plugins.entries.x.run process"],
    [plugin("process", confined), undefined],
    [permitted({ exec: true }), wide],
    [permitted({ net: ["api.example:443"] }), undefined],
    [permitted({ net: ["*:443"] }), wide],
  ];
  for (const [one, expected] of rows) {
    const view = viewOf({}, "/nowhere", [one]);
    const found = await Promise.all(
      PLUGIN_CHECKS.map(async (check) => (await check.find(view)).map(({ fix }) => `${check.id}: ${fix}`)),
    );
    assert.deepEqual(found.flat(), expected === undefined ? [] : [expected]);
  }
});

describe("security checks of files", () => {
  const unasked = { security: "full", ask: "off" };
  const anyArguments = { pattern: "/usr/bin/find", anyArguments: true };
  const rows: readonly (readonly [what: string, agents: object, found?: string])[] = [
    ["the usual policy", { main: { security: "allowlist", ask: "on-miss" } }],
    ["everything unasked", { main: unasked }, "unasked svc approvals security allowlist --ask on-miss --agent main"],
    [
      "everything unasked for all",
      { "*": unasked, main: {} },
      "unasked svc approvals security allowlist --ask on-miss --agent '*'",
    ],
    [
      "what nobody answers for",
      { main: { security: "allowlist", askFallback: "full" } },
      "unanswered svc approvals security allowlist --fallback deny --agent main",
    ],
    [
      "any arguments",
      { main: { security: "allowlist", allowlist: [anyArguments] } },
      "any-arguments svc approvals allowlist remove /usr/bin/find --any-arguments --agent main",
    ],
    [
      "an entry that allows nothing",
      { main: { allowlist: [{ pattern: "/opt/x" }] } },
      "dead-entries svc approvals allowlist remove /opt/x --agent main",
    ],
  ];
  const judged = (t: TestContext, agents: object, config: Config = {}) => {
    const state = directory(t);
    put(join(state, "exec-approvals.json"), JSON.stringify({ version: 1, defaults: {}, agents }), 0o600);
    return linesOf(approvals, viewOf(config, state));
  };
  for (const [what, agents, found] of rows)
    it(`judge a policy file with ${what}`, async (t) =>
      assert.deepEqual(await judged(t, agents), found === undefined ? [] : [`approvals.${found}`]));

  it("take a narrowing by tools.exec into account", async (t) =>
    assert.deepEqual(await judged(t, { main: unasked }, { tools: { exec: { ask: "always" } } }), []));

  it("find programs that others could replace", async (t) => {
    const place = directory(t);
    mkdirSync(join(place, "bin"), { mode: 0o755 });
    const view = viewOf({ tools: { exec: { pathPrepend: [join(place, "bin")] } } });
    assert.deepEqual(await linesOf(workspace, view), []);
    chmodSync(join(place, "bin"), 0o777);
    assert.deepEqual(await linesOf(workspace, view), [`workspace.shared-path chmod go-w ${join(place, "bin")}`]);
  });
});

async function linesOf(checks: readonly SecurityCheck[], view: SecurityView): Promise<readonly string[]> {
  const found = checks.map(async (check) =>
    "find" in check ? (await check.find(view)).map(({ fix }) => `${check.id} ${fix}`) : [],
  );
  return (await Promise.all(found)).flat();
}

const DAY = 86_400_000;
const device = (id: string, approved: number, token: object = {}): PairedDevice => ({
  deviceId: id,
  publicKey: "k",
  createdAtMs: approved,
  approvedAtMs: approved,
  tokens: [{ role: "operator", scopes: ["operator.admin"], createdAtMs: approved, ...token }],
});

it("devices are listed when not seen for 90 days, with a token of 180 days, or when more than three are admins", () => {
  const now = 1_000 * DAY;
  const fixes = (hits: readonly SecurityHit[]) => hits.map(({ fix }) => fix);
  const fresh = device("fresh", now - 400 * DAY, { lastUsedAtMs: now - DAY, rotatedAtMs: now - DAY });
  assert.deepEqual(fixes(unseen([fresh, device("gone", now - 90 * DAY)], now)), ["svc devices remove gone"]);
  assert.deepEqual(fixes(oldTokens([fresh, device("old", now - 180 * DAY)], now)), ["svc devices rotate old operator"]);
  assert.deepEqual(oldTokens([device("revoked", 0, { revokedAtMs: 1 }), device("node", 0, { role: "node" })], now), []);
  const admins = ["a", "b", "c"].map((id) => device(id, now, { lastUsedAtMs: now }));
  assert.deepEqual(manyAdmins(admins), []);
  assert.deepEqual(fixes(manyAdmins([...admins, device("d", now, { lastUsedAtMs: 1 })])), [
    "svc devices rotate d operator --scopes operator.read,operator.write",
  ]);
});

it("every fix is a valid command line of svc or a shell command", async (t) => {
  const state = directory(t);
  const entries = [{ pattern: "/opt/x", anyArguments: true }, { pattern: "/opt/y" }];
  const main = { askFallback: "full", security: "full", allowlist: entries };
  const policy = { version: 1, agents: { "*": { security: "full", ask: "off" }, main } };
  put(join(state, "exec-approvals.json"), JSON.stringify(policy), 0o600);
  const old = ["a", "b", "c", "d"].map((id) => device(id, 0));
  const lines = [
    ...(await Promise.all(ROWS.map(([, , bad]) => findings(bad)))).flat().map(({ fix }) => fix),
    ...(await linesOf(approvals, viewOf({}, state))).map((line) => line.slice(line.indexOf(" ") + 1)),
    ...[...unseen(old, 1_000 * DAY), ...oldTokens(old, 1_000 * DAY), ...manyAdmins(old)].map(({ fix }) => fix),
    "svc plugins inspect x",
    "svc config validate",
    "svc doctor --undo x",
  ];
  assert.equal(devices.length, 3);
  for (const wrong of ["config fix x", "approvals security full --bogus", "devices rotate", "doctor --undo"])
    assert.equal(await parses(wrong.split(" ")), false, wrong);
  for (const line of new Set(lines)) {
    const [program = "", ...words] = wordsOf(line);
    assert.equal(program, "svc", line);
    assert.equal(await parses(words), true, line);
  }
});

/** Whether commander accepts these words; runs nothing. */
async function parses(words: readonly string[]): Promise<boolean> {
  const output = { json: true, print: () => undefined, note: () => undefined };
  let isTaken = false;
  const act = async () => void (isTaken = true);
  const program = createProgram(output, act);
  await addInstalledVerbs({ program, output, act }, words);
  const quiet = (command: Command) => {
    command.exitOverride().configureOutput({ writeErr: () => undefined, writeOut: () => undefined });
    command.commands.forEach(quiet);
  };
  quiet(program);
  await program.parseAsync(words, { from: "user" }).catch(() => undefined);
  return isTaken;
}
