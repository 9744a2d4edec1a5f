/** A gateway with the plugins that make something of webhooks, a model server, and a test in the place of the engine. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { definePlugin, type Plugin, type Principal, type ServicesOf } from "@svc/sdk";
import { AgentRuns } from "@svc/sdk/agents";
import { SystemEvents } from "@svc/sdk/heartbeat";
import { textOf } from "@svc/sdk/models";
import { Sessions } from "@svc/sdk/sessions";
import { Storage } from "@svc/sdk/storage";
import { type FakeModelReply, type FakeModelRequest, startFakeModelServer, testGateway } from "@svc/sdk/testing";
import type {
  WebhookAction,
  WebhookActionContext,
  WebhookFields,
  WebhookJob,
  WebhookPolicy,
  WebhookResult,
} from "@svc/sdk/webhooks";
import webhookAgent from "../../plugins/webhook-agent/plugin.ts";
import webhookWake from "../../plugins/webhook-wake/plugin.ts";

export { until } from "../until.ts";

export const MAIN = "agent:main:main";

/** Allows everything; each case changes one thing. */
export const openPolicy: WebhookPolicy = {
  checkAgentId: () => undefined,
  sessionKey: (asked) => asked ?? "hook:1234",
};

export const hookPrincipal: Principal = {
  id: "webhook:test",
  role: "operator",
  scopes: ["operator.read", "operator.write"],
  provenance: "webhook",
  epoch: 0,
};

const requires = { events: SystemEvents, sessions: Sessions, runs: AgentRuns, storage: Storage };
const BUNDLED = ["storage-sqlite", "sessions", "models", "provider-openai", "tools", "agents", "heartbeat"];

export type Gateway = Awaited<ReturnType<Scene["start"]>>;
export interface SceneOptions {
  readonly replies?: readonly FakeModelReply[] | ((request: FakeModelRequest, index: number) => FakeModelReply);
  /** Further plugins of each gateway. */
  readonly plugins?: readonly Plugin[];
  /** Section `agents.defaults`. */
  readonly defaults?: object;
  /** `agents.list` */
  readonly agents?: readonly object[];
}
export type Scene = Awaited<ReturnType<typeof openScene>>;

/** What keeps state between two gateways; `start` starts one. */
export async function openScene(t: TestContext, options: SceneOptions = {}) {
  const server = await startFakeModelServer({ replies: options.replies ?? [] });
  const stateDir = await mkdtemp(join(tmpdir(), "svc-hooks-"));
  t.after(async () => {
    await server.close();
    await rm(stateDir, { recursive: true, force: true });
  });
  const config = {
    models: { providers: { fake: { baseUrl: server.url, models: [{ id: "gpt-x" }, { id: "gpt-y" }] } } },
    agents: {
      defaults: { model: "fake/gpt-x", skipBootstrap: true, ...options.defaults },
      ...(options.agents ? { list: options.agents } : {}),
    },
  };
  return { server, stateDir, start: () => startGateway(t, stateDir, config, options.plugins ?? []) };
}

/** The plugin, whose actions the test gets to see as they are contributed: the host alone may look them up. */
function overheard(plugin: Plugin, actions: Map<string, WebhookAction>): Plugin {
  return definePlugin({
    ...plugin,
    setup(gateway) {
      const extend = (point: { readonly id: string }, id: string, value: WebhookAction) => {
        actions.set(id, value);
        gateway.extend(point as Parameters<typeof gateway.extend>[0], id, value); // these plugins contribute nothing else
      };
      return plugin.setup(Object.create(gateway, { extend: { value: extend } }) as typeof gateway);
    },
  });
}

async function startGateway(t: TestContext, stateDir: string, config: object, more: readonly Plugin[]) {
  const actions = new Map<string, WebhookAction>();
  const declared: { services?: ServicesOf<typeof requires>; signal?: AbortSignal } = {};
  const engine = definePlugin({
    id: "engine",
    api: "^1.0.0",
    requires,
    setup(gateway) {
      declared.services = gateway.services;
      declared.signal = gateway.signal;
    },
  });
  const { gateway } = await testGateway(t, {
    stateDir,
    config: config as Record<string, unknown>,
    plugins: [...BUNDLED, overheard(webhookWake, actions), overheard(webhookAgent, actions), engine, ...more],
  });
  const { services, signal } = declared;
  assert.ok(services && signal && actions.size === 2, JSON.stringify(gateway.plugins()));
  const action = (id: string) => actions.get(id) ?? assert.fail(`no action ${id}`);
  const prepare = async (id: string, fields: WebhookFields, context: Partial<WebhookActionContext> = {}) =>
    action(id).prepare(fields, { source: "request", mapping: id, policy: openPolicy, ...context });

  /** What the queue hands over; params as they come out of the storage. */
  async function job(id: string, fields: WebhookFields, changes: Partial<WebhookJob> = {}): Promise<WebhookJob> {
    const { params } = await prepare(id, fields);
    return {
      runId: "r1",
      attempt: 1,
      mapping: id,
      params: JSON.parse(JSON.stringify(params)) as WebhookFields,
      wrapped: true,
      acceptedAt: Date.UTC(2026, 0, 3, 12),
      principal: hookPrincipal,
      ...changes,
    };
  }

  return {
    gateway,
    ...services,
    signal,
    action,
    prepare,
    job,
    run: (asked: WebhookJob, until = signal): Promise<WebhookResult | void> =>
      action("agent").run?.(asked, until) ?? assert.fail("no run"),
    /** As the engine does it: effect and record in one transaction. */
    async wake(fields: WebhookFields, runId = "w1"): Promise<void> {
      const asked = await job("wake", fields, { runId, mapping: "wake" });
      const wake = action("wake");
      await services.storage.transaction(wake.commit?.(asked) ?? assert.fail("no commit"));
      wake.committed?.(asked);
    },
    /** A turn of a person; resolves with the prompt its model saw. */
    async turn(runId: string, sessionKey = MAIN): Promise<string> {
      await services.runs.start({ runId, sessionKey, message: "hello", source: "test", principal: hookPrincipal });
      const outcome = await services.runs.wait(runId, 20_000);
      return outcome?.status ?? assert.fail(`run ${runId} does not end`);
    },
    /** Lines of a transcript, as `role: text`. */
    async outline(sessionKey: string): Promise<string[]> {
      const items = await services.sessions.transcript(sessionKey, 100);
      return items.map(({ message }) => `${message.role}: ${textOf(message)}`);
    },
  };
}

/** System prompt of a question. */
export function systemOf({ body }: FakeModelRequest): string {
  const content = body.messages?.find(({ role }) => role === "system")?.content;
  return typeof content === "string" ? content : "";
}

/** Its last message of a person. */
export function askedOf({ body }: FakeModelRequest): string {
  const content = body.messages?.findLast(({ role }) => role === "user")?.content;
  return typeof content === "string" ? content : JSON.stringify(content);
}
