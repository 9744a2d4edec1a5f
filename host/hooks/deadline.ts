/** Deadlines for many short calls on one timer: a timer per call is the largest cost of a guarded hook. */

/** Milliseconds between two looks; a deadline fires up to this much late. */
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

  /** Calls `expire` once, `ms` milliseconds from now or a little later. @returns disarms it; safe to call twice. */
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
      // Answers that have arrived while something held up the event loop go first.
      setImmediate(() => {
        if (this.#entries.delete(entry)) entry.expire();
      });
    }
    if (this.#entries.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
