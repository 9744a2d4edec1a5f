/** Writes a response as stream events, in the order of the public API. Pure. Spec: http/responses.md §7. */
import { holdSilence } from "@svc/kit/runs";
import {
  type Ending,
  messageId,
  openResponse,
  type OutputCall,
  outputMessage,
  type ResponseBase,
  textPart,
} from "./response.ts";

/** Writes the events of one response; each call returns the text to send. */
export interface EventWriter {
  begin(): string;
  /** Returns an empty text as long as the answer may still be the silent answer. */
  text(delta: string): string;
  /** Returns the last events and the end of the stream. */
  end(ending: Ending): string;
}

const DONE = "data: [DONE]\n\n";

export function createEventWriter(base: ResponseBase): EventWriter {
  const uuid = base.id.slice("resp_".length);
  const id = messageId(uuid);
  const place = { item_id: id, output_index: 0, content_index: 0 };
  let next = 0;
  let said = "";
  const spoken = holdSilence();
  const event = (type: string, fields: object) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: next++, ...fields })}\n\n`;
  // The constant part of a delta, built once because deltas are by far the most frequent event.
  const deltaHead = `event: response.output_text.delta\ndata: {"type":"response.output_text.delta","item_id":"${id}","output_index":0,"content_index":0,"logprobs":[],"sequence_number":`;

  const delta = (text: string) => `${deltaHead}${next++},"delta":${JSON.stringify(text)}}\n\n`;
  const openMessage = () =>
    event("response.output_item.added", {
      output_index: 0,
      item: { type: "message", id, role: "assistant", status: "in_progress", content: [] },
    }) + event("response.content_part.added", { ...place, part: textPart("") });

  function tell(piece: string): string {
    const opening = said === "" ? openMessage() : "";
    said += piece;
    return opening + delta(piece);
  }

  /** Sends the remaining text as one more delta. */
  function closeMessage(whole: string, status: "completed" | "incomplete"): string {
    const rest = whole.startsWith(said) ? whole.slice(said.length) : "";
    return [
      rest === "" ? "" : tell(rest),
      event("response.output_text.done", { ...place, text: whole, logprobs: [] }),
      event("response.content_part.done", { ...place, part: textPart(whole) }),
      event("response.output_item.done", { output_index: 0, item: outputMessage(uuid, whole, status) }),
    ].join("");
  }

  function call(item: OutputCall, output_index: number): string {
    const at = { item_id: item.id, output_index };
    return [
      event("response.output_item.added", { output_index, item: { ...item, arguments: "", status: "in_progress" } }),
      event("response.function_call_arguments.delta", { ...at, delta: item.arguments }),
      event("response.function_call_arguments.done", { ...at, name: item.name, arguments: item.arguments }),
      event("response.output_item.done", { output_index, item }),
    ].join("");
  }

  return {
    begin() {
      const response = openResponse(base);
      return event("response.created", { response }) + event("response.in_progress", { response });
    },
    text(piece) {
      const text = spoken(piece);
      return text === "" ? "" : tell(text);
    },
    end({ type, text: whole, calls, response }) {
      const last = () => event(type, { response }) + DONE;
      if (type === "response.failed") return last();
      const hasMessage = whole !== "" || said !== "";
      const message = hasMessage ? closeMessage(whole, type === "response.completed" ? "completed" : "incomplete") : "";
      const called = calls.map((item, index) => call(item, hasMessage ? index + 1 : index)).join("");
      return message + called + last();
    },
  };
}
