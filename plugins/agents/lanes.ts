/** Who may run now: one at a time per lane, first come first served, and at most `limit` at a time over all lanes. */

interface Job {
  readonly lane: string;
  readonly work: () => Promise<void>;
  started: boolean;
}

/** Spec: http/sessions-routing.md §6. Closed at first: jobs queue up and nothing starts until `open`. */
export class Lanes {
  readonly #limit: number;
  readonly #lanes = new Map<string, Job[]>();
  /** Heads of their lanes that wait for one of the `limit` places. */
  readonly #ready: Job[] = [];
  readonly #whenIdle: (() => void)[] = [];
  #running = 0;
  #open = false;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /**
   * Queues `work` at the end of `lane`. A rejection only frees the place; `work` has to report its own failures.
   * @returns takes it out again; false when it had started (or was taken out before).
   */
  enter(lane: string, work: () => Promise<void>): () => boolean {
    const job: Job = { lane, work, started: false };
    const jobs = this.#lanes.get(lane);
    if (jobs) jobs.push(job);
    else {
      this.#lanes.set(lane, [job]);
      this.#ready.push(job);
    }
    this.#fill();
    return () => !job.started && this.#remove(job);
  }

  open(): void {
    this.#open = true;
    this.#fill();
  }

  /** Starts nothing more. Resolves when the last running job has ended; safe to call twice. */
  close(): Promise<void> {
    this.#open = false;
    if (this.#running === 0) return Promise.resolve();
    return new Promise((resolve) => this.#whenIdle.push(resolve));
  }

  #fill(): void {
    while (this.#open && this.#running < this.#limit) {
      const job = this.#ready.shift();
      if (!job) return;
      job.started = true;
      this.#running += 1;
      void this.#run(job);
    }
  }

  async #run(job: Job): Promise<void> {
    await job.work().catch(() => undefined);
    this.#running -= 1;
    this.#remove(job);
    this.#fill();
    if (this.#running === 0) for (const resolve of this.#whenIdle.splice(0)) resolve();
  }

  #remove(job: Job): boolean {
    const jobs = this.#lanes.get(job.lane) ?? [];
    const place = jobs.indexOf(job);
    if (place < 0) return false;
    jobs.splice(place, 1);
    const waiting = this.#ready.indexOf(job);
    if (waiting >= 0) this.#ready.splice(waiting, 1);
    const head = jobs[0];
    if (!head) this.#lanes.delete(job.lane);
    else if (place === 0) this.#ready.push(head);
    return true;
  }
}
