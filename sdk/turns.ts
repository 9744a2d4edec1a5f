/** Work on the same thing, one after the other. */

/** One at a time for each key, in the order of the calls. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs `work` when all earlier work under `key` has ended, however it ended. @throws what `work` throws */
  async take<T>(key: string, work: () => Promise<T>): Promise<T> {
    const turn = (this.#last.get(key) ?? Promise.resolve()).then(work, work);
    this.#last.set(key, turn);
    try {
      return await turn;
    } finally {
      if (this.#last.get(key) === turn) this.#last.delete(key);
    }
  }
}
