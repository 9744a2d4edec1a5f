/** The plugin `config` on a fake gateway, with a real state directory. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { GatewayError, type Handlers, type ParamsOf, type PluginGateway } from "@svc/sdk";
import type { chat } from "@svc/sdk/chat";
import type { config, ConfigChange, ConfigWritten } from "@svc/sdk/config";
import type { ScheduledRestart } from "@svc/sdk/gateway";
import configPlugin from "../../../plugins/config/plugin.ts";

export const written: ConfigWritten = {
  path: "/state/svc.json",
  hash: "11",
  config: { gateway: { port: 1 } },
  changed: ["gateway.port"],
  reload: "restart",
};

/** Responses of the environment; each test changes its part. */
export interface Surroundings {
  write?: (change: ConfigChange) => ConfigWritten;
  possible?: boolean;
  schedule?: (options: { reason: string; delayMs?: number }) => ScheduledRestart;
  /** Sessions that can be notified; others do not exist. `undefined`: the method does not exist. */
  sessions?: readonly string[];
  mainSession?: string;
  stateDir?: string;
}

export interface Scene {
  readonly handlers: Handlers<typeof config>;
  readonly stateDir: string;
  readonly sentinelPath: string;
  readonly changes: ConfigChange[];
  readonly scheduled: { reason: string; delayMs?: number }[];
  /** Notes that sessions received. */
  readonly told: ParamsOf<typeof chat.inject>[];
  /** Warnings and worse. */
  readonly logged: { fields: Record<string, unknown>; message: string }[];
  /** Emits the hook `hostReady`. */
  ready(): Promise<void>;
}

export async function scene(t: TestContext, surroundings: Surroundings = {}): Promise<Scene> {
  const stateDir = surroundings.stateDir ?? mkdtempSync(join(tmpdir(), "svc-config-"));
  if (surroundings.stateDir === undefined) t.after(() => rmSync(stateDir, { recursive: true, force: true }));
  const changes: ConfigChange[] = [];
  const scheduled: { reason: string; delayMs?: number }[] = [];
  const told: ParamsOf<typeof chat.inject>[] = [];
  const logged: Scene["logged"] = [];
  const log = (fields: object, message: string) =>
    void logged.push({ fields: fields as Record<string, unknown>, message });
  let handlers: Handlers<typeof config> | undefined;
  let ready: (() => Promise<void>) | undefined;

  const store = {
    async write(change: ConfigChange) {
      changes.push(change);
      return surroundings.write?.(change) ?? written;
    },
  };
  const restarts = {
    possible: surroundings.possible ?? true,
    schedule(options: { reason: string; delayMs?: number }): ScheduledRestart {
      scheduled.push(options);
      if (!restarts.possible) throw new GatewayError("UNAVAILABLE", "start it anew");
      const { delayMs = 2_000 } = options;
      return surroundings.schedule?.(options) ?? { delayMs, coalesced: false, cooldownMsApplied: 0 };
    },
  };
  const { mainSession } = surroundings;
  const sessions = mainSession === undefined ? undefined : { defaults: () => ({ mainSessionKey: mainSession }) };
  const gateway = {
    services: { store, restarts, info: { stateDir }, sessions: { get: () => sessions } },
    clock: { now: () => 0 },
    log: { debug() {}, info() {}, warn: log, error: log },
    hooks: { hostReady: { tap: (tap: () => Promise<void>) => (ready = tap) } },
    provide() {},
    extend: () => undefined, // the tool has its own test
    serve: (_contract: unknown, given: Handlers<typeof config>) => (handlers = given),
    async call(method: { name: string }, params: ParamsOf<typeof chat.inject>) {
      if (!surroundings.sessions) throw new GatewayError("INVALID_REQUEST", `unknown method: ${method.name}`);
      if (!surroundings.sessions.includes(params.sessionKey)) throw new GatewayError("NOT_FOUND", "no session");
      told.push(params);
      return { ok: true, messageId: "1" };
    },
  };
  await configPlugin.setup(gateway as unknown as PluginGateway<never, never>); // only the parts that config uses
  assert.ok(handlers && ready);
  const sentinelPath = join(stateDir, "restart-sentinel.json");
  return { handlers, stateDir, sentinelPath, changes, scheduled, told, logged, ready };
}

/** The call of a method by `token:1`. */
export function call(params: object): never {
  return { params, principal: { id: "token:1" } } as never; // only the parts that the handlers use
}
