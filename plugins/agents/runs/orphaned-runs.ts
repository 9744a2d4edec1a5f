/** Takes over runs whose gateway has ended, in order of acceptance. */
import { Turns } from "@svc/sdk";
import type { RunOutcome } from "@svc/sdk/agents";
import type { Environment } from "./environment.ts";
import { recoverInterrupted } from "./interrupted.ts";
import type { RunRecord, RunStore } from "./store.ts";

export interface Adopter {
  /** Whether this gateway already has the run, or is accepting it. */
  has(runId: string): boolean;
  /** Queues a run that was waiting, or that restarts. */
  adopt(record: RunRecord): Promise<void>;
  /** Announces the outcome of an interrupted run that was closed. */
  closed(record: RunRecord, outcome: RunOutcome): void;
}

export class OrphanedRuns {
  readonly #env: Environment;
  readonly #adopter: Adopter;
  readonly #turns = new Turns();
  #isStopped = false;

  constructor(env: Environment, adopter: Adopter) {
    this.#env = env;
    this.#adopter = adopter;
  }

  /** @throws errors of the storage */
  take(): Promise<void> {
    return this.#turns.take("take", () => this.#takeAll());
  }

  stop(): void {
    this.#isStopped = true;
  }

  async #takeAll(): Promise<void> {
    const { store } = this.#env;
    for (const record of await store.unfinished()) {
      const { runId, status } = record.state;
      if (this.#isStopped || this.#adopter.has(runId)) continue;
      if (status === "accepted") await this.#adopter.adopt(record);
      else if (record.owner !== store.owner.id && (await store.take(runId))) await this.#recover(record);
    }
  }

  /** Recovers an interrupted run that this gateway has taken over. */
  async #recover(record: RunRecord): Promise<void> {
    const { store, log } = this.#env;
    const recovered = await recoverInterrupted(record, this.#env);
    if (!recovered) return;
    const { runId } = record.state;
    log.info({ runId, isResumed: recovered.isResumed }, "recovered a run that was interrupted by a restart");
    if (!recovered.isResumed) return this.#adopter.closed(record, recovered.outcome);
    const again = await store.find(runId);
    if (again) await this.#adopter.adopt(again);
  }
}

/** Whether the run belongs to this gateway; takes it over from a gateway that has ended. */
export async function belongsHere({ owner, state }: RunRecord, store: RunStore): Promise<boolean> {
  return owner === store.owner.id || store.take(state.runId);
}
