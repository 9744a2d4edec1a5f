/** A run between its acceptance and its end. */
import type { RunRequest, RunState } from "@svc/sdk/services";
import type { QueueSettings } from "./queue-settings.ts";
import type { RunEvents } from "./events.ts";

/** What a run left in its session. */
export interface Traces {
  /** Ids of its messages. */
  readonly ids: string[];
  /** epoch ms; absent: the session was not there before */
  readonly unusedSince: number | undefined;
}

export class LiveRun {
  readonly request: RunRequest;
  /** epoch ms */
  readonly acceptedAt: number;
  readonly events: RunEvents;
  readonly #abort = new AbortController();
  #abortReason: string | undefined;
  readonly #abandon = new AbortController();
  /** `ending`: its end is being stored, nothing can stop it any more. */
  phase: "accepting" | "waiting" | "running" | "ending" = "accepting";
  /** epoch ms */
  startedAt: number | undefined;
  /** How it waits while its session is busy; absent: for its turn, without further rules. */
  queue: QueueSettings | undefined;
  /** The session was busy when it came. */
  isHeld = false;
  /** The queue was full: only a line of its message goes into the next turn. */
  isOverflow = false;
  /** Its message stands in another run's turn already, and waits for a turn of its own. */
  isSteered = false;
  /** What it may take back at its end (`request.acknowledgement`); absent: it takes nothing back. */
  traces: Traces | undefined;
  /** Takes it out of the queue of its session; false when it is past that. */
  leaveQueue: () => boolean = () => false;

  constructor(request: RunRequest, acceptedAt: number, events: RunEvents) {
    this.request = request;
    this.acceptedAt = acceptedAt;
    this.events = events;
  }

  get id(): string {
    return this.request.runId;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get abortReason(): string {
    return this.#abortReason ?? "rpc";
  }

  /** Aborts when the run is left to the next start of the gateway: nothing more of it is stored then. */
  get abandoned(): AbortSignal {
    return this.#abandon.signal;
  }

  /** @returns false when it is being stopped already, or past that. */
  abort(reason: string): boolean {
    if (this.signal.aborted || this.phase === "ending") return false;
    this.#abortReason = reason;
    this.#abort.abort();
    return true;
  }

  abandon(): void {
    this.#abandon.abort();
    this.#abort.abort();
  }

  state(): RunState {
    const { runId, sessionKey, origin } = this.request;
    const status = this.startedAt === undefined ? "accepted" : "running";
    return {
      runId,
      sessionKey,
      origin,
      status,
      ...(this.startedAt === undefined ? {} : { startedAt: this.startedAt }),
    };
  }
}
