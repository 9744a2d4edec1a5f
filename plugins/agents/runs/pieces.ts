/**
 * Text as a model streams it, told in as few steps as the event loop allows: a piece at once when none was told in this
 * turn of the loop, those that follow within it together. A model that is slower than the loop notices nothing.
 */
export class Pieces {
  readonly #tell: (delta: string) => void;
  #held = "";
  #turning = false;

  constructor(tell: (delta: string) => void) {
    this.#tell = tell;
  }

  add(delta: string): void {
    if (this.#turning) {
      this.#held += delta;
      return;
    }
    this.#turning = true;
    setImmediate(() => this.#turned());
    this.#tell(delta);
  }

  /** Tells what is held, now: something else is about to be told. */
  flush(): void {
    const held = this.#held;
    this.#held = "";
    if (held !== "") this.#tell(held);
  }

  #turned(): void {
    this.#turning = false;
    const held = this.#held;
    this.#held = "";
    if (held !== "") this.add(held);
  }
}
