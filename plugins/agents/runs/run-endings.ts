/** How runs ended: told to everybody who waits, and found again in memory or in their records. */
import type { HookEmitter, HOOKS } from "@svc/sdk";
import type { RunOutcome } from "@svc/sdk/services";
import type { LiveRuns } from "./live-runs.ts";
import type { Outcomes } from "./outcomes.ts";
import type { RunEvents } from "./events.ts";
import type { RunStore } from "./store.ts";

export interface RunEndingSources {
  readonly outcomes: Outcomes;
  readonly store: Pick<RunStore, "find">;
  readonly live: Pick<LiveRuns, "has">;
  readonly finished: HookEmitter<typeof HOOKS.runFinished>;
}

export class RunEndings {
  readonly #sources: RunEndingSources;

  constructor(sources: RunEndingSources) {
    this.#sources = sources;
  }

  /** To be called once the end is on disk. */
  tell(events: RunEvents, outcome: RunOutcome): void {
    this.#sources.outcomes.add(outcome);
    events.end(outcome);
    void this.#sources.finished.emit(outcome);
  }

  /** The outcome, or `undefined` after `timeoutMs` milliseconds (absent: no limit) or when the gateway stops first. */
  async wait(runId: string, timeoutMs?: number): Promise<RunOutcome | undefined> {
    const ended = await this.#ended(runId);
    return ended ?? (timeoutMs === 0 ? undefined : this.#sources.outcomes.next(runId, timeoutMs));
  }

  /** From memory or its record. */
  async #ended(runId: string): Promise<RunOutcome | undefined> {
    const { outcomes, live, store } = this.#sources;
    const recent = outcomes.get(runId);
    if (recent || live.has(runId)) return recent;
    const record = await store.find(runId);
    // It may have been accepted and have ended while the record was read.
    return record?.outcome ?? outcomes.get(runId);
  }
}
