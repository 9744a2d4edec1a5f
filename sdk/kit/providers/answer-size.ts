/** How large one answer of a model may become. */
import type { ModelEvent } from "@svc/sdk/models";
import { refuseAnswer } from "./failures.ts";

/** Characters an answer may have where its question sets no limit. */
export const MAX_ANSWER_CHARS = 2_000_000;

/** Choice: characters that each block and each tool call counts for beside its own, so that empty ones are bounded too. */
const BLOCK_CHARS = 64;

/** Counts text, thoughts and tool calls of one answer. Each method throws a GatewayError `UNAVAILABLE` past the limit. */
export class AnswerSize {
  readonly #max: number;
  readonly #source: string;
  #chars = 0;
  #last: ModelEvent["type"] | undefined;

  /** @param source names the account in the refusal */
  constructor(source: string, { maxAnswerChars = MAX_ANSWER_CHARS }: { readonly maxAnswerChars?: number | undefined }) {
    this.#source = source;
    this.#max = maxAnswerChars;
  }

  /** A piece of the answer. */
  event(event: ModelEvent): void {
    if (event.type === "finish") return;
    if (event.type !== this.#last || event.type === "toolCall") this.#add(BLOCK_CHARS);
    this.#last = event.type;
    if (event.type === "toolCall") this.#add(JSON.stringify(event.arguments).length + event.name.length);
    else this.#add(event.delta.length);
    if (event.type === "thinking" && event.signature !== undefined) this.#add(BLOCK_CHARS + event.signature.length);
  }

  /** A part of a tool call that is not whole yet. @param isNew its first part */
  call(part: string, isNew: boolean): void {
    this.#add(part.length + (isNew ? BLOCK_CHARS : 0));
  }

  #add(chars: number): void {
    this.#chars += chars;
    if (this.#chars <= this.#max) return;
    refuseAnswer(
      "request",
      `the answer of ${this.#source} was cut: it has more than ${this.#max} characters (agents.defaults.maxAnswerChars); ask for less at once`,
    );
  }
}
