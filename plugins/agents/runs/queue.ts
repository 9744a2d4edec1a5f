/**
 * Decides when a run starts. Each session has a queue, from which one turn runs at a time. The turn at the head of a queue
 * waits for a slot in its lane, which limits the runs of all sessions. Spec: http/sessions-routing.md §6.
 */
import { unavailable } from "@svc/sdk";
import type { RunRequest } from "@svc/sdk/agents";
import type { AgentsConfig, QueueConfig } from "../config.ts";
import { SUBAGENT } from "../subagents/settings.ts";
import type { Environment } from "./environment.ts";
import type { LiveRun, LiveRuns } from "./live-runs.ts";
import { makeRoom, type NextTurn, nextTurn, sameAuthority } from "./queue-plan.ts";
import { queueSettings, type QueueSettings } from "./queue-settings.ts";

export type Turn = NextTurn<LiveRun>;

export interface RunQueueOptions {
  readonly env: Pick<Environment, "services" | "clock" | "config">;
  /** The current `messages.queue`. */
  readonly config: () => QueueConfig;
  readonly live: Pick<LiveRuns, "get" | "ofSession">;
  /** Runs a turn to its end. Never rejects. @returns runs of the turn that have to wait again */
  run(turn: Turn): Promise<readonly LiveRun[]>;
  abort(runId: string, reason: string): void;
}

interface SessionQueue {
  /** Oldest first. */
  waiting: LiveRun[];
  /** Leader of the active turn. */
  active: LiveRun | undefined;
  /** When the last message under queue rules arrived, elapsed ms. */
  lastArrivalAt: number;
  cancelPause: (() => void) | undefined;
  /** Set while the next turn waits for a slot in a lane. */
  place: { readonly lane: string; readonly isBeyond: boolean; leave: () => void } | undefined;
}

/** Waiting runs under queue rules, oldest first. */
const heldIn = (queue: SessionQueue) => queue.waiting.filter((run) => run.queue !== undefined);

export class RunQueues {
  readonly #options: RunQueueOptions;
  readonly lanes: Lanes;
  /** By session key; only sessions with waiting or active runs. */
  readonly #queues = new Map<string, SessionQueue>();

  constructor(options: RunQueueOptions) {
    this.#options = options;
    this.lanes = new Lanes((lane) => laneLimit(lane, options.env.config().defaults));
  }

  /** Removes all waiting runs. */
  clear(): void {
    for (const queue of this.#queues.values()) {
      queue.cancelPause?.();
      queue.place?.leave();
      queue.waiting = [];
    }
  }

  /**
   * How a request waits; `undefined`: for its turn, without queue rules. A command is never merged with messages. The
   * session entry matters, and is read, only while the session is busy.
   */
  async settings(request: RunRequest): Promise<QueueSettings | undefined> {
    const { sessionKey, queue: mode } = request;
    if (mode === undefined || request.compact !== undefined) return undefined;
    const { env, live, config } = this.#options;
    const isBusy = live.ofSession(sessionKey).length > 0;
    const entry = isBusy ? await env.services.sessions.get(sessionKey) : undefined;
    const channel = entry?.["channel"];
    return queueSettings(mode, entry, config(), typeof channel === "string" ? channel : undefined);
  }

  /**
   * For `drop: "new"`. Choice: the request is refused before it is accepted, so that its sender is informed.
   * @throws GatewayError `UNAVAILABLE`
   */
  refuseIfFull(sessionKey: string, settings: QueueSettings): void {
    const queue = this.#queues.get(sessionKey);
    if (!queue || settings.mode === "interrupt" || !makeRoom(heldIn(queue), settings).refuse) return;
    unavailable(`the queue of session ${sessionKey} is full (${settings.cap} messages); send it again later`);
  }

  /** Queues an accepted run at the end, or with mode `interrupt` at the head after stopping other messages. */
  enqueue(run: LiveRun, settings: QueueSettings | undefined): void {
    const { sessionKey } = run.request;
    const isFirst = settings?.mode === "interrupt";
    if (isFirst) this.#interrupt(sessionKey);
    else if (settings) this.#makeRoom(sessionKey, settings);
    const queue = this.#queueOf(sessionKey);
    run.phase = "waiting";
    run.queue = settings;
    if (settings) {
      run.isHeld = !isFirst && (queue.active !== undefined || queue.waiting.length > 0);
      queue.lastArrivalAt = this.#options.env.clock.elapsed();
    }
    if (isFirst) queue.waiting.unshift(run);
    else queue.waiting.push(run);
    this.#advance(sessionKey, queue);
  }

  /** Removes a waiting run from the queue of its session. @returns false when it was not waiting */
  leave(run: LiveRun): boolean {
    const { sessionKey } = run.request;
    const queue = this.#queues.get(sessionKey);
    const index = queue?.waiting.indexOf(run) ?? -1;
    if (!queue || index < 0) return false;
    queue.waiting.splice(index, 1);
    this.#advance(sessionKey, queue);
    return true;
  }

  isWaiting(run: LiveRun): boolean {
    return this.#queues.get(run.request.sessionKey)?.waiting.includes(run) ?? false;
  }

  /** Waiting messages of the same caller that should steer the turn of `active`, oldest first. */
  steering(active: LiveRun): readonly LiveRun[] {
    const { waiting = [] } = this.#queues.get(active.request.sessionKey) ?? {};
    return waiting.filter(
      ({ queue, isSteered, isOverflow, phase, request }) =>
        (queue?.mode === "steer" || queue?.mode === "steer-backlog") &&
        phase === "waiting" &&
        !isSteered &&
        !isOverflow &&
        sameAuthority(request.principal, active.request.principal),
    );
  }

  /**
   * Stops the messages of the session. Choice: runs without queue rules, e.g. the gateway's own notices, keep waiting.
   */
  #interrupt(sessionKey: string): void {
    const queue = this.#queues.get(sessionKey);
    if (!queue) return;
    for (const waiting of heldIn(queue)) this.#options.abort(waiting.id, "interrupted");
    if (queue.active) this.#options.abort(queue.active.id, "interrupted");
  }

  #makeRoom(sessionKey: string, settings: QueueSettings): void {
    const queue = this.#queues.get(sessionKey);
    const room = queue && makeRoom(heldIn(queue), settings);
    if (!room || room.refuse) return; // already accepted, although the queue is full: several arrived at once
    for (const run of room.drop) this.#options.abort(run.id, "dropped");
    for (const run of room.summarize) run.isOverflow = true;
  }

  #queueOf(sessionKey: string): SessionQueue {
    const known = this.#queues.get(sessionKey);
    if (known) return known;
    const queue = { waiting: [], active: undefined, lastArrivalAt: 0, cancelPause: undefined, place: undefined };
    this.#queues.set(sessionKey, queue);
    return queue;
  }

  /** To be called after each change of a queue: sends its next turn to its lane, after the debounce pause. */
  #advance(sessionKey: string, queue: SessionQueue): void {
    queue.cancelPause?.();
    queue.cancelPause = undefined;
    if (queue.active) return;
    const next = nextTurn(queue.waiting);
    const lane = next && laneOf(next.leader);
    // A caller that waits for a run of the queue also waits for all runs before it.
    const isBeyond = lane !== undefined && queue.waiting.some((run) => this.#isAwaited(run, lane));
    if (lane !== undefined && queue.place?.lane === lane && queue.place.isBeyond === isBeyond) return;
    queue.place?.leave();
    queue.place = undefined;
    if (!next || lane === undefined) {
      if (this.#queues.get(sessionKey) === queue) this.#queues.delete(sessionKey);
      return;
    }
    const { clock } = this.#options.env;
    const pauseMs = this.#pauseMs(queue, next);
    if (pauseMs > 0) {
      queue.cancelPause = clock.setTimeout(() => this.#advance(sessionKey, queue), pauseMs);
      return;
    }
    const place: NonNullable<SessionQueue["place"]> = { lane, isBeyond, leave: () => undefined };
    queue.place = place; // before `enter`, which may start the turn at once
    place.leave = this.lanes.enter(lane, () => this.#start(sessionKey, queue), isBeyond);
  }

  /** Remaining debounce pause; 0 for messages to an idle session and for a full queue. */
  #pauseMs(queue: SessionQueue, { leader, merged }: Turn): number {
    const first = merged[0] ?? leader;
    if (!first.isHeld || !first.queue || heldIn(queue).length >= first.queue.cap) return 0;
    return queue.lastArrivalAt + first.queue.debounceMs - this.#options.env.clock.elapsed();
  }

  /** Whether a run of this lane waits for `run` to end. Choice: never true for sub-runs, whose parents continue without them. */
  #isAwaited({ request: { parentRunId = "" } }: LiveRun, lane: string): boolean {
    const parent = this.#options.live.get(parentRunId);
    return lane !== SUBAGENT && parent?.phase === "running" && laneOf(parent) === lane;
  }

  async #start(sessionKey: string, queue: SessionQueue): Promise<void> {
    queue.place = undefined;
    const turn = nextTurn(queue.waiting);
    if (!turn) return;
    const { leader, merged, overflow } = turn;
    const inTurn = new Set([leader, ...merged, ...overflow]);
    queue.waiting = queue.waiting.filter((run) => !inTurn.has(run));
    queue.active = leader;
    let returned: readonly LiveRun[] = [];
    try {
      returned = await this.#options.run(turn);
    } finally {
      queue.active = undefined;
      for (const run of returned) run.phase = "waiting";
      queue.waiting.unshift(...returned);
      this.#advance(sessionKey, queue);
    }
  }
}

/** Default lane. Spec: §6. */
const MAIN_LANE = "main";

export const laneOf = (run: LiveRun) => run.request.lane ?? MAIN_LANE;

/** Lane of webhook runs. */
const HOOK_LANE = "hook";

/** Lane of runs whose callers wait with an open HTTP connection. */
export const HTTP_LANE = "http";
/** Choice: large enough for a program with many parallel requests, since waiting in this lane delays its first output. */
const HTTP_RUNS = 64;

/** Lane of cron jobs. Choice: no tight limit, since `cron.maxConcurrentRuns` already limits jobs and a hanging job must not block others. */
const CRON_LANE = "cron";
const CRON_RUNS = 1_000;

/**
 * Number of slots of a lane. `nested` and lanes named by callers have one. Choice: webhook runs have their own lane, as
 * large as the main one, so that a webhook run of ten minutes does not block other senders.
 */
export function laneLimit(lane: string, { maxConcurrent, subagents }: AgentsConfig["defaults"]): number {
  if (lane === MAIN_LANE || lane === HOOK_LANE) return maxConcurrent;
  if (lane === HTTP_LANE) return HTTP_RUNS;
  if (lane === CRON_LANE) return CRON_RUNS;
  return lane === SUBAGENT ? subagents.maxConcurrent : 1;
}

interface Job {
  readonly work: () => Promise<void>;
  readonly places: 0 | 1;
}

interface Lane {
  readonly waiting: Job[];
  running: number;
}

/** Slots by lane name, first come, first served. Closed at first: jobs wait, and none starts until `open`. */
export class Lanes {
  readonly #limit: (lane: string) => number;
  readonly #lanes = new Map<string, Lane>();
  readonly #whenIdle: (() => void)[] = [];
  #running = 0;
  #isOpen = false;

  /** @param limit number of slots of a lane, read each time a slot is assigned, so that changed settings apply at once */
  constructor(limit: (lane: string) => number) {
    this.#limit = limit;
  }

  /**
   * Queues `work` at the end of `lane`. A rejection only frees the slot; `work` has to report its own failures.
   * @param isBeyond it needs no slot, since the job that waits for it already holds one of this lane
   * @returns a function that removes `work` from the lane. It returns false when `work` had started or was removed
   */
  enter(name: string, work: () => Promise<void>, isBeyond = false): () => boolean {
    const job: Job = { work, places: isBeyond ? 0 : 1 };
    const lane = this.#lanes.get(name) ?? { waiting: [], running: 0 };
    this.#lanes.set(name, lane);
    if (isBeyond && this.#isOpen) {
      void this.#run(name, lane, job);
      return () => false;
    }
    lane.waiting.push(job);
    this.#fill(name, lane);
    return () => {
      const index = lane.waiting.indexOf(job);
      if (index >= 0) lane.waiting.splice(index, 1);
      this.#forgetIfEmpty(name, lane);
      return index >= 0;
    };
  }

  /** Whether a job is running. */
  get isWorking(): boolean {
    return this.#running > 0;
  }

  open(): void {
    this.#isOpen = true;
    this.refill();
  }

  /** Assigns free slots, e.g. after a limit was raised. */
  refill(): void {
    for (const [name, lane] of this.#lanes) this.#fill(name, lane);
  }

  /** Starts no more jobs. Resolves when the last running job has ended; safe to call twice. */
  close(): Promise<void> {
    this.#isOpen = false;
    if (this.#running === 0) return Promise.resolve();
    return new Promise((resolve) => this.#whenIdle.push(resolve));
  }

  #fill(name: string, lane: Lane): void {
    while (this.#isOpen && lane.running < this.#limit(name)) {
      const job = lane.waiting.shift();
      if (!job) return;
      void this.#run(name, lane, job);
    }
  }

  async #run(name: string, lane: Lane, job: Job): Promise<void> {
    lane.running += job.places;
    this.#running += 1;
    await job.work().catch(() => undefined);
    lane.running -= job.places;
    this.#running -= 1;
    this.#fill(name, lane);
    this.#forgetIfEmpty(name, lane);
    if (this.#running === 0) for (const resolve of this.#whenIdle.splice(0)) resolve();
  }

  #forgetIfEmpty(name: string, lane: Lane): void {
    if (lane.running === 0 && lane.waiting.length === 0 && this.#lanes.get(name) === lane) this.#lanes.delete(name);
  }
}
