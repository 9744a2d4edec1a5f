/**
 * Runs what waits: the runs of one job one after the other, those of different jobs in parallel.
 *
 * A run belongs to its owner by a lease on disk, which the owner renews. Runs of a process or plugin generation that has
 * ended are taken over when their lease expires.
 */
import { LEASE_MS, leaseLeft, Renewal } from "@svc/kit/lease";
import { isGatewayError, unavailable } from "@svc/sdk";
import { type Done, type ExecutionSources, perform } from "./execution.ts";
import { type Definition, type Fire, notRun, type Settled } from "../store/records.ts";
import { settle, type SettlingSources } from "./settling.ts";

/** Choice: milliseconds until a failed storage operation is retried. */
const RETRY_MS = 5_000;
const REMOVED = "the job was removed";
const DISABLED = "the job was disabled";

export interface RunnerSources extends ExecutionSources, SettlingSources {
  /** Distinguishes this generation of the plugin from all others. */
  readonly owner: string;
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
  /** Jobs whose next run is being claimed, and those to check again afterwards. */
  readonly #claiming = new Map<string, Promise<void>>();
  readonly #again = new Set<string>();
  /** Jobs that wait because `maxConcurrentRuns` is reached. */
  readonly #queued = new Set<string>();
  /** Resolve the promises of `settled`, by run id. */
  readonly #waiters = new Map<string, () => void>();
  /** Cancel the pending retries. */
  readonly #timers = new Set<() => void>();
  readonly #renewal: Renewal;
  #isOpen = false;
  #isStopped = false;

  constructor(sources: RunnerSources) {
    this.#sources = sources;
    const { store, clock, owner } = sources;
    this.#renewal = new Renewal(
      sources,
      () => store.lease(owner, clock.now() + LEASE_MS),
      () => this.#running.size > 0,
    );
  }

  /** Starts with the runs that an earlier process left. */
  async open(): Promise<void> {
    const fires = await this.#sources.store.unsettled();
    if (this.#isStopped) return; // during the read
    this.#isOpen = true;
    for (const jobId of new Set(fires.map((fire) => fire.jobId))) this.pump(jobId);
  }

  /** How many jobs run here. */
  get size(): number {
    return this.#running.size;
  }

  isRunning(jobId: string): boolean {
    return this.#running.has(jobId);
  }

  /** Call this whenever a run of the job may be waiting. Never throws. */
  pump(jobId: string): void {
    if (!this.#isOpen || this.#running.has(jobId)) return;
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

  /** Resolves when the run is settled; rejects when the plugin stops first. */
  async settled(runId: string): Promise<void> {
    await new Promise<void>((resolve) => this.#waiters.set(runId, resolve));
    if (!this.#isOpen) unavailable("the gateway stopped before the job ended; see cron.runs");
  }

  /** Aborts the current run of a job. @returns how many runs that were: 0 or 1 */
  cancel(jobId: string): number {
    const running = this.#running.get(jobId);
    if (running) this.#sources.abortRun(running.fire.runId);
    return running ? 1 : 0;
  }

  /** Detaches from all runs and releases them, so that the next generation takes them over at once. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#isOpen = false;
    this.#renewal.stop();
    for (const cancel of this.#timers) cancel();
    await Promise.all(this.#claiming.values()); // what they start is detached below
    const all = [...this.#running.values()];
    for (const { detach } of all) detach.abort(new Error("the plugin stops"));
    for (const wake of this.#waiters.values()) wake();
    await Promise.all(all.map(({ done }) => done));
    if (all.length > 0) await this.#sources.store.lease(this.#sources.owner, 0).catch(() => undefined); // the lease expires anyway
  }

  async #claim(jobId: string): Promise<void> {
    const { store, clock, log, owner } = this.#sources;
    try {
      const [first] = await store.unsettled(jobId);
      if (!first || !this.#isOpen) return;
      const now = clock.now();
      const leftMs = first.status === "running" ? leaseLeft({ until: first.leaseUntil }, now) : 0;
      if (leftMs > 0) return this.#retryIn(jobId, leftMs);
      const isTakenOver = first.status === "running";
      const until = now + LEASE_MS;
      const fire = isTakenOver
        ? await store.takeOver(first, owner, until)
        : await store.claim(first, owner, now, until);
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
      .catch((error: unknown) => {
        if (!detach.signal.aborted)
          this.#sources.log.error({ err: error, jobId: fire.jobId }, "a cron job stays unsettled until the next start");
      })
      .then(() => this.#ended(fire));
    this.#running.set(fire.jobId, { fire, detach, done });
    this.#renewal.start();
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

  #ended(fire: Fire): void {
    this.#running.delete(fire.jobId);
    this.#waiters.get(fire.runId)?.();
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
