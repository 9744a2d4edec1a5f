/** Merges both streams of a program into one bounded text, in order of arrival. */
import { StringDecoder } from "node:string_decoder";
import { BoundedText, type KeptText } from "@svc/kit/exec";
import type { Hiding } from "./hiding.ts";

/** Choice: maximum UTF-16 units of output in a result; the middle is left out. */
export const MAX_ANSWER_CHARS = 60_000;

export class Output {
  readonly #decoders = { stdout: new StringDecoder("utf8"), stderr: new StringDecoder("utf8") };
  readonly #hide: Hiding;
  readonly #sinks: readonly ((text: string) => void)[];

  /** @param sinks receive the text as it arrives, apart from an end that may be the beginning of a hidden value */
  constructor(hide: Hiding, ...sinks: readonly ((text: string) => void)[]) {
    this.#hide = hide;
    this.#sinks = sinks;
  }

  append(chunk: Buffer, stream: "stdout" | "stderr"): void {
    this.#tell(this.#hide.add(this.#decoders[stream].write(chunk)));
  }

  /** Flushes incomplete characters; no output follows. */
  end(): void {
    for (const decoder of Object.values(this.#decoders)) this.#tell(this.#hide.add(decoder.end()));
    this.#tell(this.#hide.end());
  }

  #tell(text: string): void {
    if (text !== "") for (const sink of this.#sinks) sink(text);
  }
}

/** Collects output for the result. */
export function keptOutput(
  hide: Hiding,
  max = MAX_ANSWER_CHARS,
): {
  append: Output["append"];
  end(): KeptText;
} {
  const kept = new BoundedText(max);
  const output = new Output(hide, (text) => kept.add(text));
  return {
    append: (chunk, stream) => output.append(chunk, stream),
    end() {
      output.end();
      return kept.peek();
    },
  };
}
