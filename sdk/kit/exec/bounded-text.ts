/** Output of a program: its beginning and its end, however much there is between. */
import { StringDecoder } from "node:string_decoder";

/** UTF-16 units of each stream that are kept, when nothing else is said. */
export const MAX_OUTPUT_CHARS = 200_000;

/** Room for the mark within the limit. */
const MARK_CHARS = 80;

/** What was kept of an output. */
export interface KeptText {
  /** All of it, or its beginning, a mark with the number of left out characters, and its end. */
  readonly text: string;
  readonly truncated: boolean;
}

/** Bytes of UTF-8, or text, in; at most `max` UTF-16 units out. */
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
    // Cut only when it has doubled: small pieces cost no copy each.
    if (this.#tail.length > 2 * this.#half) this.#tail = this.#tail.slice(-this.#half);
  }

  /** What there is so far; more may follow. */
  peek(): KeptText {
    const truncated = this.#length > 2 * this.#half;
    if (!truncated) return { text: this.#head + this.#tail, truncated };
    const left = this.#length - 2 * this.#half;
    return {
      text: `${this.#head}\n[... ${left} characters left out ...]\n${this.#tail.slice(-this.#half)}`,
      truncated,
    };
  }

  /** The same when no more follows. */
  end(): KeptText {
    this.add(this.#decoder.end());
    return this.peek();
  }
}
