/** Deadlines for many short calls, on one shared timer: a timer per call would be the largest cost of a guarded hook. */

/** Interval of the checks; a deadline fires up to this much late. ms */
const RESOLUTION_MS = 25;

interface Entry {
  readonly dueAt: number;
  readonly expire: () => void;
}

export class Deadlines {
  readonly #entries = new Set<Entry>();
  readonly #now: () => number;
  #timer: NodeJS.Timeout | undefined;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * Calls `expire` once, `ms` milliseconds from now or a little later. @returns a function that cancels the call; safe
   * to call twice
   */
  arm(ms: number, expire: () => void): () => void {
    const entry = { dueAt: this.#now() + ms, expire };
    this.#entries.add(entry);
    this.#timer ??= setInterval(() => this.#look(), RESOLUTION_MS).unref();
    return () => {
      this.#entries.delete(entry);
    };
  }

  #look(): void {
    const now = this.#now();
    for (const entry of this.#entries) {
      if (entry.dueAt > now) continue;
      // Results that arrived while the event loop was blocked are processed first.
      setImmediate(() => {
        if (this.#entries.delete(entry)) entry.expire();
      });
    }
    if (this.#entries.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
