/** Both streams of a program as one text, in the order they came, bounded. */
import { StringDecoder } from "node:string_decoder";
import { BoundedText, type KeptText } from "@svc/kit/exec";

/** Choice: UTF-16 units of output an answer has at most; the middle is left out. */
export const MAX_ANSWER_CHARS = 60_000;

export class Output {
  readonly #decoders = { stdout: new StringDecoder("utf8"), stderr: new StringDecoder("utf8") };
  readonly #sinks: readonly ((text: string) => void)[];

  /** @param sinks get the text as it comes */
  constructor(...sinks: readonly ((text: string) => void)[]) {
    this.#sinks = sinks;
  }

  append(chunk: Buffer, stream: "stdout" | "stderr"): void {
    this.#tell(this.#decoders[stream].write(chunk));
  }

  /** No more follows. */
  end(): void {
    for (const decoder of Object.values(this.#decoders)) this.#tell(decoder.end());
  }

  #tell(text: string): void {
    if (text !== "") for (const sink of this.#sinks) sink(text);
  }
}

/** An output that is kept to be told at the end. */
export function keptOutput(max = MAX_ANSWER_CHARS): {
  append: Output["append"];
  end(): KeptText;
} {
  const kept = new BoundedText(max);
  const output = new Output((text) => kept.add(text));
  return {
    append: (chunk, stream) => output.append(chunk, stream),
    end() {
      output.end();
      return kept.peek();
    },
  };
}
