import { Turns } from "@svc/sdk";

/** Runs tasks one at a time; callers that request the same kind while it waits share one run. */
export class SharedTurns {
  readonly #turns = new Turns();
  readonly #waiting = new Map<string, Promise<unknown>>();

  /** The result always comes from work that started after this call. */
  run<T>(kind: string, work: () => Promise<T>): Promise<T> {
    const waiting = this.#waiting.get(kind);
    if (waiting) return waiting as Promise<T>; // one kind always does the same work
    const turn = this.#turns.take("", () => {
      this.#waiting.delete(kind);
      return work();
    });
    this.#waiting.set(kind, turn);
    return turn;
  }
}
