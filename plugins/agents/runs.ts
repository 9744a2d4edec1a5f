/** The `AgentRuns` service: accepts runs, lets them through their lanes, stops them, and picks them up after a restart. */
import { type HookEmitter, HOOKS, unavailable } from "@svc/sdk";
import type { AgentRuns, RunOutcome, RunRequest, RunState } from "@svc/sdk/services";
import { untilAborted } from "./abort-race.ts";
import { endUnstarted, type Environment, execute } from "./execution.ts";
import { errorMessage } from "./gateway-messages.ts";
import { Lanes } from "./lanes.ts";
import { LiveRun } from "./live-run.ts";
import { Outcomes } from "./outcomes.ts";
import { type EventSinks, RunEvents } from "./run-events.ts";
import type { RunRecord } from "./run-store.ts";

/** Choice: waits longer than this are logged. Spec: http/sessions-routing.md §6. */
const LONG_WAIT_MS = 2_000;
/** Choice: how long a stop waits for running runs; a plugin has 5 s for all of its stop. */
export const DRAIN_MS = 4_000;
const RESTART_RETRY_MS = 2_000;
const INTERRUPTED = "interrupted by a gateway restart";

export interface RunHooks {
  readonly before: HookEmitter<typeof HOOKS.runBefore>;
  readonly finished: HookEmitter<typeof HOOKS.runFinished>;
}

type Started = Awaited<ReturnType<AgentRuns["start"]>>;

export class Runs implements AgentRuns {
  readonly #env: Environment;
  readonly #hooks: RunHooks;
  readonly #sinks: EventSinks;
  readonly #lanes: Lanes;
  readonly #outcomes: Outcomes;
  /** By id, oldest first. */
  readonly #live = new Map<string, LiveRun>();
  /** Acceptances under way. A second request of the same id waits for the first. */
  readonly #accepting = new Map<string, Promise<Started>>();
  #lastAcceptedAt = 0;
  #stopping = false;
  #stopped: Promise<void> | undefined;

  constructor(env: Environment, hooks: RunHooks, sinks: EventSinks) {
    this.#env = env;
    this.#hooks = hooks;
    this.#sinks = sinks;
    this.#lanes = new Lanes(env.defaults.maxConcurrent);
    this.#outcomes = new Outcomes(env.clock);
  }

  async start(request: RunRequest): Promise<Started> {
    const accepting = this.#accepting.get(request.runId);
    if (accepting) return { ...(await accepting), fresh: false };
    const accepted = this.#accept(request);
    this.#accepting.set(request.runId, accepted);
    try {
      return await accepted;
    } finally {
      this.#accepting.delete(request.runId);
    }
  }

  abort(runId: string, reason: string): boolean {
    const run = this.#live.get(runId);
    if (!run?.abort(reason)) return false;
    if (run.leaveLane()) void this.#endWaiting(run);
    return true;
  }

  active(sessionKey: string): readonly RunState[] {
    return this.#runsOf(sessionKey).map((run) => run.state());
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
    if (record) this.#adopt(record);
    return record && { fresh: false, state: record.state, acceptedAt: record.acceptedAt };
  }

  async wait(runId: string, timeoutMs: number): Promise<RunOutcome | undefined> {
    const ended = await this.#ended(runId);
    return ended ?? (timeoutMs > 0 ? this.#outcomes.next(runId, timeoutMs) : undefined);
  }

  /** As `wait`, without a limit. @returns `undefined` when the gateway stops first. */
  async outcome(runId: string): Promise<RunOutcome | undefined> {
    return (await this.#ended(runId)) ?? this.#outcomes.next(runId);
  }

  /** Stops all runs of a session. @returns whether they all ended within `waitMs` milliseconds. */
  async abortSession(sessionKey: string, reason: string, waitMs: number): Promise<boolean> {
    const runs = this.#runsOf(sessionKey);
    const ends = runs.map((run) => this.#outcomes.next(run.id, waitMs));
    for (const run of runs) this.abort(run.id, reason);
    await Promise.all(ends);
    return runs.every((run) => this.#live.get(run.id) !== run);
  }

  /** Reads what the last stop or crash left over. Runs wait in their lanes until `open`. */
  async recover(): Promise<void> {
    await this.#env.store.open();
    for (const record of await this.#env.store.unfinished()) {
      if (record.state.status === "running") await this.#interrupted(record);
      else this.#adopt(record);
    }
  }

  /** Lets runs start. */
  open(): void {
    if (!this.#stopping) this.#lanes.open();
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
    await untilAborted(this.#lanes.close(), deadline.signal).catch(() => undefined);
    cancelTimer();
    for (const run of this.#live.values()) run.abandon();
    this.#live.clear();
    this.#outcomes.close();
  }

  async #accept(request: RunRequest): Promise<Started> {
    if (this.#stopping) unavailable("the gateway is stopping; try again", { retryAfterMs: RESTART_RETRY_MS });
    const known = await this.known(request.runId, request.connectionId);
    if (known) return known;
    const denial = await this.#hooks.before.emit(request);
    if (denial) {
      const { reason, retryAfterMs } = denial;
      unavailable(`the run was denied: ${reason}`, retryAfterMs === undefined ? {} : { retryAfterMs });
    }
    // One ahead of the last, so that the order of acceptance survives a restart.
    const acceptedAt = Math.max(this.#env.clock.now(), this.#lastAcceptedAt + 1);
    const run = this.#enlist(request, acceptedAt);
    const isNew = await this.#env.store.accept(request, acceptedAt).catch((error: unknown) => {
      this.#live.delete(run.id);
      throw error;
    });
    if (!isNew) {
      this.#live.delete(run.id);
      const other = await this.known(request.runId); // accepted by another gateway on the same storage
      return other ?? unavailable("the record of this run is gone; try again", { retryAfterMs: RESTART_RETRY_MS });
    }
    this.#enqueue(run);
    return { fresh: true, state: run.state(), acceptedAt };
  }

  #enlist(request: RunRequest, acceptedAt: number): LiveRun {
    this.#lastAcceptedAt = Math.max(this.#lastAcceptedAt, acceptedAt);
    const events = new RunEvents(request, this.#sinks);
    const run = new LiveRun(request, acceptedAt, events);
    this.#live.set(run.id, run);
    // Who starts a run also follows the others of that session. Spec: protocol/events.md §3.
    for (const other of this.#runsOf(request.sessionKey)) other.events.join(request.connectionId);
    return run;
  }

  /** Queues a run that is on disk and nowhere else: before a restart, or when storage failed after it had written. */
  #adopt({ state, request, acceptedAt }: RunRecord): void {
    if (state.status !== "accepted" || !request || this.#stopping || this.#live.has(state.runId)) return;
    this.#enqueue(this.#enlist(request, acceptedAt));
  }

  #enqueue(run: LiveRun): void {
    if (run.signal.aborted) return void this.#endWaiting(run); // aborted while it was being accepted
    run.phase = "waiting";
    run.leaveLane = this.#lanes.enter(run.request.sessionKey, () => this.#execute(run));
  }

  async #execute(run: LiveRun): Promise<void> {
    const waitedMs = this.#env.clock.now() - run.acceptedAt;
    if (waitedMs > LONG_WAIT_MS) this.#env.log.info({ runId: run.id, waitedMs }, "a run had to wait");
    this.#finish(run, await execute(run, this.#env));
  }

  async #endWaiting(run: LiveRun): Promise<void> {
    this.#finish(run, run.abandoned.aborted ? undefined : await endUnstarted(run, this.#env));
  }

  #finish(run: LiveRun, outcome: RunOutcome | undefined): void {
    this.#live.delete(run.id);
    if (outcome) this.#tell(run.events, outcome);
  }

  #tell(events: RunEvents, outcome: RunOutcome): void {
    this.#outcomes.add(outcome);
    events.end(outcome);
    void this.#hooks.finished.emit(outcome);
  }

  /** How a run ended, from memory or its record. */
  async #ended(runId: string): Promise<RunOutcome | undefined> {
    const recent = this.#outcomes.get(runId);
    if (recent || this.#live.has(runId)) return recent;
    const record = await this.#env.store.find(runId);
    // It may have been accepted and have ended while the record was read.
    return record?.outcome ?? this.#outcomes.get(runId);
  }

  /** A run that was cut off: its transcript says so, in the same transaction as its record. */
  async #interrupted({ state }: RunRecord): Promise<void> {
    const { runId, sessionKey, startedAt } = state;
    const { clock, log, services, store } = this.#env;
    const message = errorMessage(INTERRUPTED, clock.now());
    const outcome: RunOutcome = {
      runId,
      sessionKey,
      status: "error",
      ...(startedAt === undefined ? {} : { startedAt }),
      endedAt: clock.now(),
      text: "",
      errorMessage: INTERRUPTED,
      message,
    };
    try {
      await services.sessions.append(sessionKey, [message], [store.ended(outcome, "running", "interrupted")]);
    } catch (error) {
      return log.error({ err: error, runId }, "an interrupted run could not be closed; the next start tries again");
    }
    this.#tell(new RunEvents({ runId, sessionKey }, this.#sinks), outcome);
  }

  #runsOf(sessionKey: string): LiveRun[] {
    return [...this.#live.values()].filter((run) => run.request.sessionKey === sessionKey);
  }
}
