/** Changes a job: reads it, decides, and writes the job and related rows in one transaction. One change of a job at a time. */
import { Turns, unavailable } from "@svc/sdk";
import type { Statement } from "@svc/sdk/storage";
import type { StoredJob } from "./records.ts";
import { type CronStore, isConflict, type JobChange } from "./store.ts";

/** Attempts of a change that conflicts with another gateway on the same storage. */
const ATTEMPTS = 5;
/** Choice: retry delay in milliseconds that a client gets after these conflicts. */
const RETRY_MS = 1_000;

/** The change to write. Without `job`, the job is unchanged. `beside`: statements for the same transaction. */
export interface Decided<T> {
  readonly job?: JobChange | "remove";
  readonly beside?: readonly Statement[];
  readonly result: T;
}

export class JobChanges {
  readonly #store: CronStore;
  readonly #turns = new Turns();

  constructor(store: CronStore) {
    this.#store = store;
  }

  /**
   * @param decide called again after a conflict; gets `undefined` for an unknown job
   * @throws GatewayError `UNAVAILABLE` after several conflicts; whatever `decide` throws
   */
  async change<T>(jobId: string, decide: (job: StoredJob | undefined) => Decided<T> | Promise<Decided<T>>): Promise<T> {
    return this.#turns.take(jobId, async () => {
      for (let attempt = 1; ; attempt += 1) {
        const job = await this.#store.job(jobId);
        const { job: change, beside = [], result } = await decide(job);
        const own =
          job && change ? [change === "remove" ? this.#store.remove(job) : this.#store.change(job, change)] : [];
        if (own.length + beside.length === 0) return result;
        try {
          await this.#store.write([...own, ...beside]);
          return result;
        } catch (error) {
          if (!isConflict(error)) throw error;
          if (attempt === ATTEMPTS)
            unavailable(`cron job ${jobId} is being changed by another caller; try again`, { retryAfterMs: RETRY_MS });
        }
      }
    });
  }
}
