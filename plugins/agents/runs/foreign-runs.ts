/** Runs of other gateways on the same state: hands runs over, asks to abort them, and follows them while callers here wait. */
import { persist } from "@svc/kit/persist";
import { pause } from "@svc/sdk";
import type { RunEvent, RunState } from "@svc/sdk/agents";
import type { Environment } from "./environment.ts";
import type { RunEvents } from "./events.ts";
import type { LiveRun, LiveRuns } from "./live-runs.ts";
import type { RunRecord, RunsElsewhere } from "./store.ts";

/** Choice: milliseconds between two reads of the record. */
const FOLLOW_MS = 500;

/** Topic of the live runs of each gateway. */
export const RUNS = "agents/runs";

type Needed = Pick<Environment, "store" | "nudge" | "peers" | "clock" | "log">;

export class ForeignRuns {
  readonly #env: Needed;
  readonly #live: LiveRuns;
  /** Aborts when this gateway stops. */
  readonly #signal: AbortSignal;
  /** By run id: events of a run that was accepted here, which report its end. */
  readonly #followed = new Map<string, RunEvents | undefined>();

  constructor(env: Needed, live: LiveRuns, signal: AbortSignal) {
    this.#env = env;
    this.#live = live;
    this.#signal = signal;
  }

  /** Leaves a run that was accepted here to the gateway that has other runs of its session. @param owner as stored */
  hand({ id, events }: Pick<LiveRun, "id" | "events">, owner: string): void {
    this.#env.nudge(owner);
    void this.follow(id, events);
  }

  /** Live runs of other gateways. */
  of(sessionKey: string): readonly RunState[] {
    return this.#env.peers.shared(RUNS).flatMap(({ value }) => {
      const state = value as RunState; // shared by this plugin
      return state.sessionKey === sessionKey && !this.#live.get(state.runId) ? state : [];
    });
  }

  /** Asks another gateway to abort a run. @returns whether it has the run */
  abortOne(runId: string, reason: string): boolean {
    const { peers, clock, log } = this.#env;
    if (!peers.shared(RUNS).some(({ key }) => key === runId)) return false;
    persist(() => this.abort({ runId }, reason), { clock, signal: this.#signal }).catch((err: unknown) =>
      log.warn({ err, runId }, "another gateway could not be asked to abort its run"),
    );
    return true;
  }

  /** Asks other gateways to abort their runs. @returns ids of these runs */
  async abort(which: RunsElsewhere, reason: string): Promise<readonly string[]> {
    const asked = await this.#env.store.abortElsewhere(which, reason);
    for (const owner of new Set(asked.map((run) => run.owner))) this.#env.nudge(owner);
    return asked.map(({ runId }) => runId);
  }

  /** An event of a run of another gateway. */
  heard(event: RunEvent): void {
    const { runId, outcome } = event;
    if (!this.#followed.has(runId)) return;
    this.#followed.get(runId)?.foreign(event);
    if (!outcome) return;
    this.#followed.set(runId, undefined);
    this.#live.end(outcome);
  }

  /**
   * Passes the outcome of the run to its waiting callers. Never rejects.
   * @param events of a run that was accepted here; the latest ones report its end, even if it is already being followed
   */
  async follow(runId: string, events?: RunEvents): Promise<void> {
    const { store, peers, clock, log } = this.#env;
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
          const followed = this.#followed.get(runId);
          // Gateways that know each other send the events of their runs to the clients of all.
          return peers.self === undefined ? followed?.end(record.outcome) : followed?.foreignEnd(record.outcome);
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
