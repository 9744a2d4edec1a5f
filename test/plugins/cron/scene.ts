/** A gateway with jobs and a fake clock, and a model server. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { definePlugin, type Plugin } from "@svc/sdk";
import { cron, cronEvent, type CronEventPayload, type CronJob, type CronRunEntry } from "@svc/sdk/cron";
import { Approver } from "@svc/sdk/gateway";
import { SystemEvents } from "@svc/sdk/heartbeat";
import { Sessions } from "@svc/sdk/sessions";
import { Storage } from "@svc/sdk/storage";
import {
  createFakeClock,
  type FakeClock,
  type FakeModelReply,
  type FakeModelRequest,
  startFakeModelServer,
  testGateway,
} from "@svc/sdk/testing";
import { Tools, type ToolScene } from "@svc/sdk/tools";
import { OutboundFetch, type OutboundRequest } from "@svc/sdk/web";
import { until as wait } from "../webhook-scene.ts";

export { pigeonPost } from "../webhook-agent/surroundings.ts";
export const MAIN = "agent:main:main";
/** A Thursday, 12:00 UTC. */
export const NOON = Date.UTC(2026, 0, 1, 12);
const BUNDLED = ["storage-sqlite", "sessions", "models", "provider-openai", "tools", "agents", "heartbeat"];
const requires = { events: SystemEvents, sessions: Sessions, storage: Storage };

export interface SceneOptions {
  readonly replies?: readonly FakeModelReply[] | ((request: FakeModelRequest, index: number) => FakeModelReply);
  /** Section `cron`. */
  readonly cron?: object;
  /** Added to the scene's own `agents.defaults`. */
  readonly defaults?: object;
  readonly plugins?: readonly (Plugin | string)[];
}
export type Scene = Awaited<ReturnType<typeof openScene>>;
export type Gateway = Awaited<ReturnType<Scene["start"]>>;

export async function openScene(t: TestContext, options: SceneOptions = {}) {
  const server = await startFakeModelServer({ replies: options.replies ?? [] });
  const stateDir = await mkdtemp(join(tmpdir(), "svc-cron-"));
  t.after(async () => {
    await server.close();
    await rm(stateDir, { recursive: true, force: true, maxRetries: 10 });
  });
  const config = {
    models: {
      idleTimeoutSeconds: 0,
      providers: { fake: { baseUrl: server.url, models: [{ id: "gpt-x" }, { id: "gpt-y" }] } },
    },
    agents: { defaults: { model: "fake/gpt-x", skipBootstrap: true, ...options.defaults } },
    ...(options.cron ? { cron: options.cron } : {}),
  };
  return {
    server,
    stateDir,
    /** @param clock default: one that starts at noon */
    start: (clock: FakeClock = createFakeClock(NOON)) =>
      startGateway(t, { stateDir, config, clock, plugins: options.plugins ?? [] }),
  };
}

interface Started {
  readonly stateDir: string;
  readonly config: Record<string, unknown>;
  readonly clock: FakeClock;
  readonly plugins: readonly (Plugin | string)[];
}

async function startGateway(t: TestContext, { stateDir, config, clock, plugins }: Started) {
  const declared: { services?: { events: SystemEvents; sessions: Sessions; storage: Storage } } = {};
  const seen = definePlugin({
    id: "seen",
    api: "^1.0.0",
    requires,
    setup: (gateway) => void (declared.services = gateway.services),
  });
  let halt = () => Promise.resolve();
  t.after(() => halt());
  const { gateway, client } = await testGateway(t, {
    stateDir,
    config,
    plugins: [...BUNDLED, "cron", seen, ...plugins],
    gateway: { clock },
  });
  /** Stops the gateway; pending timers fire meanwhile. */
  halt = async () => {
    const stopped = gateway.stop().then(() => true);
    const turn = async () => {
      await clock.advance(100);
      await sleep(5);
      return false;
    };
    while (!(await Promise.race([stopped, turn()])));
  };
  const services = declared.services ?? assert.fail(JSON.stringify(gateway.plugins()));
  const events: CronEventPayload[] = [];
  client.on(cronEvent, (payload) => events.push(payload));
  /** Moves the clock on a little meanwhile, for pauses between two attempts. */
  const until = (holds: () => boolean | Promise<boolean>, what: string) =>
    wait(async () => {
      await clock.advance(20);
      return holds();
    }, what);
  /** Moves the clock on by steps of at most a minute, and lets the effects of each happen. */
  const pass = async (ms: number) => {
    for (let left = ms; left > 0; left -= 60_000) {
      await clock.advance(Math.min(left, 60_000));
      for (let turn = 0; turn < 3; turn += 1) {
        await sleep(8);
        await clock.advance(0);
      }
    }
  };
  const runs = async (id?: string): Promise<CronRunEntry[]> => [
    ...(await client.call(cron.runs, { ...(id === undefined ? {} : { id }), limit: 200, sortDir: "asc" })).entries,
  ];
  return {
    gateway,
    client,
    clock,
    ...services,
    until,
    pass,
    halt: () => halt(),
    /** Events that clients received, in order. */
    events,
    add: (job: object): Promise<CronJob> => client.call(cron.add, job as Record<string, unknown>),
    async job(id: string): Promise<CronJob> {
      const { jobs } = await client.call(cron.list, { enabled: "all" });
      return jobs.find((job) => job.id === id) ?? assert.fail(`no job ${id}`);
    },
    /** Oldest first. */
    runs,
    /** As `<record> <status> <reason or error>`, oldest first. */
    records: async (id: string) =>
      (await runs(id)).map(({ record, status, reason, error }) =>
        [record, status, reason ?? error].filter(Boolean).join(" "),
      ),
    /** Resolves when this many runs of the job are settled. */
    settled: async (id: string, count: number) => {
      await until(async () => (await runs(id)).length >= count, `${count} records`);
      return runs(id);
    },
    /** Events of the main session. */
    waiting: () => services.events.waiting(MAIN),
    told: async () => (await services.events.waiting(MAIN)).map(({ text }) => text),
  };
}

/** Calls the tool in a conversation with this origin, with approval. */
export function agentWith(outside: ToolScene["outside"]) {
  const found: { tools?: Tools } = {};
  const plugin = definePlugin({
    id: "agent-and-people",
    api: "^1.0.0",
    requires: { tools: Tools },
    provides: [Approver],
    setup(gateway) {
      gateway.provide(Approver, { ask: async () => ({ id: "q", decision: "allow-once" as const }) });
      gateway.start(() => void (found.tools = gateway.services.tools));
    },
  });
  const principal = { id: "p", role: "operator", scopes: ["operator.admin"], provenance: "token", epoch: 0 } as const;
  const about = { agentId: "main", sessionKey: MAIN };
  const uses = async (args: Record<string, unknown>) => {
    const call = { name: "cron", toolCallId: "c", runId: "r", arguments: args, ...about };
    const scene: ToolScene = { surface: "run", principal, ...about, ...(outside && { outside }) };
    const made = await found.tools?.attempt(call, scene, new AbortController().signal);
    return made?.outcome === "done" ? made.result.details : assert.fail(JSON.stringify(made));
  };
  return { plugin, uses };
}

/** An isolated job every ten minutes. */
export const report = {
  name: "report",
  schedule: { kind: "every", everyMs: 600_000 },
  payload: { kind: "agentTurn", message: "report" },
  delivery: { mode: "none" },
};

/** Responds to outbound requests with these statuses in turn, then with 200. */
export function outside(...statuses: number[]) {
  const requests: OutboundRequest[] = [];
  const plugin = definePlugin({
    id: "outside",
    api: "^1.0.0",
    provides: [OutboundFetch],
    setup: (gateway) =>
      gateway.provide(OutboundFetch, {
        async fetch(request) {
          requests.push(request);
          const answer = {
            url: request.url,
            headers: {},
            contentType: "text/plain",
            charset: undefined,
            body: new Uint8Array(),
          };
          return { ...answer, status: statuses.shift() ?? 200 };
        },
      }),
  });
  return { plugin, requests };
}
