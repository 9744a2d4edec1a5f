/** Runs between acceptance and end, outcomes of recently ended runs, and callers that wait for an outcome. */
import type { Clock } from "@svc/sdk";
import type { RunOutcome, RunRequest, RunState } from "@svc/sdk/agents";
import type { RunEvents } from "./events.ts";
import type { QueueSettings } from "./queue-settings.ts";

/** Milliseconds an outcome is kept in memory. Spec: protocol/methods-agent.md §2. */
export const KEEP_MS = 600_000;
/** Choice: maximum number of outcomes kept in memory; older ones are read from their records. */
export const KEEP_COUNT = 1_000;

/** Traces of a run in its session. */
interface Traces {
  /** Ids of its messages. */
  readonly ids: string[];
  /** epoch ms; absent: the session did not exist before */
  readonly unusedSince: number | undefined;
}

/** A run between its acceptance and its end. */
export class LiveRun {
  readonly request: RunRequest;
  /** epoch ms */
  readonly acceptedAt: number;
  readonly events: RunEvents;
  readonly #abort = new AbortController();
  #abortReason: string | undefined;
  readonly #abandon = new AbortController();
  /** `ending`: its end is being stored, and it can no longer be stopped. */
  phase: "accepting" | "waiting" | "running" | "ending" = "accepting";
  /** epoch ms */
  startedAt: number | undefined;
  /** First start of a restarted run, epoch ms; its message is in the transcript. Absent: not restarted. */
  resumedFrom: number | undefined;
  /** How the run waits while its session is busy; absent: for its turn, without queue rules. */
  queue: QueueSettings | undefined;
  /** The session was busy when the run was queued. */
  isHeld = false;
  /** The queue was full: only one line of its message joins the next turn. */
  isOverflow = false;
  /** Its message already joined the turn of another run, and the run waits for its own turn. */
  isSteered = false;
  /** Messages the run may withdraw at its end (`request.acknowledgement`); absent: none. */
  traces: Traces | undefined;

  constructor(request: RunRequest, acceptedAt: number, events: RunEvents) {
    this.request = request;
    this.acceptedAt = acceptedAt;
    this.events = events;
  }

  get id(): string {
    return this.request.runId;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get abortReason(): string {
    return this.#abortReason ?? "rpc";
  }

  /** Aborts when the run is left to the next start, or to the gateway that took it over: nothing more of it is stored. */
  get abandoned(): AbortSignal {
    return this.#abandon.signal;
  }

  /** @returns false when the run is already being stopped, or its end is being stored. */
  abort(reason: string): boolean {
    if (this.signal.aborted || this.phase === "ending") return false;
    this.#abortReason = reason;
    this.#abort.abort();
    return true;
  }

  abandon(): void {
    this.#abandon.abort();
    this.#abort.abort();
  }

  /** Called after a change of its state. */
  changed: () => void = () => {};

  /** @param startedAt epoch ms */
  begin(startedAt: number): void {
    this.phase = "running";
    this.startedAt = startedAt;
    this.changed();
  }

  state(): RunState {
    const { runId, sessionKey, source } = this.request;
    const { startedAt } = this;
    if (startedAt === undefined) return { runId, sessionKey, source, status: "accepted" };
    return { runId, sessionKey, source, status: "running", startedAt };
  }
}

interface Waiter {
  readonly runId: string;
  readonly settle: (outcome: RunOutcome | undefined) => void;
}

export class LiveRuns {
  readonly #clock: Pick<Clock, "elapsed" | "setTimeout">;
  readonly #share: (runId: string, state: RunState | undefined) => void;
  /** Oldest first. */
  readonly #runs = new Map<string, LiveRun>();
  /** Outcomes of runs that ended, oldest first. */
  readonly #ended = new Map<string, { readonly outcome: RunOutcome; readonly until: number }>();
  readonly #waiters = new Set<Waiter>();
  #isClosed = false;

  /** @param share tells other gateways about a run; `undefined`: it is no longer live here */
  constructor(
    clock: Pick<Clock, "elapsed" | "setTimeout">,
    share: (runId: string, state: RunState | undefined) => void = () => {},
  ) {
    this.#clock = clock;
    this.#share = share;
  }

  add(run: LiveRun): void {
    this.#runs.set(run.id, run);
    run.changed = () => this.#share(run.id, run.state());
    run.changed();
  }

  remove(run: LiveRun): void {
    if (this.#runs.get(run.id) !== run) return;
    this.#runs.delete(run.id);
    this.#share(run.id, undefined);
  }

  get(runId: string): LiveRun | undefined {
    return this.#runs.get(runId);
  }

  /** Oldest first. */
  all(): readonly LiveRun[] {
    return [...this.#runs.values()];
  }

  /** Oldest first. */
  ofSession(sessionKey: string): readonly LiveRun[] {
    return this.all().filter(({ request }) => request.sessionKey === sessionKey);
  }

  /** A run and the live runs that led to it, the run itself first. */
  lineage(runId: string): readonly LiveRun[] {
    const found = new Set<LiveRun>();
    for (let run = this.get(runId); run && !found.has(run); run = this.get(run.request.parentRunId ?? ""))
      found.add(run);
    return [...found];
  }

  /** Keeps the outcome for 600 s and passes it to waiting callers. */
  end(outcome: RunOutcome): void {
    const now = this.#clock.elapsed();
    this.#ended.set(outcome.runId, { outcome, until: now + KEEP_MS });
    for (const [runId, { until }] of this.#ended) {
      if (this.#ended.size <= KEEP_COUNT && until > now) break;
      this.#ended.delete(runId);
    }
    for (const { runId, settle } of this.#waiters) if (runId === outcome.runId) settle(outcome);
  }

  /** The outcome of a recently ended run. */
  outcome(runId: string): RunOutcome | undefined {
    const ended = this.#ended.get(runId);
    return ended && ended.until > this.#clock.elapsed() ? ended.outcome : undefined;
  }

  /**
   * The outcome of a recently ended run, or of a run that ends later; the run need not be known yet.
   * @returns `undefined` after `timeoutMs` milliseconds (0: at once; absent: no limit), or on `close`
   */
  next(runId: string, timeoutMs?: number): Promise<RunOutcome | undefined> {
    const known = this.outcome(runId);
    if (known || this.#isClosed || timeoutMs === 0) return Promise.resolve(known);
    return new Promise((resolve) => {
      let cancelTimer: (() => void) | undefined;
      const waiter: Waiter = {
        runId,
        settle: (outcome) => {
          cancelTimer?.();
          this.#waiters.delete(waiter);
          resolve(outcome);
        },
      };
      this.#waiters.add(waiter);
      if (timeoutMs !== undefined) cancelTimer = this.#clock.setTimeout(() => waiter.settle(undefined), timeoutMs);
    });
  }

  /** Releases the callers that wait for a run; the run continues. */
  giveUp(id: string): void {
    for (const { runId, settle } of this.#waiters) if (runId === id) settle(undefined);
  }

  /** Leaves the live runs to the next start of the gateway, and releases all callers. */
  close(): void {
    this.#isClosed = true;
    for (const run of this.all()) {
      run.abandon();
      this.remove(run);
    }
    for (const { settle } of this.#waiters) settle(undefined);
  }
}
