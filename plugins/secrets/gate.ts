/** Lets so many pieces of work run at the same time, the others wait in their order. */
export class Gate {
  #running = 0;
  readonly #waiting: (() => void)[] = [];
  readonly #width: () => number;

  /** @param width how many; asked each time one may begin */
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
        this.#running++; // the place is taken before it begins, so that nobody slips in between
        this.#waiting.shift()?.();
      }
    }
  }
}
