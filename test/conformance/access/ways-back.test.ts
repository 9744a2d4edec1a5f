/**
 * From every state of the devices, a user on the gateway's machine gets admin access with `svc`, and every refusal on the way
 * names the command to run. SVC_FAULT_SEED repeats a run, SVC_WALKS sets the number of walks (default 12).
 */
import assert from "node:assert/strict";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { keepDevice, keepDeviceToken } from "@svc/sdk/device";
import { createFakeClock, type HostedGateway } from "@svc/sdk/testing";
import * as fc from "fast-check";
import { directoryOf } from "../../host/kernel/reload-scene.ts";
import { connectTo } from "../../../host/cli/connect.ts";
import { resolveTarget } from "../../../host/cli/target.ts";
import { type Attempt, createDevice, knock, READ, SECRET } from "../../plugins/devices/scene.ts";
import { startHost } from "../../host/net/host-scene.ts";
import { assertExplained, probePlugin } from "./scene.ts";

const WALKS = Number(process.env["SVC_WALKS"] ?? 12);
const SEED = Number(process.env["SVC_FAULT_SEED"] ?? 20_260_302);

/** Authentication settings of the gateway. */
const MODES: readonly { readonly name: string; readonly gateway: object; readonly overrides?: object }[] = [
  { name: "token", gateway: { auth: { token: SECRET } } },
  { name: "a token it made", gateway: {} },
  { name: "password", gateway: { auth: { mode: "password", password: SECRET } } },
  { name: "a password of its start", gateway: {}, overrides: { mode: "password", password: "nobody knows" } },
  { name: "none", gateway: { auth: { mode: "none" } } },
  {
    name: "trusted-proxy",
    gateway: {
      auth: { mode: "trusted-proxy", trustedProxy: { userHeader: "x-user", secret: "proxy-secret-of-this-test" } },
      trustedProxies: ["127.0.0.2"],
      bind: "lan",
    },
  },
];

const STEPS = [
  "knock near",
  "knock far",
  "knock as a node",
  "come by the token",
  "come as another platform",
  "ask for more from afar",
  "approve",
  "reject",
  "revoke",
  "rotate",
  "remove",
  "time passes",
  "restart",
  "another mode",
  "the key of the tokens is lost",
  "the kept token of the gateway is lost",
  "this machine joins for reading",
  "this machine joins for all",
  "the token of this machine ends",
  "the device of this machine is lost",
] as const;
type Step = (typeof STEPS)[number];

class Walk {
  readonly #t: TestContext;
  readonly #stateDir: string;
  readonly #clock = createFakeClock();
  readonly #device = createDevice();
  #gateway!: HostedGateway;
  #mode = 0;
  #port = 0;
  #token: string | undefined;
  readonly trace: string[] = [];

  constructor(t: TestContext, stateDir: string) {
    this.#t = t;
    this.#stateDir = stateDir;
  }

  async start(): Promise<void> {
    const { gateway, overrides } = MODES[this.#mode] ?? assert.fail();
    const port = this.#port === 0 ? {} : { port: this.#port };
    await writeFile(join(this.#stateDir, "svc.json"), JSON.stringify({ gateway: { ...gateway, ...port } }));
    this.#gateway = await startHost(this.#t, {
      stateDir: this.#stateDir,
      plugins: ["storage-sqlite", "devices", "health", probePlugin],
      clock: this.#clock,
      port: this.#port,
      ...(overrides ? { auth: overrides } : {}),
    });
    this.#port = this.#gateway.port;
  }

  stop = () => this.#gateway.stop();

  /** As `svc` does it on this machine. */
  async #admin() {
    const target = await resolveTarget({}, { SVC_STATE_DIR: this.#stateDir });
    assert.equal(new URL(target.url).port, String(this.#port), "the right gateway");
    return connectTo(target);
  }

  /** @returns the response, `undefined` for a refusal */
  async #asAdmin(method: string, params: object = {}): Promise<unknown> {
    const client = await this.#admin();
    try {
      return await client.request(method, params);
    } catch {
      return undefined; // e.g. the device does not exist now
    } finally {
      await client.close();
    }
  }

  async check(): Promise<void> {
    const client = await this.#admin().catch((error: Error) => assert.fail(`svc was refused: ${error.message}`));
    await client.request("probe.admin", {}).catch((error: Error) => assert.fail(`svc is no admin: ${error.message}`));
    await client.close();
  }

  async #knock(attempt: Attempt): Promise<void> {
    const { token, password } = this.#gateway.auth;
    const secret = token ? { token } : password ? { password } : undefined;
    const auth = attempt.auth ?? secret;
    const outcome = await knock(this.#gateway.url, {
      device: this.#device,
      scopes: [READ],
      ...(auth ? { auth } : {}),
      ...attempt,
    });
    if (outcome.ok) this.#token = outcome.auth?.deviceToken ?? this.#token;
    else assertExplained(outcome, this.trace.join(" > "));
    outcome.socket.ws.terminate();
  }

  async #pending(): Promise<{ requestId: string }[]> {
    return ((await this.#asAdmin("device.pair.list")) as { pending: { requestId: string }[] }).pending;
  }

  async #again(change: () => Promise<void> = async () => undefined): Promise<void> {
    await this.stop();
    await change();
    await this.start();
  }

  #lose = (...path: string[]) => rm(join(this.#stateDir, ...path), { recursive: true, force: true });

  /** This machine becomes a device of its own gateway, as by `svc pairing join`. */
  async #join(scopes: readonly string[]): Promise<void> {
    const identity = join(this.#stateDir, "identity");
    const device = keepDevice(identity);
    const client = { platform: process.platform };
    const { token, password } = this.#gateway.auth;
    const auth = token ? { token } : password ? { password } : undefined;
    const outcome = await knock(this.#gateway.url, { device, scopes, client, ...(auth ? { auth } : {}) });
    outcome.socket.ws.terminate();
    if (!outcome.auth) return;
    const kept = { token: outcome.auth.deviceToken, scopes: outcome.auth.scopes, updatedAtMs: Date.now() };
    keepDeviceToken(identity, this.#gateway.url, "operator", kept);
  }

  async take(step: Step): Promise<void> {
    this.trace.push(step);
    const role = { deviceId: this.#device.id, role: "operator" };
    const token = this.#token ?? "never had one";
    switch (step) {
      case "knock near":
        return this.#knock({});
      case "knock far":
        return this.#knock({ far: true });
      case "knock as a node":
        return this.#knock({ role: "node", scopes: [] });
      case "come by the token":
        return this.#knock({ auth: { token, deviceToken: token } });
      case "come as another platform":
        return this.#knock({ client: { platform: "ios" } });
      case "ask for more from afar":
        return this.#knock({ far: true, scopes: ["operator.admin"] });
      case "approve":
      case "reject":
        for (const { requestId } of await this.#pending()) await this.#asAdmin(`device.pair.${step}`, { requestId });
        return;
      case "revoke":
        await this.#asAdmin("device.token.revoke", role);
        return;
      case "rotate":
        await this.#asAdmin("device.token.rotate", role);
        return;
      case "remove":
        await this.#asAdmin("device.pair.remove", { deviceId: this.#device.id });
        return;
      case "time passes":
        await this.#clock.advance(301_000);
        assert.deepEqual(await this.#pending(), []);
        return;
      case "restart":
        return this.#again();
      case "another mode":
        this.#mode = (this.#mode + 1) % MODES.length;
        this.trace.push(`(${MODES[this.#mode]?.name})`);
        return this.#again();
      case "the key of the tokens is lost":
        return this.#again(() => this.#lose("plugins", "devices", "token-key"));
      case "the kept token of the gateway is lost":
        return this.#lose("credentials", "gateway-token");
      case "this machine joins for reading":
        return this.#join([READ]);
      case "this machine joins for all":
        return this.#join(["operator.admin"]);
      case "the token of this machine ends": {
        const { id } = keepDevice(join(this.#stateDir, "identity"));
        await this.#asAdmin("device.token.revoke", { ...role, deviceId: id });
        return;
      }
      case "the device of this machine is lost":
        return this.#lose("identity", "device.json");
    }
  }
}

async function walk(t: TestContext, steps: readonly Step[]): Promise<void> {
  const one = new Walk(t, await directoryOf(t, "svc-walk-"));
  await one.start();
  try {
    for (const step of steps) {
      await one.take(step);
      await one.check().catch((error: Error) => assert.fail(`${one.trace.join(" > ")}: ${error.message}`));
    }
  } finally {
    await one.stop();
  }
}

describe("a user on the gateway's machine", { timeout: 900_000 }, () => {
  for (const [index, { name }] of MODES.entries()) {
    it(`has admin access by svc in mode ${name}, regardless of the scopes this machine joined with`, async (t) => {
      const there: Step[] = Array.from({ length: index }, () => "another mode");
      await walk(t, [
        ...there,
        "this machine joins for reading",
        "the kept token of the gateway is lost",
        "restart",
        "the token of this machine ends",
        "this machine joins for all",
        "the device of this machine is lost",
      ]);
    });
  }

  it(`has admin access by svc after each of ${WALKS} random walks`, async (t) => {
    const steps = fc.array(fc.constantFrom(...STEPS), { minLength: 12, maxLength: 25, size: "max" });
    await fc.assert(
      fc.asyncProperty(steps, (all) => walk(t, all)),
      { numRuns: WALKS, seed: SEED },
    );
  });
});
