/** The `AgentRuns` service: accepts runs, queues them by session, stops them, and picks them up after a restart. */
import { type HookEmitter, HOOKS, unavailable, untilAborted } from "@svc/sdk";
import type { AgentRuns, QueueMode, RunOutcome, RunRequest, RunState, Statement } from "@svc/sdk/services";
import type { Environment } from "./environment.ts";
import { endUnstarted, execute } from "./execution.ts";
import { closeInterrupted } from "./interrupted.ts";
import { laneLimit, LONG_WAIT_MS } from "./lane-limits.ts";
import { Lanes } from "./lanes.ts";
import { LiveRun } from "./live-run.ts";
import { LiveRuns } from "./live-runs.ts";
import { Outcomes } from "./outcomes.ts";
import { type QueueConfig, queueModeOf, type QueueSettings } from "./queue-settings.ts";
import { RunEndings } from "./run-endings.ts";
import { type EventSinks, RunEvents } from "./events.ts";
import { RunQueues } from "./queue.ts";
import type { RunRecord } from "./store.ts";
import { laneOf, type SessionQueue, type Turn } from "./session-queue.ts";
import type { Trail } from "../subagents/sending.ts";
import { STOPPED_WITH_PARENT, SUBAGENT } from "../subagents/settings.ts";
import { Subagents, type SubagentSources } from "../subagents/subagents.ts";

/** Choice: how long a stop waits for running runs; a plugin has 5 s for all of its stop. */
export const DRAIN_MS = 4_000;
const RESTART_RETRY_MS = 2_000;
/** Choice: how long a record is kept after the run's end. Its id may be used again after that. */
export const KEEP_RECORDS_MS = 7 * 24 * 3_600_000;
/** Choice: records one sweep deletes, so that it never holds up the storage. */
export const PRUNE_LIMIT = 500;

export interface RunHooks {
  readonly before: HookEmitter<typeof HOOKS.runBefore>;
  readonly finished: HookEmitter<typeof HOOKS.runFinished>;
}

export interface RunSources extends Environment, Pick<SubagentSources, "archiveSession"> {
  /** `messages.queue`, as it is now. */
  readonly queue: () => QueueConfig;
}

type Started = Awaited<ReturnType<AgentRuns["start"]>>;

export class Runs implements AgentRuns {
  readonly #env: RunSources;
  readonly #hooks: RunHooks;
  readonly #sinks: EventSinks;
  readonly #lanes: Lanes;
  readonly #outcomes: Outcomes;
  readonly #endings: RunEndings;
  readonly #live = new LiveRuns();
  readonly #queues: RunQueues;
  /** Acceptances under way. A second request of the same id waits for the first. */
  readonly #accepting = new Map<string, Promise<Started>>();
  readonly subagents: Subagents;
  /** Ends of runs that never started, being stored. */
  readonly #ending = new Set<Promise<void>>();
  #lastAcceptedAt = 0;
  #stopping = false;
  #stopped: Promise<void> | undefined;

  constructor(env: RunSources, hooks: RunHooks, sinks: EventSinks) {
    this.#env = env;
    this.#hooks = hooks;
    this.#sinks = sinks;
    this.#lanes = new Lanes((lane) => laneLimit(lane, env.config().defaults));
    this.#outcomes = new Outcomes(env.clock);
    const { finished } = hooks;
    this.#endings = new RunEndings({ outcomes: this.#outcomes, store: env.store, live: this.#live, finished });
    this.#queues = new RunQueues({
      env,
      config: env.queue,
      lanes: this.#lanes,
      live: this.#live,
      run: (turn, queue) => this.#execute(turn, queue),
      abort: (runId, reason) => void this.abort(runId, reason),
    });
    this.subagents = new Subagents(env, { accept: (request, alongside) => this.#startOnce(request, alongside) });
  }

  /** Whether a planned restart would cut something off. */
  get isWorking(): boolean {
    return this.#live.isWorking;
  }

  start(request: RunRequest): Promise<Started> {
    return this.#startOnce(request, []);
  }

  async queueMode(sessionKey: string, channel?: string): Promise<QueueMode> {
    return queueModeOf(await this.#env.services.sessions.get(sessionKey), this.#env.queue(), channel);
  }

  abort(runId: string, reason: string): boolean {
    const run = this.#live.get(runId);
    if (!run?.abort(reason)) return false;
    if (run.leaveQueue()) this.#endWaiting(run);
    for (const child of this.#live.childrenOf(runId)) this.abort(child.id, STOPPED_WITH_PARENT);
    return true;
  }

  active(sessionKey: string): readonly RunState[] {
    return this.#live.ofSession(sessionKey).map((run) => run.state());
  }

  isBusy(lane: string): boolean {
    return this.#live.all().some((run) => laneOf(run) === lane);
  }

  async state(runId: string): Promise<RunState | undefined> {
    return this.#live.get(runId)?.state() ?? (await this.#env.store.find(runId))?.state;
  }

  /**
   * As `start` with an id that was accepted before; `undefined` when it was not.
   * Choice: a client that asks again, after it reconnected, takes part again.
   */
  async known(runId: string, connectionId?: string): Promise<Started | undefined> {
    const run = this.#live.get(runId);
    run?.events.join(connectionId);
    if (run) return { fresh: false, state: run.state(), acceptedAt: run.acceptedAt };
    const record = await this.#env.store.find(runId);
    if (record) await this.#adopt(record);
    return record && { fresh: false, state: record.state, acceptedAt: record.acceptedAt };
  }

  wait(runId: string, timeoutMs: number): Promise<RunOutcome | undefined> {
    return this.#endings.wait(runId, timeoutMs);
  }

  /** As `wait`, without a limit. @returns `undefined` when the gateway stops first. */
  outcome(runId: string): Promise<RunOutcome | undefined> {
    return this.#endings.wait(runId);
  }

  /** Of a run that has not ended. */
  trail(runId: string): Trail {
    const lineage = this.#live.lineage(runId);
    return {
      relayed: lineage[0]?.request.relayed ?? 0,
      sessions: lineage.map(({ request }) => request.sessionKey),
    };
  }

  /** Stops all runs of a session and their sub-runs. @returns whether its own all ended within `waitMs` milliseconds; 0: not waited for */
  async abortSession(sessionKey: string, reason: string, waitMs: number): Promise<boolean> {
    const runs = this.#live.ofSession(sessionKey);
    const ends = waitMs > 0 ? runs.map((run) => this.#outcomes.next(run.id, waitMs)) : [];
    for (const run of runs) this.abort(run.id, reason);
    // Sub-runs outlive the run that started them, so they are found by the session.
    const children = await this.subagents.open(sessionKey);
    await Promise.all(children.map((child) => this.abortSession(child.sessionKey, STOPPED_WITH_PARENT, 0)));
    await Promise.all(ends);
    return runs.every((run) => this.#live.get(run.id) !== run);
  }

  /** Reads what the last stop or crash left over. Runs wait in their queues until `open`. */
  async recover(): Promise<void> {
    await this.#env.store.open();
    for (const record of await this.#env.store.unfinished()) {
      if (record.state.status !== "running") await this.#adopt(record);
      else {
        const outcome = await closeInterrupted(record, this.#env);
        if (outcome) this.#endings.tell(new RunEvents(record.state, this.#sinks), outcome);
      }
    }
    await this.subagents.announceOwed();
  }

  /** Lets runs start. */
  open(): void {
    if (!this.#stopping) this.#lanes.open();
  }

  /** To be called when the configuration changed: a raised limit counts at once. */
  configChanged(): void {
    this.#lanes.refill();
  }

  /** Catches up with what is owed and forgets what is old. To be called every minute or so. */
  async sweep(): Promise<void> {
    if (this.#stopping) return;
    await this.subagents.announceOwed();
    await this.subagents.archiveOld();
    await this.#env.store.prune(this.#env.clock.now() - KEEP_RECORDS_MS, PRUNE_LIMIT);
  }

  /**
   * Takes nothing more, waits up to 4 s for running runs, then lets go of them: the next start closes them as
   * interrupted and picks up those that wait. Safe to call twice.
   */
  stop(): Promise<void> {
    this.#stopping = true;
    this.#stopped ??= this.#drain();
    return this.#stopped;
  }

  async #drain(): Promise<void> {
    const deadline = new AbortController();
    const cancelTimer = this.#env.clock.setTimeout(() => deadline.abort(), DRAIN_MS);
    const ends = Promise.allSettled([this.#lanes.close(), ...this.#accepting.values()]); // a refused one ends nothing early
    await untilAborted(
      ends.then(() => Promise.all(this.#ending)),
      deadline.signal,
    ).catch(() => undefined);
    cancelTimer();
    this.#queues.close();
    for (const run of this.#live.all()) run.abandon();
    this.#live.clear();
    this.#outcomes.close();
  }

  async #startOnce(request: RunRequest, alongside: readonly Statement[]): Promise<Started> {
    const accepting = this.#accepting.get(request.runId);
    if (accepting) return { ...(await accepting), fresh: false };
    const accepted = this.#accept(request, alongside);
    this.#accepting.set(request.runId, accepted);
    try {
      return await accepted;
    } finally {
      this.#accepting.delete(request.runId);
    }
  }

  async #accept(request: RunRequest, alongside: readonly Statement[]): Promise<Started> {
    if (this.#stopping) unavailable("the gateway is stopping; try again", { retryAfterMs: RESTART_RETRY_MS });
    // Nobody is asked about a run that was let in before; without a gate, the record itself tells.
    const known = this.#live.has(request.runId) || this.#hooks.before.isUsed();
    const started = known ? await this.known(request.runId, request.connectionId) : undefined;
    if (started) return started;
    await this.#passGate(request);
    const queue = await this.#queues.settings(request);
    if (queue) this.#queues.refuseIfFull(request.sessionKey, queue);

    // One ahead of the last, so that the order of acceptance survives a restart.
    const acceptedAt = Math.max(this.#env.clock.now(), this.#lastAcceptedAt + 1);
    const run = this.#enlist(request, acceptedAt);
    const isNew = await this.#env.store.accept(request, acceptedAt, alongside).catch((error: unknown) => {
      this.#live.delete(run);
      throw error;
    });
    if (!isNew) {
      this.#live.delete(run);
      const other = await this.known(request.runId, request.connectionId); // accepted before, maybe by another gateway
      return other ?? unavailable("the record of this run is gone; try again", { retryAfterMs: RESTART_RETRY_MS });
    }
    this.#enqueue(run, queue);
    return { fresh: true, state: run.state(), acceptedAt };
  }

  async #passGate(request: RunRequest): Promise<void> {
    const denial = await this.#hooks.before.emit(request);
    if (!denial) return;
    const { reason, retryAfterMs } = denial;
    unavailable(`the run was denied: ${reason}`, retryAfterMs === undefined ? {} : { retryAfterMs });
  }

  #enlist(request: RunRequest, acceptedAt: number): LiveRun {
    this.#lastAcceptedAt = Math.max(this.#lastAcceptedAt, acceptedAt);
    const run = new LiveRun(request, acceptedAt, new RunEvents(request, this.#sinks));
    this.#live.add(run);
    // Who starts a run also follows the others of that session. Spec: protocol/events.md §3.
    for (const other of this.#live.ofSession(request.sessionKey)) other.events.join(request.connectionId);
    return run;
  }

  /** Queues a run that is on disk and nowhere else: before a restart, or when storage failed after it had written. */
  async #adopt({ state, request, acceptedAt }: RunRecord): Promise<void> {
    if (state.status !== "accepted" || !request || this.#stopping || this.#live.has(state.runId)) return;
    const run = this.#enlist(request, acceptedAt);
    this.#enqueue(run, await this.#queues.settings(request));
  }

  #enqueue(run: LiveRun, settings: QueueSettings | undefined): void {
    if (run.signal.aborted) this.#endWaiting(run); // aborted while it was being accepted
    else this.#queues.enqueue(run, settings);
  }

  async #execute(turn: Turn, queue: SessionQueue): Promise<readonly LiveRun[]> {
    const run = turn.leader;
    const waitedMs = this.#env.clock.now() - run.acceptedAt;
    if (waitedMs > LONG_WAIT_MS) {
      this.#env.log.info({ runId: run.id, lane: laneOf(run), waitedMs }, "a run had to wait");
    }
    const { outcome, returned } = await execute(turn, this.#env, {
      tookOver: (other, ended) => {
        other.leaveQueue();
        this.#finish(other, ended);
      },
      steering: () => queue.steering(),
    });
    if (!returned.includes(run)) this.#finish(run, outcome);
    for (const other of [...turn.merged, ...turn.overflow]) if (other.abandoned.aborted) this.#live.delete(other);
    return returned;
  }

  #endWaiting(run: LiveRun): void {
    if (run.abandoned.aborted) return this.#finish(run, undefined);
    const ending = endUnstarted(run, this.#env).then((outcome) => {
      this.#ending.delete(ending);
      this.#finish(run, outcome);
    });
    this.#ending.add(ending);
  }

  #finish(run: LiveRun, outcome: RunOutcome | undefined): void {
    this.#live.delete(run);
    if (!outcome) return;
    this.#endings.tell(run.events, outcome);
    if (run.request.origin === SUBAGENT) void this.subagents.ended(run.id);
  }
}
