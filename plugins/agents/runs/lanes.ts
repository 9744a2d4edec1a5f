/** Places to run in, by the name of their lane: first come first served, a bounded number of each name at a time. */

interface Job {
  readonly work: () => Promise<void>;
  readonly places: 0 | 1;
}

interface Lane {
  readonly waiting: Job[];
  running: number;
}

/** Spec: http/sessions-routing.md §6. Closed at first: jobs queue up and nothing starts until `open`. */
export class Lanes {
  readonly #limit: (lane: string) => number;
  readonly #lanes = new Map<string, Lane>();
  readonly #whenIdle: (() => void)[] = [];
  #running = 0;
  #open = false;

  /** @param limit places of a lane, asked each time one may be given, so that a changed setting counts at once. */
  constructor(limit: (lane: string) => number) {
    this.#limit = limit;
  }

  /**
   * Queues `work` at the end of `lane`. A rejection only frees the place; `work` has to report its own failures.
   * @param beyond it takes no place: who waits for it holds one of this lane already.
   * @returns takes it out again; false when it had started (or was taken out before).
   */
  enter(lane: string, work: () => Promise<void>, beyond = false): () => boolean {
    const job: Job = { work, places: beyond ? 0 : 1 };
    const jobs = this.#lanes.get(lane) ?? { waiting: [], running: 0 };
    this.#lanes.set(lane, jobs);
    if (beyond && this.#open) {
      void this.#run(lane, jobs, job);
      return () => false;
    }
    jobs.waiting.push(job);
    this.#fill(lane, jobs);
    return () => {
      const place = jobs.waiting.indexOf(job);
      if (place >= 0) jobs.waiting.splice(place, 1);
      this.#forgetIfEmpty(lane, jobs);
      return place >= 0;
    };
  }

  open(): void {
    this.#open = true;
    this.refill();
  }

  /** Gives out places again, after a limit was raised. */
  refill(): void {
    for (const [name, lane] of this.#lanes) this.#fill(name, lane);
  }

  /** Starts nothing more. Resolves when the last running job has ended; safe to call twice. */
  close(): Promise<void> {
    this.#open = false;
    if (this.#running === 0) return Promise.resolve();
    return new Promise((resolve) => this.#whenIdle.push(resolve));
  }

  #fill(name: string, lane: Lane): void {
    while (this.#open && lane.running < this.#limit(name)) {
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
