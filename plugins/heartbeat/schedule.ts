/** Schedules heartbeats: one timer for all agents, and the stored time of each agent's last heartbeat. */
import { type Clock, type Logger, Turns } from "@svc/sdk";
import type { BeatStore } from "./beat-store.ts";

/** Choice: longest timer in milliseconds, so that a machine that was suspended or changed its clock notices within this time. */
const LONGEST_SLEEP_MS = 60_000;

/** An agent with heartbeats. */
export interface Beating {
  readonly agentId: string;
  readonly everyMs: number;
}

interface ScheduleSources {
  readonly store: Pick<BeatStore, "lastBeats" | "set" | "claim">;
  /** Agents that have heartbeats now; read at each check. */
  readonly beating: () => readonly Beating[];
  /** Called when a heartbeat is due. */
  readonly due: (agentId: string) => void;
  readonly clock: Pick<Clock, "now" | "setTimeout">;
  readonly log: Pick<Logger, "warn">;
}

export class Schedule {
  readonly #sources: ScheduleSources;
  /** epoch ms by agent */
  #last = new Map<string, number>();
  #cancel: (() => void) | undefined;
  readonly #writes = new Turns();
  #isOpen = false;
  #isStopped = false;

  constructor(sources: ScheduleSources) {
    this.#sources = sources;
  }

  /**
   * Continues from the stored times: an overdue heartbeat runs once, now. A new agent's first heartbeat is one interval
   * from now. May be called again, even after a failure.
   */
  async open(): Promise<void> {
    if (this.#isOpen) return;
    const last = await this.#sources.store.lastBeats();
    if (this.#isStopped || this.#isOpen) return; // meanwhile
    this.#last = last;
    this.#isOpen = true;
    this.look();
  }

  stop(): void {
    this.#isStopped = true;
    this.#isOpen = false;
    this.#cancel?.();
  }

  /** Restarts the agent's interval. Spec: http/sessions-routing.md §7.2. */
  restart(agentId: string): void {
    if (!this.#isOpen) return;
    this.#set(agentId);
    this.look();
  }

  /** Runs due heartbeats and sets the timer. To be called when agents, intervals or the switch changed. */
  look(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    if (!this.#isOpen) return;
    const { clock, beating } = this.#sources;
    const now = clock.now();
    const waits = beating().map(({ agentId, everyMs }) => {
      const last = this.#last.get(agentId);
      if (last === undefined || last > now) {
        this.#set(agentId); // new, or the clock was set back
        return everyMs;
      }
      if (now < last + everyMs) return last + everyMs - now;
      this.#last.set(agentId, now);
      this.#beat(agentId, last, now);
      return everyMs;
    });
    if (waits.length === 0) return;
    this.#cancel = clock.setTimeout(() => this.look(), Math.min(LONGEST_SLEEP_MS, ...waits));
  }

  #set(agentId: string): void {
    const { store, clock, log } = this.#sources;
    const now = clock.now();
    this.#last.set(agentId, now);
    this.#write(
      () => store.set(agentId, now),
      (error) => {
        log.warn({ err: error, agentId }, "the time of a heartbeat could not be stored; a restart may repeat it");
      },
    );
  }

  #beat(agentId: string, last: number, now: number): void {
    const { store, due, log } = this.#sources;
    const claim = async () => {
      const isMine = await store.claim(agentId, last, now);
      const stored = isMine ? undefined : (await store.lastBeats()).get(agentId);
      if (!this.#isOpen) return;
      if (stored === undefined) {
        if (!isMine) this.#set(agentId); // an earlier write failed
        return due(agentId);
      }
      this.#last.set(agentId, stored); // another gateway ran the heartbeat
      this.look();
    };
    this.#write(claim, (error) => {
      log.warn({ err: error, agentId }, "a heartbeat was skipped: the storage cannot be used");
    });
  }

  #write(work: () => Promise<void>, failed: (error: unknown) => void): void {
    void this.#writes.take("beats", work).catch(failed);
  }
}
