/** Every method of the full bundle with params that are documented, for the tests that are generated from them. */
import { join } from "node:path";
import { agents, chat, config, health, type Method, models, plugins, sessions, webhooks } from "@svc/sdk";
import type { HookRuns } from "./hook-runs.ts";

/** Every method of the full bundle, by name. */
export const methods: Readonly<Record<string, Method>> = Object.fromEntries(
  [agents, chat, config, health, models, plugins, sessions, webhooks]
    .flatMap((contract) => Object.values<Method>(contract))
    .map((method) => [method.name, method]),
);

let serial = 0;
/** Another one at each call. */
export const key = () => `conformance-${++serial}`;

/** What params may depend on. */
export interface Scene extends HookRuns {
  readonly stateDir: string;
  /** Hash of the configuration file as it is now. */
  readonly hash: string;
}

type Sample = (scene: Scene) => unknown;

/** Params that are accepted, by method, in an order in which they work; more than one where the documentation shows several. */
export const good: Readonly<Record<string, readonly Sample[]>> = {
  agent: [
    () => ({ message: "echo hi", idempotencyKey: key() }),
    () => ({
      message: "echo hi",
      sessionKey: "agent:main:side",
      agentId: "main",
      timeout: 5,
      label: key(),
      idempotencyKey: key(),
    }),
  ],
  "agent.wait": [() => ({ runId: "nobody", timeoutMs: 1 })],
  "agent.identity.get": [() => ({}), () => ({ sessionKey: "main" }), () => ({ agentId: "main" })],
  "agents.list": [() => ({}), () => undefined],
  "agents.create": [({ stateDir }) => ({ name: "Second", workspace: join(stateDir, "workspace-second"), emoji: "*" })],
  "agents.update": [() => ({ agentId: "second", name: "The second" })],
  "agents.files.list": [() => ({ agentId: "main" })],
  "agents.files.get": [() => ({ agentId: "main", name: "AGENTS.md" })],
  "agents.files.set": [() => ({ agentId: "main", name: "USER.md", content: "Somebody" })],
  "agents.delete": [() => ({ agentId: "second" })],
  "chat.history": [() => ({ sessionKey: "main" }), () => ({ sessionKey: "main", limit: 1000 })],
  "chat.send": [
    () => ({ sessionKey: "main", message: "echo hi", idempotencyKey: key() }),
    () => ({ sessionKey: "main", message: "/stop", idempotencyKey: key(), deliver: false, timeoutMs: 0 }),
  ],
  "chat.abort": [() => ({ sessionKey: "main" }), () => ({ sessionKey: "main", runId: "nobody" })],
  "chat.inject": [() => ({ sessionKey: "main", message: "by hand", label: "note" })],
  "config.get": [() => ({})],
  "config.set": [({ hash }) => ({ raw: "{ logging: { level: 'warn' } }", baseHash: hash })],
  "config.patch": [({ hash }) => ({ raw: "{ logging: { level: 'error' } }", baseHash: hash, note: "quieter" })],
  "config.apply": [({ hash }) => ({ raw: "{}", baseHash: hash, restartDelayMs: 60_000 })],
  "config.schema": [() => ({})],
  health: [() => undefined, () => ({ probe: true })],
  status: [() => undefined, () => ({})],
  "system-presence": [() => undefined],
  "models.list": [() => undefined, () => ({})],
  "models.status": [() => undefined],
  "models.test": [() => ({})],
  "plugins.list": [() => undefined],
  "plugins.reload": [() => ({ id: "health" })],
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
    }),
  ],
  "sessions.preview": [() => ({ keys: ["main", "no-such"], limit: 3, maxChars: 20 })],
  "sessions.resolve": [() => ({ key: "main" })],
  "sessions.patch": [
    () => ({ key: "main", label: key(), thinkingLevel: "low" }),
    () => ({ key: "main", thinkingLevel: null }),
  ],
  "sessions.compact": [() => ({ key: "main" }), () => ({ key: "main", maxLines: 1 })],
  "sessions.usage": [
    () => ({}),
    () => ({
      key: "main",
      startDate: "2026-01-01",
      endDate: "2026-01-31",
      mode: "utc",
      limit: 3,
      includeContextWeight: true,
    }),
  ],
  "sessions.usage.timeseries": [() => ({ key: "main" })],
  "sessions.usage.logs": [() => ({ key: "main", limit: 5 })],
  "sessions.reset": [() => ({ key: "main" }), () => ({ key: "fresh", reason: "new" })],
  "sessions.delete": [
    () => ({ key: "no-such" }),
    () => ({ key: "fresh", deleteTranscript: false, emitLifecycleHooks: false }),
  ],
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
};
