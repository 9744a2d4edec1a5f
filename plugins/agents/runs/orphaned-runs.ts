/** Takes over runs whose gateway has ended, in order of acceptance, and checks again when a lease expires. */
import { type Lease, LEASE_MS } from "@svc/kit/lease";
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
  #taking: Promise<void> | undefined;
  #cancelLook: (() => void) | undefined;
  #isStopped = false;

  constructor(env: Environment, adopter: Adopter) {
    this.#env = env;
    this.#adopter = adopter;
  }

  /** @throws errors of the storage */
  take(): Promise<void> {
    return (this.#taking ??= this.#takeAll().finally(() => (this.#taking = undefined)));
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancelLook?.();
  }

  async #takeAll(): Promise<void> {
    const { store, clock, log } = this.#env;
    this.#cancelLook?.();
    let lookInMs = Infinity;
    for (const record of await store.unfinished()) {
      const { runId, status } = record.state;
      if (this.#isStopped || this.#adopter.has(runId)) continue;
      const leftMs = store.leaseLeft(record.lease);
      if (leftMs > 0) lookInMs = Math.min(lookInMs, leftMs);
      else if (status === "accepted") await this.#adopter.adopt(record);
      else if (record.lease.owner !== store.owner && (await belongsHere(runId, record.lease, store)))
        await this.#recover(record);
    }
    if (lookInMs > LEASE_MS || this.#isStopped) return;
    this.#cancelLook = clock.setTimeout(() => {
      this.take().catch((error: unknown) =>
        log.warn({ err: error }, "runs of other gateways could not be read; retrying at the next sweep"),
      );
    }, lookInMs);
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
export async function belongsHere(runId: string, lease: Lease, store: RunStore): Promise<boolean> {
  return lease.owner === store.owner || (store.leaseLeft(lease) === 0 && (await store.take(runId, lease)));
}
