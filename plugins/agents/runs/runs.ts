/** The `AgentRuns` service: accepts runs, queues them by session, stops them, and recovers them after a restart. */
import { type GatewayError, type HookEmitter, HOOKS, unavailable, untilAborted } from "@svc/sdk";
import type { AgentRuns, QueueMode, RunEvent, RunOutcome, RunRequest, RunState } from "@svc/sdk/agents";
import { refusal } from "@svc/sdk/errors";
import type { Owner, Statement } from "@svc/sdk/storage";
import type { Trail } from "../subagents/sending.ts";
import { REVOKED, STOPPED_WITH_PARENT, SUBAGENT } from "../subagents/settings.ts";
import { Subagents, type SubagentSources } from "../subagents/subagents.ts";
import { endUnstarted } from "./ending.ts";
import type { Environment } from "./environment.ts";
import { type EventSinks, RunEvents } from "./events.ts";
import { execute } from "./execution.ts";
import { ForeignRuns, RUNS } from "./foreign-runs.ts";
import { IdleSessions } from "./idle-sessions.ts";
import { belongsHere, OrphanedRuns } from "./orphaned-runs.ts";
import { LiveRun, LiveRuns } from "./live-runs.ts";
import type { QueueConfig } from "../config.ts";
import { queueModeOf, type QueueSettings } from "./queue-settings.ts";
import { laneOf, RunQueues, type Turn } from "./queue.ts";
import { ReplyDeliveries, type ReplyDeliverySources } from "./reply-delivery.ts";
import type { RunRecord } from "./store.ts";

/** Choice: milliseconds a stop waits for active runs; a plugin has 5 s to stop. */
export const DRAIN_MS = 4_000;
const RESTART_RETRY_MS = 2_000;
/** Longer waits in milliseconds are logged. Spec: http/sessions-routing.md §6. */
const LONG_WAIT_MS = 2_000;

export interface RunHooks {
  readonly before: HookEmitter<typeof HOOKS.runBefore>;
  readonly finished: HookEmitter<typeof HOOKS.runFinished>;
}

export interface RunSources
  extends Environment, Pick<SubagentSources, "archiveSession">, Pick<ReplyDeliverySources, "delivery"> {
  /** The current `messages.queue`. */
  readonly queue: () => QueueConfig;
}

type Started = Awaited<ReturnType<AgentRuns["start"]>>;

export class Runs implements AgentRuns {
  readonly #env: RunSources;
  readonly #hooks: RunHooks;
  readonly #sinks: EventSinks;
  readonly #live: LiveRuns;
  readonly #queues: RunQueues;
  readonly subagents: Subagents;
  readonly deliveries: ReplyDeliveries;
  /** Acceptances in progress. A second request with the same id waits for the first. */
  readonly #accepting = new Map<string, Promise<Started>>();
  /** Ends of runs that never started, while being stored. */
  readonly #ending = new Set<Promise<void>>();
  readonly #foreign: ForeignRuns;
  readonly #orphans: OrphanedRuns;
  readonly #idle: IdleSessions;
  readonly #closing = new AbortController();
  /** Ends the wait for active runs during a stop. */
  readonly #cut = new AbortController();
  #lastAcceptedAt = 0;
  /** The gateway is about to stop: active runs continue, no new run starts. */
  #isGatewayStopping = false;
  #isLeaving = false;
  /** Ids of runs that were left to other gateways. */
  readonly #handed = new Set<string>();
  #isStopping = false;
  #stopped: Promise<void> | undefined;

  constructor(env: RunSources, hooks: RunHooks, sinks: EventSinks) {
    this.#env = env;
    this.#hooks = hooks;
    this.#sinks = sinks;
    this.#live = new LiveRuns(env.clock, (runId, state) => env.peers.share(RUNS, runId, state));
    this.#queues = new RunQueues({
      env,
      config: env.queue,
      live: this.#live,
      run: (turn) => this.#execute(turn),
      abort: (runId, reason) => void this.abort(runId, reason),
    });
    this.#foreign = new ForeignRuns(env, this.#live, this.#closing.signal);
    this.#idle = new IdleSessions(env, this.#live, { runs: this, refuse: () => this.#refuseIfStopping() });
    this.#orphans = new OrphanedRuns(env, {
      has: (runId) => this.#live.get(runId) !== undefined || this.#accepting.has(runId),
      adopt: (record) => this.#adopt(record),
      closed: ({ state }, outcome) => this.#announce(new RunEvents(state, sinks), outcome),
    });
    this.deliveries = new ReplyDeliveries(env);
    this.subagents = new Subagents(env, {
      accept: (request, alongside) => this.#once(request.runId, () => this.#accept(request, alongside)),
    });
  }

  start(request: RunRequest, prepare?: () => Promise<unknown>): Promise<Started> {
    if (!prepare) return this.#once(request.runId, () => this.#accept(request));
    return this.prepareAndStart(request.runId, request.connectionId, async () => {
      await prepare();
      return request;
    });
  }

  /**
   * Like `start`, but builds the request only if its id is new, since building it may reset the session.
   * Choice: a run whose session was reset for it is accepted even if the gateway has begun to stop meanwhile. It starts
   * after the restart.
   */
  prepareAndStart(
    runId: string,
    connectionId: string | undefined,
    prepare: () => Promise<RunRequest>,
  ): Promise<Started> {
    return this.#once(runId, async () => {
      const known = await this.#known(runId, connectionId);
      if (known) return known;
      this.#refuseIfStopping();
      return this.#admit(await prepare());
    });
  }

  async #once(runId: string, accept: () => Promise<Started>): Promise<Started> {
    const first = this.#accepting.get(runId);
    if (first) return { ...(await first), fresh: false };
    const accepted = accept();
    this.#accepting.set(runId, accepted);
    try {
      return await accepted;
    } finally {
      this.#accepting.delete(runId);
    }
  }

  async #accept(request: RunRequest, alongside: readonly Statement[] = []): Promise<Started> {
    const { runId, connectionId } = request;
    // The gate is skipped for a run that was already accepted; without a gate, the insert in `#admit` finds such a run.
    const isClosed = this.#isStopping || this.#isGatewayStopping;
    const mayBeKnown = isClosed || this.#live.get(runId) !== undefined || this.#hooks.before.isUsed();
    const started = mayBeKnown ? await this.#known(runId, connectionId) : undefined;
    if (started) return started;
    this.#refuseIfStopping();
    return this.#admit(request, alongside);
  }

  /** The rest of `#accept`, for a run that is unknown and not refused by a stop. */
  async #admit(request: RunRequest, alongside: readonly Statement[] = []): Promise<Started> {
    const { runId, sessionKey, connectionId } = request;
    await this.#passGate(request);
    const settings = await this.#queues.settings(request);
    if (settings) this.#queues.refuseIfFull(sessionKey, settings);

    // Later than the last one, so that the order of acceptance survives a restart.
    const acceptedAt = Math.max(this.#env.clock.now(), this.#lastAcceptedAt + 1);
    const run = this.#enlist(request, acceptedAt);
    const { store } = this.#env;
    const owner = await store.accept(request, acceptedAt, alongside).catch((error: unknown) => {
      this.#live.remove(run);
      throw error;
    });
    if (owner !== store.owner.id) this.#live.remove(run);
    if (owner === undefined) {
      const other = await this.#known(runId, connectionId); // already accepted, maybe by another gateway
      return (
        other ?? unavailable("the record of this run no longer exists; try again", { retryAfterMs: RESTART_RETRY_MS })
      );
    }
    if (owner === store.owner.id) this.#enqueue(run, settings);
    else this.#foreign.hand(run, owner);
    this.#handOverMore();
    return { fresh: true, state: run.state(), acceptedAt };
  }

  /** @throws GatewayError `UNAVAILABLE` */
  #refuseIfStopping(): void {
    if (this.#isGatewayStopping && !this.#isLeaving) throw gatewayStopping("try again after the restart");
    if (this.#isStopping) unavailable("the plugin agents is stopping; try again", { retryAfterMs: RESTART_RETRY_MS });
  }

  /** A run that was already accepted. Choice: a client that repeats its request after a reconnect gets tool events again. */
  async #known(runId: string, connectionId: string | undefined): Promise<Started | undefined> {
    const run = this.#live.get(runId);
    run?.events.join(connectionId);
    if (run) return { fresh: false, state: run.state(), acceptedAt: run.acceptedAt };
    const record = await this.#env.store.find(runId);
    if (record) await this.#adopt(record);
    return record && { fresh: false, state: record.state, acceptedAt: record.acceptedAt };
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
    // A connection that starts a run also follows the other runs of that session. Spec: protocol/events.md §3.
    for (const other of this.#live.ofSession(request.sessionKey)) other.events.join(request.connectionId);
    return run;
  }

  /** Queues a run that is only in storage: from before a restart, or because storage failed after its write. */
  async #adopt(record: RunRecord): Promise<void> {
    const { state, request, acceptedAt } = record;
    const isOpen = () => !this.#isStopping && !this.#isGatewayStopping && !this.#live.get(state.runId);
    if (state.status !== "accepted" || !request || !isOpen()) return;
    if (!(await belongsHere(record, this.#env.store)) || !isOpen()) return;
    const run = this.#enlist(request, acceptedAt);
    run.events.isAdopted = true;
    run.resumedFrom = state.startedAt;
    // The message of a restarted run is already in the transcript, so it is not merged with others.
    this.#enqueue(run, state.startedAt === undefined ? await this.#queues.settings(request) : undefined);
  }

  #enqueue(run: LiveRun, settings: QueueSettings | undefined): void {
    this.#abortIfDead(run); // its credential may have ended while it was being accepted, or while the gateway was down
    if (run.signal.aborted) this.#endWaiting(run); // aborted while it was being accepted
    else this.#queues.enqueue(run, settings);
  }

  /** Called by the queue once the turn has its slot. @returns runs of the turn that have to wait again */
  async #execute(turn: Turn): Promise<readonly LiveRun[]> {
    const run = turn.leader;
    const waitedMs = this.#env.clock.now() - run.acceptedAt;
    if (waitedMs > LONG_WAIT_MS) {
      this.#env.log.info({ runId: run.id, lane: laneOf(run), waitedMs }, "a run started after a long wait");
    }
    const { outcome, returned } = await execute(turn, this.#env, {
      tookOver: (other, ended) => {
        this.#queues.leave(other);
        this.#finish(other, ended);
      },
      steering: () => this.#queues.steering(run),
    });
    if (!returned.includes(run)) this.#finish(run, outcome);
    for (const other of [...turn.merged, ...turn.overflow]) if (other.abandoned.aborted) this.#live.remove(other);
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

  /** @param outcome as stored; `undefined`: the run is left to the next start, or to another gateway */
  #finish(run: LiveRun, outcome: RunOutcome | undefined): void {
    this.#live.remove(run);
    this.#handOverMore(); // the next one of its session can begin there
    if (!outcome) return void this.#foreign.follow(run.id, run.events);
    this.deliveries.begin(run.request, outcome, this.#closing.signal);
    this.#announce(run.events, outcome);
    if (run.request.source === SUBAGENT) void this.subagents.ended(run.id);
  }

  /** Notifies waiting callers, clients and hooks. */
  #announce(events: RunEvents, outcome: RunOutcome): void {
    this.#live.end(outcome);
    events.end(outcome);
    void this.#hooks.finished.emit(outcome);
  }

  /**
   * The outcome, from memory or from the record; waits for a run that has not ended.
   * @returns `undefined` after `timeoutMs` milliseconds (absent: no limit), or when the plugin stops first
   * @throws GatewayError `UNAVAILABLE`, `details.code` `GATEWAY_STOPPING`: the run starts after the restart, or at another gateway
   */
  async wait(runId: string, timeoutMs?: number): Promise<RunOutcome | undefined> {
    if (timeoutMs !== 0) this.#refuseIfLeft(runId);
    const outcome = await this.#next(runId, timeoutMs);
    if (!outcome && timeoutMs !== 0) this.#refuseIfLeft(runId);
    return outcome;
  }

  /** As `wait`, for a client: it waits on for a run that was left to another gateway. */
  async waitAnywhere(runId: string, timeoutMs?: number): Promise<RunOutcome | undefined> {
    if (!this.#isLeaving) {
      const begun = this.#env.clock.elapsed();
      try {
        return await this.wait(runId, timeoutMs);
      } catch (error) {
        if (!this.#handed.has(runId)) throw error;
        if (timeoutMs !== undefined) timeoutMs = Math.max(0, timeoutMs - (this.#env.clock.elapsed() - begun));
      }
    }
    return this.#next(runId, timeoutMs);
  }

  async #next(runId: string, timeoutMs: number | undefined): Promise<RunOutcome | undefined> {
    if (!this.#live.get(runId) && !this.#live.outcome(runId)) {
      const record = await this.#env.store.find(runId);
      if (record?.outcome) return record.outcome;
      if (record && timeoutMs !== 0) void this.#foreign.follow(runId);
    }
    return this.#live.next(runId, timeoutMs);
  }

  /** @throws GatewayError `UNAVAILABLE` for a run that starts after the restart, or elsewhere */
  #refuseIfLeft(runId: string): void {
    const run = this.#live.get(runId);
    const isLeft = this.#isLeaving ? this.#handed.has(runId) : run && this.#isLeft(run);
    if (!this.#isGatewayStopping || !isLeft) return;
    const summary = "the run starts after the restart; after that, call agent.wait for the outcome";
    throw gatewayStopping(summary, { runId, status: "error", summary: `the gateway is stopping: ${summary}` });
  }

  abort(runId: string, reason: string): boolean {
    const run = this.#live.get(runId);
    if (!run) return this.#foreign.abortOne(runId, reason);
    if (!run.abort(reason)) return false;
    if (this.#queues.leave(run)) this.#endWaiting(run);
    for (const { id, request } of this.#live.all())
      if (request.parentRunId === runId) this.abort(id, STOPPED_WITH_PARENT);
    return true;
  }

  /** To be called when credentials have ended: stops the runs started with them. */
  credentialsEnded(): void {
    for (const run of this.#live.all()) this.#abortIfDead(run);
  }

  #abortIfDead({ id, request }: LiveRun): void {
    if (!this.#env.services.credentials.isLive(request.principal)) this.abort(id, REVOKED);
  }

  /** Stops all runs of a session and their sub-runs. @returns whether the session's runs ended within `waitMs` milliseconds; 0: does not wait */
  async abortSession(sessionKey: string, reason: string, waitMs: number): Promise<boolean> {
    const runs = this.#live.ofSession(sessionKey);
    const ends = waitMs > 0 ? runs.map((run) => this.#live.next(run.id, waitMs)) : [];
    for (const run of runs) this.abort(run.id, reason);
    const elsewhere = await this.#foreign.abort({ sessionKey }, reason);
    // Sub-runs outlive the run that started them, so they are found by the session.
    const children = await this.subagents.open(sessionKey);
    await Promise.all(children.map((child) => this.abortSession(child.sessionKey, STOPPED_WITH_PARENT, 0)));
    await Promise.all(ends);
    const outcomes = await Promise.all(waitMs > 0 ? elsewhere.map((runId) => this.wait(runId, waitMs)) : []);
    return runs.every((run) => this.#live.get(run.id) !== run) && outcomes.every((outcome) => outcome !== undefined);
  }

  async queueMode(sessionKey: string, channel?: string): Promise<QueueMode> {
    return queueModeOf(await this.#env.services.sessions.get(sessionKey), this.#env.queue(), channel);
  }

  active(sessionKey: string): readonly RunState[] {
    return [...this.#live.ofSession(sessionKey).map((run) => run.state()), ...this.#foreign.of(sessionKey)];
  }

  /** An event of a run that another gateway carries out. */
  heard(event: RunEvent): void {
    this.#foreign.heard(event);
  }

  whenIdle<T>(sessionKey: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    return this.#idle.take(sessionKey, signal, work);
  }

  isBusy(lane: string): boolean {
    return this.#live.all().some((run) => laneOf(run) === lane);
  }

  /** Whether a planned restart would interrupt a run or the delivery of a reply; waiting runs continue after it. */
  get isWorking(): boolean {
    return this.#queues.lanes.isWorking || this.#ending.size > 0 || this.deliveries.isWorking;
  }

  async state(runId: string): Promise<RunState | undefined> {
    return this.#live.get(runId)?.state() ?? (await this.#env.store.find(runId))?.state;
  }

  /** The trail of a run that has not ended. */
  trail(runId: string): Trail {
    const lineage = this.#live.lineage(runId);
    return {
      relayed: lineage[0]?.request.relayed ?? 0,
      sessions: lineage.map(({ request }) => request.sessionKey),
    };
  }

  /**
   * Recovers runs after a stop or crash. They wait in their queues until `open`. When the lease of the owner ends, every run is abandoned at once:
   * another gateway may take it over.
   */
  async recover(owner: Owner): Promise<void> {
    await this.#env.store.open(owner);
    const abandon = () => {
      this.#cut.abort();
      void this.stop();
    };
    owner.signal.addEventListener("abort", abandon, { once: true, signal: this.#closing.signal });
    await this.#orphans.take();
    await this.subagents.announceOwed();
  }

  /** Lets runs start. */
  open(): void {
    if (!this.#isStopping && !this.#isGatewayStopping) this.#queues.lanes.open();
  }

  /**
   * To be called when the gateway is about to stop. Refuses new runs; active runs continue. Waiting runs stay in storage
   * and start after the restart; callers that wait for them get an error that says so.
   * @param isLeaving other gateways go on: nothing is refused, and `handOver` is called
   */
  gatewayStops(isLeaving: boolean): void {
    this.#isGatewayStopping = true;
    this.#isLeaving = isLeaving;
    void this.#queues.lanes.close();
    if (isLeaving) return;
    for (const run of this.#live.all()) if (this.#isLeft(run)) this.#live.giveUp(run.id);
  }

  /** Leaves the runs that have not begun to other gateways, and follows them there. @throws GatewayError `UNAVAILABLE` */
  async handOver(): Promise<void> {
    const isWaiting = (run: LiveRun) => run.phase !== "accepting" && this.#isLeft(run);
    const runs = this.#live.all();
    await this.#env.store.releaseWaiting(runs.filter((run) => !isWaiting(run)).map(({ id }) => id));
    for (const run of runs.filter(isWaiting)) {
      this.#queues.leave(run);
      this.#live.remove(run);
      this.#handed.add(run.id);
      this.#live.giveUp(run.id);
      void this.#foreign.follow(run.id, run.events);
    }
    this.#env.freed();
  }

  /** While the gateway stops and others go on, whatever is new or can begin is theirs. */
  #handOverMore(): void {
    if (!this.#isLeaving || this.#isStopping) return;
    this.handOver().catch((err: unknown) =>
      this.#env.log.warn(
        { err },
        "runs could not be left to other gateways yet; they take them when this one has stopped",
      ),
    );
  }

  /** Whether the run is not part of any turn, neither its own nor another run's. */
  #isLeft(run: LiveRun): boolean {
    return run.phase === "accepting" || (this.#queues.isWaiting(run) && !run.isSteered);
  }

  /** To be called when the configuration changed: a raised limit applies at once. */
  configChanged(): void {
    this.#queues.lanes.refill();
  }

  /** Takes over runs that are free or were given to this gateway, and aborts those that another gateway asks to abort. */
  async look(): Promise<void> {
    if (this.#isStopping) return;
    if (!this.#isGatewayStopping) await this.#orphans.take();
    for (const { runId, reason } of await this.#env.store.abortsAsked()) this.abort(runId, reason);
  }

  /** Takes over orphaned runs, announces outcomes of sub-runs and archives their sessions. To be called about every minute. */
  async sweep(): Promise<void> {
    if (this.#isStopping || this.#isGatewayStopping) return;
    await this.look();
    await this.subagents.announceOwed();
    await this.subagents.archiveOld();
  }

  /**
   * Accepts no more runs, waits up to 4 s for active runs, then abandons them: the next start restarts them or closes
   * them as interrupted, and queues waiting runs again. Safe to call twice.
   */
  stop(): Promise<void> {
    this.#isStopping = true;
    this.#orphans.stop();
    this.#stopped ??= this.#drain();
    return this.#stopped;
  }

  async #drain(): Promise<void> {
    const cancelTimer = this.#env.clock.setTimeout(() => this.#cut.abort(), DRAIN_MS);
    const ends = Promise.allSettled([this.#queues.lanes.close(), ...this.#accepting.values()]); // a rejected acceptance does not end the wait early
    await untilAborted(
      ends.then(() => Promise.all(this.#ending)),
      this.#cut.signal,
    ).catch(() => undefined);
    cancelTimer();
    this.#closing.abort();
    this.#queues.clear();
    this.#live.close();
    if (this.#env.store.owner.isCurrent) await this.#env.store.release().catch(() => undefined); // a later generation takes them anyway
  }
}

function gatewayStopping(what: string, payload?: object): GatewayError {
  const options = { retryAfterMs: RESTART_RETRY_MS, ...(payload ? { payload } : {}) };
  return refusal("GATEWAY_STOPPING", `the gateway is stopping: ${what}`, {}, options);
}
