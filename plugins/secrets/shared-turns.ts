import { Turns } from "@svc/sdk";

/** Work that must not overlap: one at a time, and those who ask for the same kind while it waits share one. */
export class SharedTurns {
  readonly #turns = new Turns();
  readonly #waiting = new Map<string, Promise<unknown>>();

  /** Whoever asks gets an outcome of work that began after the question. */
  run<T>(kind: string, work: () => Promise<T>): Promise<T> {
    const waiting = this.#waiting.get(kind);
    if (waiting) return waiting as Promise<T>; // of one kind is always the same work
    const turn = this.#turns.take("", () => {
      this.#waiting.delete(kind);
      return work();
    });
    this.#waiting.set(kind, turn);
    return turn;
  }
}
