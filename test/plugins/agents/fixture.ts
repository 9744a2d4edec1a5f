/** Runs on the real storage, with sessions beside them in it and a scripted model. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { createOwnership } from "@svc/kit/storage";
import { type Denial, type PayloadOf, type Principal, withDefaults } from "@svc/sdk";
import type { agentEvent, RunEvent, RunOutcome, RunRequest } from "@svc/sdk/agents";
import type { Delivery } from "@svc/sdk/channels";
import type { Approver } from "@svc/sdk/gateway";
import { type Models, type ResolvedModel, textOf } from "@svc/sdk/models";
import type { Sessions } from "@svc/sdk/sessions";
import type { Statement, Storage } from "@svc/sdk/storage";
import type { Tool } from "@svc/sdk/tools";
import { noPeers } from "../no-peers.ts";
import { AgentsConfig, QueueConfig } from "../../../plugins/agents/config.ts";
import { type ConfiguredAgents, createLiveAgents } from "../../../plugins/agents/directory/directory.ts";
import { RunStore } from "../../../plugins/agents/runs/store.ts";
import { Runs } from "../../../plugins/agents/runs/runs.ts";
import { createSessionTools } from "../../../plugins/agents/subagents/session-tools.ts";
import { createSubagentTools } from "../../../plugins/agents/subagents/tools.ts";
import type { FromOutside } from "../../../plugins/tools/authority.ts";
import { OutsideGate } from "../../../plugins/tools/outside-gate.ts";
import { ToolShelf } from "../../../plugins/tools/shelf.ts";
import { ToolBox, type ToolHooks } from "../../../plugins/tools/tool-box.ts";
import { openStorage } from "../../../plugins/storage-sqlite/storage.ts";
import { hook, extensionView, waterfall } from "../emitters.ts";
import { createFakeClock, type FakeClock } from "./fake-clock.ts";
import { openFakeSessions } from "./fake-sessions.ts";
import { type Answer, request, says } from "./script.ts";
import { until } from "../../until.ts";

export { until };

export const model: ResolvedModel = { provider: "fake", id: "one", name: "One", api: "scripted" };

export interface FixtureOptions {
  /** Section `agents`. */
  readonly config?: object;
  /** Section `messages`. */
  readonly messages?: object;
  readonly answer?: Answer;
  readonly tools?: Record<string, Tool>;
  /** Section `tools.fromOutside`. */
  readonly fromOutside?: FromOutside;
  readonly approver?: Approver;
  /** Whether the credential of a principal counts. Default: each does. */
  readonly isLive?: (principal: Principal) => boolean;
  /** Adds the tools of sub-agents. */
  readonly subagents?: boolean;
  /** Adds `sessions_send` and `agents_list`; keys of sessions by label. */
  readonly labels?: Readonly<Record<string, readonly string[]>>;
  readonly workspacePrompt?: (agentId: string) => Promise<string>;
  readonly runBefore?: (request: RunRequest) => Denial | undefined;
  readonly models?: Partial<Models>;
  readonly storage?: (real: Storage) => Storage;
  /** It has a lease, so that the next gateway on the storage leaves its runs alone. Default: it acts as the only gateway. */
  readonly isAlive?: boolean;
  /** Default: no plugin delivers to channels. */
  readonly delivery?: Delivery;
}

export interface Gateway {
  readonly runs: Runs;
  readonly directory: ConfiguredAgents;
  readonly sessions: Sessions & { readonly freshened: readonly string[] };
  readonly storage: Storage;
  readonly clock: FakeClock;
  /** Keys of sessions that were archived. */
  readonly archived: string[];
  /** Lines of the log, from `info` on. */
  readonly logged: string[];
  /** Ends its lease in the database, which it notices at the next renewal. Only with `isAlive`. */
  readonly losesLease: () => Promise<unknown>;
  /** Puts another section `agents` into use. */
  readonly configure: (config: object) => void;
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
  return { storage, clock, start: (options = {}) => startGateway(t, storage, clock, options) };
}

async function startGateway(
  t: TestContext,
  real: Storage,
  clock: FakeClock,
  options: FixtureOptions,
): Promise<Gateway> {
  const storage = options.storage?.(real) ?? real;
  const config = withDefaults(AgentsConfig, options.config ?? {});
  const queue = withDefaults(QueueConfig, (options.messages as { queue?: object } | undefined)?.queue ?? {});
  const directory = createLiveAgents(config, () => ({ stateDir: "/state", home: "/home" }));
  const parts: { runs?: Runs } = {};
  const sessions = await openFakeSessions({
    storage,
    now: () => clock.now(),
    defaultAgentId: directory.defaultId,
    replacing: async (key) => (await parts.runs?.abortSession(key, "reset", 15_000)) ?? true,
  });
  const answer = options.answer ?? says("fine");
  const models: Models = {
    list: () => [],
    choices: () => [],
    resolve: () => model,
    stream: (request, signal) => answer(request, signal),
    coolingUntil: () => undefined,
    ...options.models,
  };
  const seen: Pick<Gateway, "events" | "finished" | "broadcasts" | "archived" | "logged"> = {
    events: [],
    finished: [],
    broadcasts: [],
    archived: [],
    logged: [],
  };
  const note = (_fields: object, text: string) => void seen.logged.push(text);
  const log = { debug: () => undefined, info: note, warn: note, error: note };
  const tools: Record<string, Tool> = { ...options.tools };
  const view = extensionView(() => tools);
  const shelf = new ToolShelf({ tools: view, sources: extensionView(), judge: (all) => all, log });
  const hooks = { params: waterfall(), before: hook(), result: waterfall() } as ToolHooks;
  const credentials = { isLive: options.isLive ?? (() => true) };
  const gate = new OutsideGate({
    mode: () => options.fromOutside ?? "ask",
    approver: () => options.approver,
    sessions: () => sessions,
  });
  const toolBox = new ToolBox({ shelf, tools: view, hooks, gate, credentials, log });
  const runs = new Runs(
    {
      services: { storage, sessions, models, credentials, tools: { get: () => toolBox } },
      store: new RunStore({ storage }),
      agents: directory,
      freed: () => undefined,
      promptHook: waterfall(),
      ...(options.workspacePrompt
        ? {
            workspacePrompt: async (agentId: string) => ({
              text: (await options.workspacePrompt?.(agentId)) ?? "",
              files: [],
              parts: [],
            }),
          }
        : {}),
      config: () => directory.config,
      nudge: () => undefined,
      peers: noPeers(),
      queue: () => queue,
      delivery: () => options.delivery,
      archiveSession: async (key) => void seen.archived.push(key),
      clock,
      log,
    },
    { before: hook(options.runBefore), finished: hook((outcome: RunOutcome) => void seen.finished.push(outcome)) },
    {
      trace: (event) => void seen.events.push(event),
      passOn: () => undefined,
      broadcast: (payload, audience) =>
        void seen.broadcasts.push({
          payload,
          ...(audience?.connections ? { connections: audience.connections } : {}),
        }),
      agentOf: (key) => sessions.agentOf(key),
      now: () => clock.now(),
    },
  );
  parts.runs = runs;
  if (options.subagents) {
    const { subagents } = runs;
    Object.assign(tools, createSubagentTools({ subagents, abort: (runId, reason) => runs.abort(runId, reason) }));
  }
  const { labels } = options;
  if (labels) {
    const labelled = async (label: string) => labels[label] ?? [];
    Object.assign(tools, createSessionTools({ runs, sessions, agents: directory, labelled }));
  }
  const alone = options.isAlive ? {} : { isAlone: async () => true };
  const { ownership, join, leave } = createOwnership({ storage: real, clock, log, name: "test", ...alone });
  await join();
  t.after(leave);
  const owner = await ownership.owner();
  await runs.recover(owner);
  runs.open();
  const configure = (next: object) => {
    directory.replace(withDefaults(AgentsConfig, next));
    runs.configChanged();
  };
  const lease = owner.id.slice(0, owner.id.indexOf("/"));
  const losesLease = () =>
    real.transaction([{ sql: "DELETE FROM svc_gateways WHERE id = ?", params: [lease], expectChanges: 1 }]);
  return { ...seen, runs, directory, sessions, storage, clock, configure, losesLease };
}

/** A gateway on a storage of its own. */
export async function start(t: TestContext, options: FixtureOptions = {}): Promise<Gateway> {
  const fixture = await openFixture(t);
  return fixture.start(options);
}

/** The transcript as `role: text`. */
export const outline = async ({ sessions }: Pick<Gateway, "sessions">, key = "agent:main:main") =>
  (await sessions.transcript(key, 100)).map(({ message }) => `${message.role}: ${textOf(message)}`);

/** The outcome of a run, waited for in real time. */
export async function ended({ finished }: Pick<Gateway, "finished">, runId: string): Promise<RunOutcome> {
  const find = () => finished.find((outcome) => outcome.runId === runId);
  await until(() => find() !== undefined, `the end of run ${runId}`);
  return find() ?? Promise.reject(new Error(`run ${runId} has no outcome`));
}

/** Runs a request until its end. */
export async function run(
  gateway: Gateway,
  runId: string,
  changes: Parameters<typeof request>[1] = {},
): Promise<RunOutcome> {
  await gateway.runs.start(request(runId, changes));
  return ended(gateway, runId);
}

/** Waits until a model has said something. */
export const spoke = ({ events }: Pick<Gateway, "events">, inSession = "") =>
  until(() => events.some(({ stream, sessionKey }) => stream === "assistant" && sessionKey.includes(inSession)));

/** A storage that asks `check` before each transaction; what it throws is the refusal of the storage. */
export const checkedStorage =
  (check: (statements: readonly Statement[]) => unknown) =>
  (real: Storage): Storage => ({
    ...real,
    transaction: async (statements) => {
      await check(statements);
      return real.transaction(statements);
    },
  });
