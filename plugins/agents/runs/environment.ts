/** What runs are carried out with. */
import type { Clock, Live, Logger } from "@svc/sdk";
import type { Models, RunOutcome, Sessions, Storage, Tools } from "@svc/sdk/services";
import type { LiveRun } from "./live-runs.ts";
import type { PreparationSources } from "./preparation.ts";
import type { RunStore } from "./store.ts";

export interface Environment extends PreparationSources {
  readonly services: {
    readonly storage: Storage;
    readonly sessions: Sessions;
    readonly models: Models;
    readonly tools: Live<Tools>;
  };
  readonly store: RunStore;
  readonly clock: Clock;
  readonly log: Logger;
}

/** What a turn needs of the queue of its session. */
export interface Ties {
  /** Tells how a run ended whose message another one took over; that is stored already. */
  readonly tookOver: (run: LiveRun, outcome: RunOutcome) => void;
  /** Waiting runs whose messages go into the turn that runs, oldest first. */
  readonly steering: () => readonly LiveRun[];
}
