/** Output of a program, limited to its beginning and its end. */
import { StringDecoder } from "node:string_decoder";

/** Default maximum of stored UTF-16 units per stream. */
export const MAX_OUTPUT_CHARS = 200_000;

/** Room for the truncation mark within the limit. */
const MARK_CHARS = 80;

/** Stored output. */
export interface KeptText {
  /** The full output, or its beginning, a mark with the number of omitted characters, and its end. */
  readonly text: string;
  readonly truncated: boolean;
}

/** Accepts UTF-8 bytes or text; stores at most `max` UTF-16 units. */
export class BoundedText {
  readonly #decoder = new StringDecoder("utf8");
  readonly #half: number;
  #head = "";
  #tail = "";
  #length = 0;

  constructor(max: number = MAX_OUTPUT_CHARS) {
    this.#half = Math.floor((max - MARK_CHARS) / 2);
  }

  append(chunk: Buffer): void {
    this.add(this.#decoder.write(chunk));
  }

  add(text: string): void {
    this.#length += text.length;
    const room = this.#half - this.#head.length;
    this.#head += text.slice(0, room);
    this.#tail += text.slice(room);
    // Truncated only after it has doubled, so that small chunks need no copy each.
    if (this.#tail.length > 2 * this.#half) this.#tail = this.#tail.slice(-this.#half);
  }

  /** The output so far; more may follow. */
  peek(): KeptText {
    const truncated = this.#length > 2 * this.#half;
    if (!truncated) return { text: this.#head + this.#tail, truncated };
    const left = this.#length - 2 * this.#half;
    return {
      text: `${this.#head}\n[... ${left} characters omitted ...]\n${this.#tail.slice(-this.#half)}`,
      truncated,
    };
  }

  /** The final output. */
  end(): KeptText {
    this.add(this.#decoder.end());
    return this.peek();
  }
}
