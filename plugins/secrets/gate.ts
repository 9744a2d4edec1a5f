/** Limits how many tasks run at the same time; the others wait in first-in, first-out order. */
export class Gate {
  #running = 0;
  readonly #waiting: (() => void)[] = [];
  readonly #width: () => number;

  /** @param width the limit; read each time a task may start */
  constructor(width: () => number) {
    this.#width = width;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#width()) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#running++;
    try {
      return await work();
    } finally {
      this.#running--;
      while (this.#running < this.#width() && this.#waiting.length > 0) {
        this.#running++; // counted before the task starts, so that no other task takes the slot
        this.#waiting.shift()?.();
      }
    }
  }
}
