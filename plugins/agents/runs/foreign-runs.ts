/** Follows runs of other gateways on the same storage while callers here wait for them. */
import { persist } from "@svc/kit/persist";
import { pause } from "@svc/sdk";
import type { Environment } from "./environment.ts";
import type { RunEvents } from "./events.ts";
import type { LiveRuns } from "./live-runs.ts";
import type { RunRecord } from "./store.ts";

/** Choice: milliseconds between two reads of the record. */
const FOLLOW_MS = 1_000;

export class ForeignRuns {
  readonly #env: Pick<Environment, "store" | "clock" | "log">;
  readonly #live: LiveRuns;
  /** Aborts when this gateway stops. */
  readonly #signal: AbortSignal;
  /** By run id: events of a run that was accepted here, which report its end. */
  readonly #followed = new Map<string, RunEvents | undefined>();

  constructor(env: Pick<Environment, "store" | "clock" | "log">, live: LiveRuns, signal: AbortSignal) {
    this.#env = env;
    this.#live = live;
    this.#signal = signal;
  }

  /**
   * Passes the outcome of the run to its waiting callers. Never rejects.
   * @param events of a run that was accepted here; the latest ones report its end, even if it is already being followed
   */
  async follow(runId: string, events?: RunEvents): Promise<void> {
    const { store, clock, log } = this.#env;
    const isFollowed = this.#followed.has(runId);
    if (events || !isFollowed) this.#followed.set(runId, events);
    if (isFollowed) return;
    try {
      while (!this.#signal.aborted && !this.#live.get(runId)) {
        let record: RunRecord | undefined;
        await persist(async () => (record = await store.find(runId)), { clock, signal: this.#signal });
        if (!record) return;
        if (record.outcome) {
          this.#live.end(record.outcome);
          return this.#followed.get(runId)?.end(record.outcome);
        }
        await pause(FOLLOW_MS, clock, this.#signal);
      }
    } catch (error) {
      if (this.#signal.aborted) return;
      log.warn(
        { err: error, runId },
        "the outcome of another gateway's run could not be read; its callers keep waiting",
      );
    } finally {
      this.#followed.delete(runId);
    }
  }
}
