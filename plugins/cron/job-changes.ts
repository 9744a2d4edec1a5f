/** Changes of one job, one after the other: read, decided, written together with what belongs to it. */
import { Turns, unavailable } from "@svc/sdk";
import type { Statement } from "@svc/sdk/storage";
import type { StoredJob } from "./records.ts";
import { type CronStore, isConflict, type JobChange } from "./store.ts";

/** Times a change is decided anew because somebody else was first: another gateway on the same storage. */
const ATTEMPTS = 5;

/** What is to be written. `job`: what becomes of it; absent: it stays as it is. */
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
   * @param decide may be called again; sees `undefined` for a job that is not there
   * @throws GatewayError `UNAVAILABLE` when others change the job all the time; what `decide` throws
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
          if (attempt === ATTEMPTS) unavailable(`cron job ${jobId} is being changed by somebody else; try again`);
        }
      }
    });
  }
}
