/** One at a time for each key, in the order of the calls. */
export class KeyLock {
  readonly #last = new Map<string, Promise<unknown>>();

  /** @throws what `work` throws */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    const mine = (async () => {
      await before?.catch(() => undefined);
      return work();
    })();
    this.#last.set(key, mine);
    try {
      return await mine;
    } finally {
      if (this.#last.get(key) === mine) this.#last.delete(key);
    }
  }
}
