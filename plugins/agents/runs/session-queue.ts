/** The runs of one session: one at a time, and how those wait that cannot run yet. Spec: http/sessions-routing.md §6. */
import type { Clock } from "@svc/sdk";
import type { Lanes } from "./lanes.ts";
import type { LiveRun } from "./live-run.ts";
import { makeRoom, type NextTurn, nextTurn, type Overflow, sameAuthority } from "./queue-plan.ts";
import type { QueueSettings } from "./queue-settings.ts";

export type Turn = NextTurn<LiveRun>;

export interface QueueOptions {
  readonly clock: Pick<Clock, "elapsed" | "setTimeout">;
  readonly lanes: Pick<Lanes, "enter">;
  /** Runs a turn to its end. Never rejects. @returns those of its runs that have to wait again */
  run(turn: Turn): Promise<readonly LiveRun[]>;
  /** Whether a run of this lane may be waiting for `run` to end. */
  isAwaited(run: LiveRun, lane: string): boolean;
  /** Called when nothing runs and nothing waits. */
  onEmpty(): void;
}

/** Lane of a request that names none. Spec: §6. */
export const MAIN_LANE = "main";

export const laneOf = (run: LiveRun) => run.request.lane ?? MAIN_LANE;

export class SessionQueue {
  readonly #options: QueueOptions;
  /** Oldest first. */
  #waiting: LiveRun[] = [];
  #active: LiveRun | undefined;
  /** When the last message under the rules of the queue came, elapsed ms. */
  #lastArrivalAt = 0;
  #cancelTimer: (() => void) | undefined;
  /** Where it queues for a place. */
  #place: { readonly lane: string; readonly leave: () => boolean } | undefined;

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  get active(): LiveRun | undefined {
    return this.#active;
  }

  /** Waiting runs under the rules of the queue, oldest first. */
  get held(): readonly LiveRun[] {
    return this.#waiting.filter(({ queue }) => queue !== undefined);
  }

  /** Queues a run; `first`: before all that wait. */
  add(run: LiveRun, { first = false } = {}): void {
    run.phase = "waiting";
    run.leaveQueue = () => this.remove(run);
    if (run.queue) {
      run.isHeld = !first && (this.#active !== undefined || this.#waiting.length > 0);
      this.#lastArrivalAt = this.#options.clock.elapsed();
    }
    if (first) this.#waiting.unshift(run);
    else this.#waiting.push(run);
    this.#advance();
  }

  /** What a full queue has to do before one more is taken. */
  makeRoom(settings: QueueSettings): Overflow<LiveRun> {
    return makeRoom(this.held, settings);
  }

  /** @returns false when it did not wait here */
  remove(run: LiveRun): boolean {
    const place = this.#waiting.indexOf(run);
    if (place < 0) return false;
    this.#waiting.splice(place, 1);
    this.#advance();
    return true;
  }

  /** Messages to put into the turn that runs: those to steer by, of the same caller. Oldest first. */
  steering(): readonly LiveRun[] {
    const active = this.#active;
    if (!active) return [];
    return this.#waiting.filter(
      ({ queue, isSteered, isOverflow, phase, request }) =>
        (queue?.mode === "steer" || queue?.mode === "steer-backlog") &&
        phase === "waiting" &&
        !isSteered &&
        !isOverflow &&
        sameAuthority(request.principal, active.request.principal),
    );
  }

  /** Starts nothing more. */
  close(): void {
    this.#cancelTimer?.();
    this.#place?.leave();
    this.#waiting = [];
  }

  #advance(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    if (this.#active) return;
    const next = nextTurn(this.#waiting);
    if (!next) {
      this.#leavePlace();
      return this.#options.onEmpty();
    }
    const lane = laneOf(next.leader);
    if (this.#place?.lane === lane) return;
    this.#leavePlace();
    const pauseMs = this.#pauseMs(next);
    if (pauseMs > 0) {
      this.#cancelTimer = this.#options.clock.setTimeout(() => this.#advance(), pauseMs);
      return;
    }
    const place = { lane, leave: () => true as boolean };
    this.#place = place;
    const leave = this.#options.lanes.enter(lane, () => this.#start(), this.#options.isAwaited(next.leader, lane));
    place.leave = leave;
  }

  #leavePlace(): void {
    this.#place?.leave();
    this.#place = undefined;
  }

  /** Quiet time that is still missing; none for messages that found the session idle, and none when the queue is full. */
  #pauseMs({ leader, merged }: Turn): number {
    const first = merged[0] ?? leader;
    if (!first.isHeld || !first.queue || this.held.length >= first.queue.cap) return 0;
    return this.#lastArrivalAt + first.queue.debounceMs - this.#options.clock.elapsed();
  }

  async #start(): Promise<void> {
    this.#place = undefined;
    const turn = nextTurn(this.#waiting);
    if (!turn) return;
    const { leader, merged, overflow } = turn;
    const taken = new Set([leader, ...merged, ...overflow]);
    this.#waiting = this.#waiting.filter((run) => !taken.has(run));
    this.#active = leader;
    let returned: readonly LiveRun[] = [];
    try {
      returned = await this.#options.run(turn);
    } finally {
      this.#active = undefined;
      for (const run of returned) run.phase = "waiting";
      this.#waiting.unshift(...returned);
      this.#advance();
    }
  }
}
