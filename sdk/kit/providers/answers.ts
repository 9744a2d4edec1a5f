/** For plugins that call model servers: a streamed answer as model events. */
import type { ModelEvent } from "@svc/sdk/models";
import { parseToolArguments } from "@svc/sdk/tools";
import { readable, refuseAnswer } from "./failures.ts";

/** Converts the pieces of one answer. */
export interface Answer<Piece> {
  /** Returns the events that can be passed on now. @throws GatewayError `UNAVAILABLE` when the tool calls grow too large */
  take(piece: Piece): readonly ModelEvent[];
  /**
   * Tool calls that were held back and the `finish`, after the last piece.
   * @throws GatewayError `UNAVAILABLE` when the answer is incomplete
   */
  end(): readonly ModelEvent[];
}

/** @param source name of the account in error messages, e.g. `model provider "acme"` */
export async function* answerEvents<Piece>(
  source: string,
  pieces: AsyncIterable<Piece>,
  answer: Answer<Piece>,
): AsyncGenerator<ModelEvent, void, void> {
  for await (const piece of pieces) yield* readable(source, () => answer.take(piece));
  yield* readable(source, () => answer.end());
}

/** Yielded for a part of a tool call: the answer grows, although the call is only yielded when it is complete. */
export const AT_WORK: ModelEvent = { type: "text", delta: "" };

/** A tool call whose arguments arrived as text. */
export interface ReceivedCall {
  readonly id: string;
  readonly name: string;
  /** JSON. */
  readonly arguments: string;
}

/**
 * @param isCut the answer reached its limit
 * @throws GatewayError `UNAVAILABLE` if the limit cut off the arguments
 */
export function toolCallOf({ id, name, arguments: text }: ReceivedCall, source: string, isCut = false): ModelEvent {
  const args = parseToolArguments(text);
  if (args) return { type: "toolCall", id, name, arguments: args };
  if (isCut) {
    refuseAnswer("request", `the answer of ${source} was cut off inside a tool call; increase maxTokens of the model`);
  }
  // Choice: a key that no tool has. A strict schema rejects it, and the model sees its own text in the error. `{}` would
  // select the defaults, and failing the run would keep the model from correcting itself.
  return { type: "toolCall", id, name, arguments: { invalidJson: text } };
}
