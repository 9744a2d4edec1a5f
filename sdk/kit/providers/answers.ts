/** For plugins that call model servers: a streamed answer as model events. */
import type { ModelEvent } from "@svc/sdk/models";
import { parseToolArguments } from "@svc/sdk/tools";
import { readable, refuseAnswer } from "./failures.ts";
import { together } from "./together.ts";

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

/**
 * Yields the events of an answer. Texts that arrived together are one event: a fast answer costs one event a packet, not
 * one a token.
 * @param source name of the account in error messages, e.g. `model provider "acme"`
 * @param batches pieces that arrived together, see `serverEvents`
 */
export async function* answerEvents<Piece>(
  source: string,
  batches: AsyncIterable<readonly Piece[]>,
  answer: Answer<Piece>,
): AsyncGenerator<ModelEvent, void, void> {
  const take = (piece: Piece) => readable(source, () => answer.take(piece));
  for await (const pieces of batches) for (const events of together(pieces, take)) yield* joined(events);
  yield* readable(source, () => answer.end());
}

/** Adjacent texts become one, and so do adjacent thoughts without signatures. */
function joined(events: readonly ModelEvent[]): readonly ModelEvent[] {
  const all: ModelEvent[] = [];
  for (const event of events) {
    const last = all.at(-1);
    if (isText(event) && last && isText(last) && last.type === event.type)
      all[all.length - 1] = { type: event.type, delta: last.delta + event.delta };
    else all.push(event);
  }
  return all;
}

function isText(event: ModelEvent): event is { readonly type: "text" | "thinking"; readonly delta: string } {
  return event.type === "text" || (event.type === "thinking" && event.signature === undefined);
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
