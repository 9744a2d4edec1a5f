/**
 * Executes waiting runs: those of one job in sequence, those of different jobs in parallel.
 *
 * A run belongs to the owner in its record. Runs of a gateway or plugin generation that has ended are taken over.
 */
import { isGatewayStopping } from "@svc/kit/runs";
import { isGatewayError, unavailable } from "@svc/sdk";
import type { Owner } from "@svc/sdk/storage";
import { type Done, type ExecutionSources, perform } from "./execution.ts";
import { type Definition, type Fire, notRun, type Settled } from "../store/records.ts";
import { settle, type SettlingSources } from "./settling.ts";

/** Choice: milliseconds until a failed storage operation is retried. */
const RETRY_MS = 5_000;
const REMOVED = "the job was removed";
const DISABLED = "the job was disabled";

export interface RunnerSources extends ExecutionSources, SettlingSources {
  /** Aborts an agent run and its sub-agents. */
  abortRun(runId: string): void;
  /** Called after each run. Never rejects. */
  ended(): Promise<void>;
}

interface Running {
  readonly fire: Fire;
  /** Aborted to stop following the run; the run itself goes on. */
  readonly detach: AbortController;
  /** Never rejects. */
  readonly done: Promise<void>;
}

export class Runner {
  readonly #sources: RunnerSources;
  readonly #running = new Map<string, Running>();
  /** Jobs whose next run is being claimed, and jobs to check again afterwards. */
  readonly #claiming = new Map<string, Promise<void>>();
  readonly #again = new Set<string>();
  /** Jobs that wait because `maxConcurrentRuns` is reached. */
  readonly #queued = new Set<string>();
  /** Resolvers of the promises of `settled`, by run id. */
  readonly #waiters = new Map<string, (isSettled: boolean) => void>();
  /** Cancel the pending retries. */
  readonly #timers = new Set<() => void>();
  /** Set while runs may begin. */
  #owner: Owner | undefined;
  /** Set when the gateway is about to stop: current runs continue, and no new run begins. */
  #isPaused = false;
  /** A run of this owner was left to the next start. */
  #hasLeft = false;
  readonly #stopping = new AbortController();

  constructor(sources: RunnerSources) {
    this.#sources = sources;
  }

  /** Starts with the runs that an earlier process left. When the lease of the owner ends, the runner leaves its runs to others. */
  async open(owner: Owner): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    this.#owner = owner;
    const stop = () => void this.stop();
    owner.signal.addEventListener("abort", stop, { once: true, signal: this.#stopping.signal });
    await this.look();
  }

  /** Begins the runs that wait, and those whose owner has ended. */
  async look(): Promise<void> {
    const fires = await this.#sources.store.unsettled();
    for (const jobId of new Set(fires.map((fire) => fire.jobId))) this.pump(jobId);
  }

  /** Number of jobs running here. */
  get size(): number {
    return this.#running.size;
  }

  isRunning(jobId: string): boolean {
    return this.#running.has(jobId);
  }

  /** Call this whenever a run of the job may be waiting. Never throws. */
  pump(jobId: string): void {
    if (!this.#owner || this.#isPaused || this.#running.has(jobId)) return;
    if (this.#claiming.has(jobId)) return void this.#again.add(jobId);
    if (this.#running.size + this.#claiming.size >= (this.#sources.config.maxConcurrentRuns ?? Infinity))
      return void this.#queued.add(jobId);
    const claimed = this.#claim(jobId).finally(() => {
      this.#claiming.delete(jobId);
      if (this.#again.delete(jobId)) this.pump(jobId);
      this.#startQueued();
    });
    this.#claiming.set(jobId, claimed);
  }

  /** Resolves when the run is settled; rejects when the plugin stops first, or the run is left to the next start. */
  async settled(runId: string): Promise<void> {
    const isSettled = await new Promise<boolean>((resolve) => {
      this.#waiters.set(runId, resolve);
      if (this.#isPaused && !this.#hasBegun(runId)) resolve(false);
    });
    if (!isSettled) unavailable("the gateway is stopping before the job has ended; see cron.runs after the restart");
  }

  #hasBegun(runId: string): boolean {
    return [...this.#running.values()].some(({ fire }) => fire.runId === runId);
  }

  /** Aborts the current run of a job. @returns the number of aborted runs: 0 or 1 */
  cancel(jobId: string): number {
    const running = this.#running.get(jobId);
    if (running) this.#sources.abortRun(running.fire.runId);
    return running ? 1 : 0;
  }

  /** Call this when the gateway is about to stop. Due runs wait on disk for the next start. */
  pause(): void {
    this.#isPaused = true;
    for (const [runId, settle] of this.#waiters) if (!this.#hasBegun(runId)) settle(false);
  }

  /** Detaches from all runs and releases them, so that the next generation takes them over at once. */
  async stop(): Promise<void> {
    const owner = this.#owner;
    this.#owner = undefined;
    this.#stopping.abort();
    for (const cancel of this.#timers) cancel();
    await Promise.all(this.#claiming.values()); // the runs they start are detached below
    const all = [...this.#running.values()];
    for (const { detach } of all) detach.abort(new Error("the plugin stops"));
    for (const settle of this.#waiters.values()) settle(false);
    await Promise.all(all.map(({ done }) => done));
    if (owner?.isCurrent && (all.length > 0 || this.#hasLeft))
      await this.#sources.store.release(owner.id).catch(() => undefined); // the next generation takes them anyway
  }

  async #claim(jobId: string): Promise<void> {
    const { store, clock, log } = this.#sources;
    try {
      const [first] = await store.unsettled(jobId);
      const owner = this.#owner;
      if (!first || !owner || this.#isPaused) return;
      const isTakenOver = first.status === "running";
      const fire = isTakenOver ? await store.takeOver(first, owner) : await store.claim(first, owner.id, clock.now());
      if (fire) await this.#begin(fire, isTakenOver);
    } catch (error) {
      const wait = (isGatewayError(error) ? error.retryAfterMs : undefined) ?? RETRY_MS;
      log.warn({ err: error, jobId }, "a cron job could not be started; retrying");
      this.#retryIn(jobId, wait);
    }
  }

  #retryIn(jobId: string, ms: number): void {
    const cancel = this.#sources.clock.setTimeout(() => {
      this.#timers.delete(cancel);
      this.pump(jobId);
    }, ms);
    this.#timers.add(cancel);
  }

  /** @param isTakenOver the former owner ended during the run */
  async #begin(fire: Fire, isTakenOver: boolean): Promise<void> {
    const definition = (await this.#sources.store.job(fire.jobId))?.definition;
    const detach = new AbortController();
    const reason = definition === undefined ? REMOVED : DISABLED;
    const isWanted = definition !== undefined && (definition.enabled || fire.isManual || isTakenOver);
    const work = isWanted
      ? this.#run(definition, fire, detach.signal)
      : this.#drop(fire, definition?.name ?? "", isTakenOver, reason);
    const done = work
      .then(() => true)
      .catch((error: unknown) => {
        this.#hasLeft = true;
        if (!detach.signal.aborted && !isGatewayStopping(error))
          this.#sources.log.error(
            { err: error, jobId: fire.jobId },
            "a run of a cron job stays unsettled until the next start",
          );
        return false;
      })
      .then((isSettled) => this.#ended(fire, isSettled));
    this.#running.set(fire.jobId, { fire, detach, done });
  }

  async #run(job: Definition, fire: Fire, signal: AbortSignal): Promise<void> {
    const { publish } = this.#sources;
    publish({ jobId: job.id, action: "started", ...(fire.startedAt === undefined ? {} : { runAtMs: fire.startedAt }) });
    const done: Done = await perform(job, fire, this.#sources, signal);
    await settle(job, fire, done, this.#sources, signal);
    await this.#sources.ended();
  }

  /** Settles a run whose job was removed or disabled. */
  async #drop(fire: Fire, name: string, isTakenOver: boolean, reason: string): Promise<void> {
    const { store, clock } = this.#sources;
    const settled: Settled = isTakenOver
      ? { status: "ran", at: clock.now(), entry: { status: "error", error: `interrupted, and ${reason}` } }
      : notRun("skipped", reason, clock.now());
    await store.write([store.settle(fire, name, settled)]);
  }

  #ended(fire: Fire, isSettled: boolean): void {
    this.#running.delete(fire.jobId);
    this.#waiters.get(fire.runId)?.(isSettled);
    this.#waiters.delete(fire.runId);
    this.pump(fire.jobId);
    this.#startQueued();
  }

  #startQueued(): void {
    const [next] = this.#queued;
    if (next === undefined || !this.#queued.delete(next)) return;
    this.pump(next);
  }
}
