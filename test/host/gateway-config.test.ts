/** Keys of the host's configuration whose effect on a running gateway conformance/reload-kinds.test.ts does not see. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { definePlugin } from "@svc/sdk";
import { ConfigStore } from "@svc/sdk/config";
import { createFakeClock, type FakeClock } from "@svc/sdk/testing";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { connectFrame, openRaw } from "../raw-socket.ts";
import { directoryOf } from "./kernel/reload-scene.ts";

const limited = { timeout: 120_000 };

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

const connects =
  (...given: [params: object, headers?: Record<string, string>]) =>
  (running: Running) =>
    outcome(running, ...given);
const auth = (changes: object) => ({ gateway: { auth: { token: "right", ...changes } } });
const wrong = { auth: { token: "wrong" } };
const panel = {
  auth: { token: "right" },
  client: { id: "svc-control-ui", version: "1", platform: "web", mode: "webchat" },
};
let addresses = 0;
/** Another client each time. */
const elsewhere = () => ({ "x-forwarded-for": `203.0.113.${++addresses}` });
/** The refusal of the last of several wrong guesses from one address. */
const guessing =
  (times: number, pauseMs = 0) =>
  async (running: Running) => {
    const from = elsewhere();
    let last = "";
    for (let turn = 0; turn < times; turn++) {
      last = await outcome(running, wrong, from);
      if (turn < times - 1) await running.clock.advance(pauseMs);
    }
    return last;
  };
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
const LOCAL = { origin: "http://localhost" };

type Row = readonly [
  config: object,
  to: unknown,
  observe: (running: Running) => Promise<string>,
  before: string,
  after: string,
];

const HOT: Record<string, Row> = {
  "gateway.auth.rateLimit.maxAttempts": [limits({ maxAttempts: 100 }), 1, guessing(2), MISMATCH, LOCKED],
  "gateway.auth.rateLimit.windowMs": [
    limits({ maxAttempts: 2, windowMs: 60_000 }),
    5,
    guessing(3, 10),
    LOCKED,
    MISMATCH,
  ],
  "gateway.auth.rateLimit.lockoutMs": [
    limits({ maxAttempts: 1, lockoutMs: 60_000 }),
    5,
    guessing(2, 10),
    LOCKED,
    MISMATCH,
  ],
  "gateway.auth.rateLimit.exemptLoopback": [
    auth({ rateLimit: { maxAttempts: 1 } }),
    false,
    async (running) => (await outcome(running, wrong), outcome(running, wrong)),
    MISMATCH,
    LOCKED,
  ],
  "gateway.auth.trustedProxy.userHeader": [
    proxied({}),
    "x-login",
    connects({}, { ...fromProxy, "x-login": "ada" }),
    "NOT",
    "ok",
  ],
  "gateway.auth.trustedProxy.requiredHeaders": [proxied({}), ["x-proof"], connects({}, ada), "ok", "NOT"],
  "gateway.auth.trustedProxy.allowUsers": [proxied({}), ["bob"], connects({}, ada), "ok", "NOT"],
  "gateway.auth.trustedProxy.secret": [proxied({}), "another-secret-of-this-test", connects({}, ada), "ok", "NOT"],
  "gateway.controlUi.allowInsecureAuth": [
    auth({}),
    true,
    connects(panel, LOCAL),
    "CONTROL_UI_DEVICE_IDENTITY_REQUIRED",
    "ok",
  ],
  "gateway.controlUi.dangerouslyDisableDeviceAuth": [
    auth({}),
    true,
    connects(panel, LOCAL),
    "CONTROL_UI_DEVICE_IDENTITY_REQUIRED",
    "ok",
  ],
  "gateway.http.securityHeaders.strictTransportSecurity": [
    auth({}),
    "max-age=600",
    async ({ url }) => {
      const { headers } = await fetch(`${url.replace("ws", "http")}/healthz`);
      return String(headers.get("strict-transport-security"));
    },
    "null",
    "max-age=600",
  ],
};

describe("a hot key", limited, () => {
  for (const [path, [config, to, observe, before, after]] of Object.entries(HOT)) {
    it(`${path} takes effect without a restart, and so does its reversal`, async (t) => {
      const running = await start(t, config);
      const initial = path
        .split(".")
        .reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], config);
      const told = async () => {
        const text = await observe(running);
        return text === "AUTH_UNAUTHORIZED" || text === "DEVICE_IDENTITY_REQUIRED" ? "NOT" : text;
      };
      assert.equal(await told(), before);
      const { reload, changed } = await running.edit(path, to);
      assert.deepEqual([reload, changed], ["hot", [path]]);
      assert.equal(await told(), after);
      await running.edit(path, initial);
      if (path !== "gateway.auth.rateLimit.exemptLoopback") assert.equal(await told(), before);
      await running.clock.advance(120_000);
      assert.deepEqual(running.restarts, []);
    });
  }
});
