/**
 * Takes times that wait to their end: those of one job one after the other, those of different jobs beside each other.
 *
 * What it runs is its own by a lease on disk, which it says again as long as it lives. What a former process or
 * generation has left is taken over once its lease is over.
 */
import { isGatewayError, unavailable } from "@svc/sdk";
import { type Done, type ExecutionSources, perform } from "./execution.ts";
import { type Definition, type Fire, passedAs, type Settled } from "../store/records.ts";
import { settle, type SettlingSources } from "./settling.ts";

/** Choice: milliseconds a lease lasts, and between two times it is said again. */
export const LEASE_MS = 10_000;
const RENEW_MS = 3_000;
/** Choice: milliseconds until storage that refuses is asked again. */
const RETRY_MS = 5_000;
const REMOVED = "the job was removed";
const DISABLED = "the job was disabled";

export interface RunnerSources extends Omit<ExecutionSources, "events">, Omit<SettlingSources, "events"> {
  readonly events: ExecutionSources["events"] & SettlingSources["events"];
  /** Distinguishes this generation of the plugin from all others. */
  readonly owner: string;
  /** Stops a run of an agent and what it has started. */
  abortRun(runId: string): void;
  /** Told after each run. Never rejects. */
  ended(): Promise<void>;
}

interface Running {
  readonly fire: Fire;
  /** Aborts when it is to be left alone. */
  readonly leave: AbortController;
  /** Never rejects. */
  readonly done: Promise<void>;
}

export class Runner {
  readonly #sources: RunnerSources;
  readonly #running = new Map<string, Running>();
  /** Jobs that are looked at, and those to be looked at once more. */
  readonly #looking = new Map<string, Promise<void>>();
  readonly #again = new Set<string>();
  /** Jobs for which there was no room. */
  readonly #crowded = new Set<string>();
  /** Told when a time is settled, by run id. */
  readonly #waiters = new Map<string, () => void>();
  /** Cancel the looks that are to come. */
  readonly #timers = new Set<() => void>();
  #stopRenewing: (() => void) | undefined;
  #isOpen = false;
  #isStopped = false;

  constructor(sources: RunnerSources) {
    this.#sources = sources;
  }

  /** Begins with what former processes have left. */
  async open(): Promise<void> {
    const fires = await this.#sources.store.unsettled();
    if (this.#isStopped) return; // meanwhile
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

  /** To be called whenever a time of the job waits. Never throws. */
  pump(jobId: string): void {
    if (!this.#isOpen || this.#running.has(jobId)) return;
    if (this.#looking.has(jobId)) return void this.#again.add(jobId);
    if (this.#running.size + this.#looking.size >= (this.#sources.config.maxConcurrentRuns ?? Infinity))
      return void this.#crowded.add(jobId);
    const looked = this.#look(jobId).finally(() => {
      this.#looking.delete(jobId);
      if (this.#again.delete(jobId)) this.pump(jobId);
      this.#makeRoom();
    });
    this.#looking.set(jobId, looked);
  }

  /** Resolves when the time with this run id is settled; rejects when this stops first. */
  async settled(runId: string): Promise<void> {
    await new Promise<void>((resolve) => this.#waiters.set(runId, resolve));
    if (!this.#isOpen) unavailable("the gateway stopped before the job ended; see cron.runs");
  }

  /** Stops what the job is doing. @returns how many runs that are */
  cancel(jobId: string): number {
    const running = this.#running.get(jobId);
    if (running) this.#sources.abortRun(running.fire.runId);
    return running ? 1 : 0;
  }

  /** Leaves everything alone, so that the next generation takes it over at once. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#isOpen = false;
    this.#stopRenewing?.();
    for (const cancel of this.#timers) cancel();
    await Promise.all(this.#looking.values()); // what they begin is left alone, too
    const all = [...this.#running.values()];
    for (const { leave } of all) leave.abort(new Error("the plugin stops"));
    for (const tell of this.#waiters.values()) tell();
    await Promise.all(all.map(({ done }) => done));
    if (all.length > 0) await this.#sources.store.lease(this.#sources.owner, 0).catch(() => undefined); // it runs out by itself
  }

  async #look(jobId: string): Promise<void> {
    const { store, clock, log, owner } = this.#sources;
    try {
      const [first] = await store.unsettled(jobId);
      if (!first || !this.#isOpen) return;
      const now = clock.now();
      // A lease that is longer than any can be was given before the clock was set back.
      const leftMs = first.status === "running" ? first.leaseUntil - now : 0;
      if (leftMs > 0 && leftMs <= LEASE_MS) return this.#later(jobId, leftMs);
      const isLeft = first.status === "running";
      const until = now + LEASE_MS;
      const fire = isLeft ? await store.takeOver(first, owner, until) : await store.claim(first, owner, now, until);
      if (fire) await this.#begin(fire, isLeft);
    } catch (error) {
      const wait = (isGatewayError(error) ? error.retryAfterMs : undefined) ?? RETRY_MS;
      log.warn({ err: error, jobId }, "a cron job could not be run; it is tried again");
      this.#later(jobId, wait);
    }
  }

  #later(jobId: string, ms: number): void {
    const cancel = this.#sources.clock.setTimeout(() => {
      this.#timers.delete(cancel);
      this.pump(jobId);
    }, ms);
    this.#timers.add(cancel);
  }

  /** @param isLeft its owner has left it while it ran */
  async #begin(fire: Fire, isLeft: boolean): Promise<void> {
    const definition = (await this.#sources.store.job(fire.jobId))?.definition;
    const leave = new AbortController();
    const reason = definition === undefined ? REMOVED : DISABLED;
    const isWanted = definition !== undefined && (definition.enabled || fire.isManual || isLeft);
    const work = isWanted
      ? this.#run(definition, fire, leave.signal)
      : this.#drop(fire, definition?.name ?? "", isLeft, reason);
    const done = work
      .catch((error: unknown) => {
        if (!leave.signal.aborted)
          this.#sources.log.error({ err: error, jobId: fire.jobId }, "a cron job is left to the next start");
      })
      .then(() => this.#ended(fire));
    this.#running.set(fire.jobId, { fire, leave, done });
    this.#renew();
  }

  async #run(job: Definition, fire: Fire, signal: AbortSignal): Promise<void> {
    const { publish } = this.#sources;
    publish({ jobId: job.id, action: "started", ...(fire.startedAt === undefined ? {} : { runAtMs: fire.startedAt }) });
    const done: Done = await perform(job, fire, this.#sources, signal);
    await settle(job, fire, done, this.#sources, signal);
    await this.#sources.ended();
  }

  /** A time nobody wants to be run any more. */
  async #drop(fire: Fire, name: string, isLeft: boolean, reason: string): Promise<void> {
    const { store, clock } = this.#sources;
    const settled: Settled = isLeft
      ? { status: "ran", at: clock.now(), entry: { status: "error", error: `interrupted, and ${reason}` } }
      : passedAs("skipped", reason, clock.now());
    await store.write([store.settle(fire, name, settled)]);
  }

  #ended(fire: Fire): void {
    this.#running.delete(fire.jobId);
    this.#waiters.get(fire.runId)?.();
    this.#waiters.delete(fire.runId);
    this.pump(fire.jobId);
    this.#makeRoom();
  }

  #makeRoom(): void {
    const [next] = this.#crowded;
    if (next === undefined || !this.#crowded.delete(next)) return;
    this.pump(next);
  }

  /** Says every now and then that this is still there, as long as anything runs. */
  #renew(): void {
    if (this.#stopRenewing || !this.#isOpen) return;
    const { clock, store, owner, log } = this.#sources;
    this.#stopRenewing = clock.setInterval(() => {
      if (this.#running.size === 0) {
        this.#stopRenewing?.();
        this.#stopRenewing = undefined;
        return;
      }
      store.lease(owner, clock.now() + LEASE_MS).catch((error: unknown) => {
        log.warn({ err: error }, "the lease of running cron jobs could not be renewed");
      });
    }, RENEW_MS);
  }
}
