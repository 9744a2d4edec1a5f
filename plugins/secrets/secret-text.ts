/** A secret in memory. Printing, logging or serializing an object that holds it shows a placeholder. */
import { inspect } from "node:util";

const HIDDEN = "[secret]";

export class SecretText {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The secret itself. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return HIDDEN;
  }

  toJSON(): string {
    return HIDDEN;
  }

  [inspect.custom](): string {
    return HIDDEN;
  }
}
