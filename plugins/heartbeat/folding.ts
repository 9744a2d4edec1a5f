/** Limits the waiting events of a session: checks after each hundred events, and regularly. */
import { type Clock, isGatewayError, type Logger } from "@svc/sdk";
import type { EventStore } from "./event-store.ts";

/** Choice: events of one session, and milliseconds, between two checks of it. */
const CHECK_EACH = 100;
const CHECK_MS = 1_000;

interface FoldingSources {
  readonly store: Pick<EventStore, "crowded" | "tidy">;
  readonly clock: Pick<Clock, "now" | "elapsed">;
  readonly log: Pick<Logger, "warn">;
}

export class Folding {
  readonly #sources: FoldingSources;
  /** Number of events since the last check and its time, by session. */
  readonly #since = new Map<string, { added: number; readonly checkedAt: number }>();
  /** Checks in progress, by session; they never reject. */
  readonly #checking = new Map<string, Promise<void>>();

  constructor(sources: FoldingSources) {
    this.#sources = sources;
  }

  /** To be called for each stored event. */
  stored(sessionKey: string): void {
    const since = this.#since.get(sessionKey) ?? { added: 0, checkedAt: -CHECK_MS };
    since.added += 1;
    this.#since.set(sessionKey, since);
    const isDue = since.added >= CHECK_EACH && this.#sources.clock.elapsed() - since.checkedAt >= CHECK_MS;
    if (isDue) void this.#check(sessionKey);
  }

  /** Checks all sessions. To be called at the start, and regularly. */
  async checkAll(): Promise<void> {
    const crowded = await this.#sources.store.crowded();
    const changed = [...this.#since].flatMap(([sessionKey, { added }]) => (added > 0 ? [sessionKey] : []));
    this.#since.clear();
    for (const sessionKey of new Set([...crowded, ...changed])) await this.#check(sessionKey);
  }

  /** Resolves when no check is in progress. */
  async stop(): Promise<void> {
    await Promise.all(this.#checking.values());
  }

  #check(sessionKey: string): Promise<void> {
    const known = this.#checking.get(sessionKey);
    if (known) return known;
    const { store, clock, log } = this.#sources;
    this.#since.set(sessionKey, { added: 0, checkedAt: clock.elapsed() });
    const checking = store
      .tidy(sessionKey, clock.now())
      .catch((error: unknown) => {
        if (isGatewayError(error) && error.code === "CONFLICT") return this.stored(sessionKey);
        log.warn({ err: error, sessionKey }, "waiting events could not be folded; retrying within a minute");
        this.stored(sessionKey);
      })
      .finally(() => this.#checking.delete(sessionKey));
    this.#checking.set(sessionKey, checking);
    return checking;
  }
}
