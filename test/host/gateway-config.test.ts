/** Each key of the host's configuration takes effect as its schema says. The list of keys comes from the schema: a new one fails here. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { definePlugin } from "@svc/sdk";
import { ConfigStore } from "@svc/sdk/config";
import { createFakeClock, type FakeClock } from "@svc/sdk/testing";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { HOST_SECTIONS, OPEN_SECTIONS } from "../../host/config/host-schema.ts";
import { connectFrame, openRaw } from "../raw-socket.ts";
import { directoryOf } from "./kernel/reload-scene.ts";

const limited = { timeout: 120_000 };

/** Every leaf of the schema with its keyword; `*` stands for any name. */
function leaves(schema: object, path: string): [path: string, reload: string | undefined][] {
  const { properties, patternProperties, additionalProperties, reload } = schema as Record<string, unknown>;
  const named = Object.entries((properties ?? {}) as Record<string, object>);
  const any = [...Object.values((patternProperties ?? {}) as object), additionalProperties].filter(
    (child) => typeof child === "object",
  );
  const below = [...named, ...any.map((child): [string, object] => ["*", child as object])];
  if (below.length === 0) return [[path, reload as string | undefined]];
  return below.flatMap(([key, child]) => leaves(child, `${path}.${key}`));
}
/** A place without keys of the host is open for keys of plugins. */
const KEYS = new Map(
  Object.entries(HOST_SECTIONS)
    .flatMap(([section, schema]) => leaves(schema, section))
    .filter(([path]) => !Object.hasOwn(OPEN_SECTIONS, path)),
);

interface Running {
  readonly url: string;
  readonly clock: FakeClock;
  readonly edit: (path: string, value: unknown) => ReturnType<ConfigStore["edit"]>;
  readonly restarts: string[];
}

async function start(t: TestContext, config: object): Promise<Running> {
  const stateDir = await directoryOf(t, "svc-keys-");
  await writeFile(join(stateDir, "svc.json"), JSON.stringify(config));
  let store: ConfigStore | undefined;
  const plugin = definePlugin({
    id: "editor",
    api: "^1.0.0",
    requires: { config: ConfigStore },
    setup(gateway) {
      gateway.route({
        method: "GET",
        path: "/plugins/editor/me",
        auth: "plugin",
        summary: "-",
        handler: ({ remoteAddress, headers }) => ({ body: `${remoteAddress} ${String(headers["x-svc-agent-id"])}` }),
      });
      gateway.start(() => void (store = gateway.services.config));
    },
  });
  const { createGateway } = (await import("@svc/host" as string)) as {
    createGateway(options: object): Promise<{ url: string; stop(): Promise<void> }>;
  };
  const clock = createFakeClock();
  const restarts: string[] = [];
  const restart = { perform: (reason: string) => void restarts.push(reason) };
  const gateway = await createGateway({
    env: {},
    port: 0,
    stateDir,
    plugins: [plugin],
    logLevel: "silent",
    drainMs: 10,
    clock,
    restart,
  });
  t.after(() => gateway.stop());
  const edit: Running["edit"] = (path, value) =>
    store?.edit({ actor: "test", action: "test" }, () => [{ path: path.split("."), value }]) ??
    Promise.reject(new Error("not started"));
  return { url: gateway.url, clock, edit, restarts };
}

/** `ok`, or why not. */
async function outcome(
  { url }: Pick<Running, "url">,
  params: object,
  headers: Record<string, string> = {},
): Promise<string> {
  const socket = await openRaw(url, headers);
  socket.send(connectFrame(undefined, params));
  const { ok, error } = await socket.next(({ id }) => id === "c1");
  socket.ws.close();
  await socket.closed;
  const code = error?.details?.["code"];
  return ok ? "ok" : typeof code === "string" ? code : (error?.message.slice(0, 18) ?? "?");
}

const me = async ({ url }: Running, headers: Record<string, string>) =>
  (await fetch(`${url.replace("ws", "http")}/plugins/editor/me`, { headers })).text();
const connects =
  (...given: [params: object, headers?: Record<string, string>]) =>
  (running: Running) =>
    outcome(running, ...given);
const asks = (headers: Record<string, string>) => (running: Running) => me(running, headers);
const auth = (changes: object) => ({ gateway: { auth: { token: "right", ...changes } } });
const right = { auth: { token: "right" } };
const wrong = { auth: { token: "wrong" } };
const panel = { ...right, client: { id: "svc-control-ui", version: "1", platform: "web", mode: "webchat" } };
let addresses = 0;
/** Another client each time. */
const elsewhere = () => ({ "x-forwarded-for": `203.0.113.${++addresses}` });
/** The refusal of the last of several wrong guesses from one address. */
const guesses = async (running: Running, times: number, pauseMs = 0) => {
  const from = elsewhere();
  let last = "";
  for (let turn = 0; turn < times; turn++) {
    last = await outcome(running, wrong, from);
    if (turn < times - 1) await running.clock.advance(pauseMs);
  }
  return last;
};
const guessing =
  (...given: [times: number, pauseMs?: number]) =>
  (running: Running) =>
    guesses(running, ...given);
const limits = (rateLimit: object) => ({
  gateway: { trustedProxies: ["127.0.0.1"], auth: { token: "right", rateLimit } },
});
const proxied = (changes: object) => ({
  gateway: {
    trustedProxies: ["127.0.0.1"],
    auth: {
      mode: "trusted-proxy",
      trustedProxy: { userHeader: "x-user", secret: "proxy-secret-of-this-test", ...changes },
    },
  },
});
const fromProxy = { "x-svc-proxy-secret": "proxy-secret-of-this-test" };
const ada = { ...fromProxy, "x-user": "ada", "x-forwarded-for": "203.0.113.250" };
const MISMATCH = "AUTH_TOKEN_MISMATCH";
const LOCKED = "AUTH_RATE_LIMITED";
const NOWHERE = "ORIGIN_NOT_ALLOWED";
const origin = (from: string, host?: string) => ({ origin: from, ...(host ? { host } : {}) });

interface Row {
  readonly config: object;
  readonly to: unknown;
  readonly observe: (running: Running) => Promise<string>;
  readonly before: string;
  readonly after: string;
}
const row = (config: object, to: unknown, observe: Row["observe"], before: string, after: string): Row => ({
  config,
  to,
  observe,
  before,
  after,
});

const HOT: Record<string, Row | { readonly seenIn: string }> = {
  "gateway.auth.token": row(auth({}), "wrong", connects(wrong), MISMATCH, "ok"),
  "gateway.auth.password": row(
    { gateway: { auth: { password: "old" } } },
    "new",
    connects({ auth: { password: "new" } }),
    "AUTH_PASSWORD_MISMATCH",
    "ok",
  ),
  "gateway.auth.mode": row(
    auth({ mode: "token", password: "p" }),
    "password",
    connects({ auth: { password: "p" } }),
    "AUTH_TOKEN_MISSING",
    "ok",
  ),
  "gateway.auth.rateLimit.maxAttempts": row(limits({ maxAttempts: 100 }), 1, guessing(2), MISMATCH, LOCKED),
  "gateway.auth.rateLimit.windowMs": row(
    limits({ maxAttempts: 2, windowMs: 60_000 }),
    5,
    guessing(3, 10),
    LOCKED,
    MISMATCH,
  ),
  "gateway.auth.rateLimit.lockoutMs": row(
    limits({ maxAttempts: 1, lockoutMs: 60_000 }),
    5,
    guessing(2, 10),
    LOCKED,
    MISMATCH,
  ),
  "gateway.auth.rateLimit.exemptLoopback": row(
    auth({ rateLimit: { maxAttempts: 1 } }),
    false,
    async (running) => (await outcome(running, wrong), outcome(running, wrong)),
    MISMATCH,
    LOCKED,
  ),
  "gateway.auth.trustedProxy.userHeader": row(
    proxied({}),
    "x-login",
    connects({}, { ...fromProxy, "x-login": "ada" }),
    "NOT",
    "ok",
  ),
  "gateway.auth.trustedProxy.requiredHeaders": row(proxied({}), ["x-proof"], connects({}, ada), "ok", "NOT"),
  "gateway.auth.trustedProxy.allowUsers": row(proxied({}), ["bob"], connects({}, ada), "ok", "NOT"),
  "gateway.auth.trustedProxy.secret": row(proxied({}), "another-secret-of-this-test", connects({}, ada), "ok", "NOT"),
  "gateway.trustedProxies": row(
    auth({}),
    ["127.0.0.1"],
    asks({ "x-forwarded-for": "203.0.113.7" }),
    "127.0.0.1 undefined",
    "203.0.113.7 undefined",
  ),
  "gateway.allowRealIpFallback": row(
    { gateway: { trustedProxies: ["127.0.0.1"] } },
    true,
    asks({ "x-real-ip": "203.0.113.7" }),
    "127.0.0.1 undefined",
    "203.0.113.7 undefined",
  ),
  "gateway.controlUi.allowedOrigins": row(
    auth({}),
    ["https://a.example"],
    connects(right, origin("https://a.example")),
    NOWHERE,
    "ok",
  ),
  "gateway.controlUi.dangerouslyAllowHostHeaderOriginFallback": row(
    auth({}),
    true,
    connects(right, origin("http://gw.example", "gw.example")),
    NOWHERE,
    "ok",
  ),
  "gateway.controlUi.allowInsecureAuth": row(
    auth({}),
    true,
    connects(panel, origin("http://localhost")),
    "CONTROL_UI_DEVICE_IDENTITY_REQUIRED",
    "ok",
  ),
  "gateway.controlUi.dangerouslyDisableDeviceAuth": row(
    auth({}),
    true,
    connects(panel, origin("http://localhost")),
    "CONTROL_UI_DEVICE_IDENTITY_REQUIRED",
    "ok",
  ),
  "gateway.maxConnectionsPerAddress": { seenIn: "net/limits.test.ts" },
  "gateway.compat.chatEventsToAll": { seenIn: "net/broadcast.test.ts" },
  "gateway.controlUi.enabled": { seenIn: "auth/mode.test.ts" }, // only affects whether a start is refused
  "gateway.aliases": row(auth({}), ["acme"], asks({ "x-acme-agent-id": "a1" }), "127.0.0.1 undefined", "127.0.0.1 a1"),
  "gateway.http.securityHeaders.strictTransportSecurity": row(
    auth({}),
    "max-age=600",
    async ({ url }) => {
      const { headers } = await fetch(`${url.replace("ws", "http")}/healthz`);
      return String(headers.get("strict-transport-security"));
    },
    "null",
    "max-age=600",
  ),
  "gateway.reload.mode": { seenIn: "reconfigure.test.ts" },
  "gateway.reload.debounceMs": { seenIn: "gateway-config-file.test.ts" },
  "gateway.tls.autoGenerate": { seenIn: "net/tls/certificate.test.ts" },
  "gateway.tls.certPath": { seenIn: "net/tls/gateway.test.ts" },
  "gateway.tls.keyPath": { seenIn: "net/tls/gateway.test.ts" },
  "gateway.tls.caPath": { seenIn: "net/tls/certificate.test.ts" },
  "logging.level": { seenIn: "reconfigure.test.ts" },
  "logging.consoleLevel": { seenIn: "log.test.ts" },
  "logging.consoleStyle": { seenIn: "log.test.ts" },
  "logging.file": { seenIn: "log.test.ts" },
  "logging.maxFileBytes": { seenIn: "logs/log-file.test.ts" },
  "logging.maxTotalBytes": { seenIn: "logs/log-file.test.ts" },
  "logging.retentionDays": { seenIn: "logs/log-file.test.ts" },
  "logging.redactSensitive": { seenIn: "logs/hide.test.ts" },
  "logging.redactPatterns": { seenIn: "logs/hide.test.ts" },
  "plugins.use": { seenIn: "gateway-plugins.test.ts" },
  "plugins.load.paths": { seenIn: "gateway-plugins.test.ts" },
  "plugins.entries.*.enabled": { seenIn: "gateway-plugins.test.ts" },
  "plugins.entries.*.run": { seenIn: "carriers/placement.test.ts" },
  "plugins.entries.*.wake": { seenIn: "carriers/asleep.test.ts" },
  "plugins.entries.*.memoryMb": { seenIn: "carriers/placement.test.ts" },
  ...Object.fromEntries(
    (
      "enabled token path maxBodyBytes defaultSessionKey allowRequestSessionKey allowedSessionKeyPrefixes " +
      "allowedAgentIds presets disabled transformsDir mappings"
    )
      .split(" ")
      .map((key) => [`hooks.${key}`, { seenIn: "../conformance/reload-kinds.test.ts" }]),
  ),
};

describe("every key that is hot", limited, () => {
  it("has a test", () => {
    const hot = [...KEYS].filter(([, reload]) => reload === "hot").map(([path]) => path);
    assert.deepEqual(Object.keys(HOT).sort(), hot.sort());
    for (const [path, reload] of KEYS)
      assert.ok(reload === "hot" || reload === "restart", `${path} says how it is reloaded`);
  });

  for (const [path, check] of Object.entries(HOT)) {
    if ("seenIn" in check) continue;
    it(`${path} takes effect without a restart, and so does its reversal`, async (t) => {
      const running = await start(t, check.config);
      const initial = path
        .split(".")
        .reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], check.config);
      const told = async () => {
        const text = await check.observe(running);
        return text === "AUTH_UNAUTHORIZED" || text === "DEVICE_IDENTITY_REQUIRED" ? "NOT" : text;
      };
      assert.equal(await told(), check.before);
      const { reload, changed } = await running.edit(path, check.to);
      assert.deepEqual([reload, changed], ["hot", [path]]);
      assert.equal(await told(), check.after);
      await running.edit(path, initial);
      if (path !== "gateway.auth.rateLimit.exemptLoopback") assert.equal(await told(), check.before);
      await running.clock.advance(120_000);
      assert.deepEqual(running.restarts, []);
    });
  }
});

const RESTART: Record<string, [path: string, value: unknown]> = {
  "gateway.port": ["gateway.port", 20_001],
  "gateway.bind": ["gateway.bind", "auto"],
  "gateway.customBindHost": ["gateway.customBindHost", "127.0.0.1"],
  "gateway.tls.enabled": ["gateway.tls.enabled", true],
};

describe("every key that needs a restart", limited, () => {
  it("has a test", () => {
    const strong = [...KEYS].filter(([, reload]) => reload === "restart").map(([path]) => path);
    assert.deepEqual(Object.keys(RESTART).sort(), strong.sort());
  });

  for (const [name, [path, value]] of Object.entries(RESTART)) {
    it(`${name} schedules one in two seconds, with the reason`, async (t) => {
      const running = await start(t, auth({}));
      const { reload } = await running.edit(path, value);
      assert.equal(reload, "restart");
      await running.clock.advance(1_999);
      assert.deepEqual(running.restarts, []);
      await running.clock.advance(1);
      assert.deepEqual(running.restarts, [`configuration: ${path}`]);
      assert.equal(await outcome(running, right), "ok", "what runs goes on until then");
    });
  }
});
