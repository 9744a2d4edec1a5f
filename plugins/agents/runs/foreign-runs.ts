/** Runs that another gateway on the same storage has, and whose ends callers wait for here. */
import { persist } from "@svc/kit/persist";
import { pause } from "@svc/sdk";
import type { Environment } from "./environment.ts";
import type { RunEvents } from "./events.ts";
import type { LiveRuns } from "./live-runs.ts";
import type { RunRecord } from "./store.ts";

/** Choice: milliseconds between two reads of such a run. */
const FOLLOW_MS = 1_000;

export class ForeignRuns {
  readonly #env: Pick<Environment, "store" | "clock" | "log">;
  readonly #live: LiveRuns;
  /** Aborts when nobody waits any more. */
  readonly #signal: AbortSignal;
  /** What is to hear of the end, where the run began here. */
  readonly #followed = new Map<string, RunEvents | undefined>();

  constructor(env: Pick<Environment, "store" | "clock" | "log">, live: LiveRuns, signal: AbortSignal) {
    this.#env = env;
    this.#live = live;
    this.#signal = signal;
  }

  /**
   * Hands the end of the run to those that wait for it here. Never rejects.
   * @param events of the run, where it began here; the latest ones hear of its end, also if it is followed already
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
      log.warn({ err: error, runId }, "the end of a run of another gateway could not be read");
    } finally {
      this.#followed.delete(runId);
    }
  }
}
