/** Limits the waiting events of a session: checks at every hundredth event, and regularly. */
import { type Clock, isGatewayError, type Logger } from "@svc/sdk";
import type { EventStore } from "./event-store.ts";

/** Choice: events of one session between two checks. */
const CHECK_EACH = 100;

interface FoldingSources {
  readonly store: Pick<EventStore, "crowded" | "tidy">;
  readonly clock: Pick<Clock, "now">;
  readonly log: Pick<Logger, "warn">;
}

export class Folding {
  readonly #sources: FoldingSources;
  /** Events since the last check, by session. */
  readonly #added = new Map<string, number>();
  /** Checks in progress, by session; they never reject. */
  readonly #checking = new Map<string, Promise<void>>();

  constructor(sources: FoldingSources) {
    this.#sources = sources;
  }

  /** To be called for each stored event. */
  stored(sessionKey: string): void {
    const added = (this.#added.get(sessionKey) ?? 0) + 1;
    this.#added.set(sessionKey, added);
    if (added >= CHECK_EACH) void this.#check(sessionKey);
  }

  /** Checks all sessions. To be called at the start, and regularly. */
  async checkAll(): Promise<void> {
    const crowded = await this.#sources.store.crowded();
    for (const sessionKey of new Set([...crowded, ...this.#added.keys()])) await this.#check(sessionKey);
  }

  /** Resolves when no check is in progress. */
  async stop(): Promise<void> {
    await Promise.all(this.#checking.values());
  }

  #check(sessionKey: string): Promise<void> {
    const known = this.#checking.get(sessionKey);
    if (known) return known;
    this.#added.delete(sessionKey);
    const { store, clock, log } = this.#sources;
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
