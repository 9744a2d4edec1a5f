/** Size limit for one answer of a model. */
import type { ModelEvent } from "@svc/sdk/models";
import { refuseAnswer } from "./failures.ts";

/** Default maximum characters of an answer. */
export const MAX_ANSWER_CHARS = 2_000_000;

/** Choice: characters added per block and tool call, so that empty ones are bounded, too. */
const BLOCK_CHARS = 64;

/**
 * Counts text, reasoning and tool calls of one answer. Each method throws a GatewayError `UNAVAILABLE` above the limit.
 */
export class AnswerSize {
  readonly #max: number;
  readonly #source: string;
  #chars = 0;
  #last: ModelEvent["type"] | undefined;

  /** @param source name of the account, for the error message */
  constructor(source: string, { maxAnswerChars = MAX_ANSWER_CHARS }: { readonly maxAnswerChars?: number | undefined }) {
    this.#source = source;
    this.#max = maxAnswerChars;
  }

  /** Counts a chunk of the answer. */
  event(event: ModelEvent): void {
    if (event.type === "finish") return;
    if (event.type !== this.#last || event.type === "toolCall") this.#add(BLOCK_CHARS);
    this.#last = event.type;
    if (event.type === "toolCall") this.#add(JSON.stringify(event.arguments).length + event.name.length);
    else this.#add(event.delta.length);
    if (event.type === "thinking" && event.signature !== undefined) this.#add(BLOCK_CHARS + event.signature.length);
  }

  /** Counts a part of an incomplete tool call. @param isNew true for its first part */
  call(part: string, isNew: boolean): void {
    this.#add(part.length + (isNew ? BLOCK_CHARS : 0));
  }

  #add(chars: number): void {
    this.#chars += chars;
    if (this.#chars <= this.#max) return;
    refuseAnswer(
      "request",
      `the answer of ${this.#source} was cut: it has more than ${this.#max} characters (agents.defaults.maxAnswerChars); ask for a shorter answer`,
    );
  }
}
