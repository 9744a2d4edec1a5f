/** Runs on the real storage and the real session store, with a scripted model. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type agentEvent,
  type Contribution,
  type Denial,
  type ExtensionView,
  type HookEmitter,
  type HookSpec,
  type PayloadOf,
  withDefaults,
} from "@svc/sdk";
import { textOf } from "@svc/sdk/services";
import type {
  Models,
  ResolvedModel,
  RunEvent,
  RunOutcome,
  RunRequest,
  Sessions,
  Storage,
  Tool,
} from "@svc/sdk/services";
import { AgentsConfig } from "../../../plugins/agents/config.ts";
import { type ConfiguredAgents, createDirectory } from "../../../plugins/agents/directory.ts";
import { RunStore } from "../../../plugins/agents/run-store.ts";
import { Runs } from "../../../plugins/agents/runs.ts";
import { ToolBox } from "../../../plugins/agents/tools.ts";
import { createLifecycle } from "../../../plugins/sessions/lifecycle.ts";
import { createSessions } from "../../../plugins/sessions/service.ts";
import { SessionStore } from "../../../plugins/sessions/store.ts";
import { openStorage } from "../../../plugins/storage-sqlite/storage.ts";
import { createFakeClock, type FakeClock } from "./fake-clock.ts";
import { type Answer, says } from "./script.ts";
import { silentLog } from "./silent-log.ts";

/** A hook with one handler, or none. */
export function hook<H extends HookSpec>(handle?: (input: never) => unknown): HookEmitter<H> {
  const emit = async (input: never) => handle?.(input);
  return { isUsed: () => handle !== undefined, emit: emit as unknown as HookEmitter<H>["emit"] };
}

/** A waterfall with one handler, or none. */
export function waterfall<H extends HookSpec>(change?: (input: never) => unknown): HookEmitter<H> {
  return hook<H>((input: never) => change?.(input) ?? input);
}

export function toolView(tools: Record<string, Tool> = {}): ExtensionView<Tool> {
  const list: Contribution<Tool>[] = Object.entries(tools).map(([id, value]) => ({ id, plugin: "test", value }));
  return {
    list: () => list,
    get: (id) => list.find((contribution) => contribution.id === id),
    call: (contribution, work) => work(contribution.value),
  };
}

export const model: ResolvedModel = { provider: "fake", id: "one", name: "One", api: "scripted" };

export interface FixtureOptions {
  readonly config?: object;
  readonly answer?: Answer;
  readonly tools?: Record<string, Tool>;
  readonly runBefore?: (request: RunRequest) => Denial | undefined;
  readonly models?: Partial<Models>;
  readonly storage?: (real: Storage) => Storage;
}

export interface Gateway {
  readonly runs: Runs;
  readonly directory: ConfiguredAgents;
  readonly sessions: Sessions;
  readonly storage: Storage;
  readonly clock: FakeClock;
  /** What hooks saw. */
  readonly events: RunEvent[];
  readonly finished: RunOutcome[];
  /** What clients saw. */
  readonly broadcasts: { readonly payload: PayloadOf<typeof agentEvent>; readonly connections?: readonly string[] }[];
}

export interface Fixture {
  readonly storage: Storage;
  readonly clock: FakeClock;
  /** Starts a gateway on the storage. The one before is dropped as a crash would: nothing is stopped. */
  start(options?: FixtureOptions): Promise<Gateway>;
}

export async function openFixture(t: TestContext): Promise<Fixture> {
  const dir = await mkdtemp(join(tmpdir(), "svc-agents-"));
  const { storage, close } = await openStorage({ file: join(dir, "svc.db") });
  t.after(async () => {
    await close();
    await rm(dir, { recursive: true, force: true });
  });
  const clock = createFakeClock();
  return { storage, clock, start: (options = {}) => startGateway(storage, clock, options) };
}

async function startGateway(real: Storage, clock: FakeClock, options: FixtureOptions): Promise<Gateway> {
  const storage = options.storage?.(real) ?? real;
  const config = withDefaults(AgentsConfig, options.config ?? {});
  const directory = createDirectory(config);
  const parts: { runs?: Runs } = {};
  const sessions = await openSessions(storage, clock, directory, async ({ key }) => {
    const quiet = await parts.runs?.abortSession(key, "reset", 15_000);
    return quiet === false ? { allow: false, reason: `session ${key} is still active` } : undefined;
  });
  const answer = options.answer ?? says("fine");
  const models: Models = {
    list: () => [],
    resolve: () => model,
    stream: (request, signal) => answer(request, signal),
    ...options.models,
  };
  const gateway = { events: [], finished: [], broadcasts: [] } as Pick<Gateway, "events" | "finished" | "broadcasts">;
  const tools = new ToolBox({
    tools: toolView(options.tools),
    hooks: { params: waterfall(), before: hook(), result: waterfall() },
    log: silentLog,
  });
  const runs = new Runs(
    {
      services: { storage, sessions, models },
      store: new RunStore({ storage }),
      agents: directory,
      tools,
      promptHook: waterfall(),
      defaults: config.defaults,
      clock,
      log: silentLog,
    },
    { before: hook(options.runBefore), finished: hook((outcome: RunOutcome) => void gateway.finished.push(outcome)) },
    {
      trace: (event) => void gateway.events.push(event),
      broadcast: (payload, audience) =>
        void gateway.broadcasts.push({
          payload,
          ...(audience?.connections ? { connections: audience.connections } : {}),
        }),
      now: () => clock.now(),
    },
  );
  parts.runs = runs;
  await runs.recover();
  runs.open();
  return { ...gateway, runs, directory, sessions, storage, clock };
}

async function openSessions(
  storage: Storage,
  clock: FakeClock,
  directory: ConfiguredAgents,
  replacing: (input: { key: string }) => Promise<Denial | undefined>,
): Promise<Sessions> {
  const store = new SessionStore({ storage: () => storage, clock });
  await store.open("main");
  const lifecycle = createLifecycle({
    store,
    clock,
    hooks: { replacing: hook(replacing), started: hook(), ended: hook() },
    modelDefaults: () => ({ modelProvider: null, model: null, contextTokens: null }),
    mainSessionKey: () => "agent:main:main",
  });
  return createSessions(store, lifecycle, () => ({
    defaultAgentId: directory.defaultId,
    mainKey: "main",
    scope: "per-sender",
  }));
}

/** A gateway on a storage of its own. */
export async function start(t: TestContext, options: FixtureOptions = {}): Promise<Gateway> {
  const fixture = await openFixture(t);
  return fixture.start(options);
}

/** The transcript as `role: text`. */
export const outline = async ({ sessions }: Pick<Gateway, "sessions">, key = "agent:main:main") =>
  (await sessions.transcript(key, 100)).map(({ message }) => `${message.role}: ${textOf(message)}`);

/** Waits in real time until `check` holds. */
export async function until(check: () => boolean | Promise<boolean>, what = "the condition"): Promise<void> {
  for (let attempt = 0; attempt < 400; attempt += 1) {
    if (await check()) return;
    await sleep(5);
  }
  throw new Error(`${what} did not come true within 2 s`);
}

/** The outcome of a run, waited for in real time. */
export async function ended({ finished }: Pick<Gateway, "finished">, runId: string): Promise<RunOutcome> {
  const find = () => finished.find((outcome) => outcome.runId === runId);
  await until(() => find() !== undefined, `the end of run ${runId}`);
  return find() ?? Promise.reject(new Error(`run ${runId} has no outcome`));
}
