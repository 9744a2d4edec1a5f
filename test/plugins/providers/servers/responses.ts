/** The responses API, as recorded from its documentation. */
import {
  inThirds,
  retryAfterHeader,
  sendJson,
  sendPieces,
  startEvents,
} from "../../../../sdk/testing/fake-model/http.ts";
import type { Format } from "./scripted.ts";

export const responsesFormat: Format = {
  base: "/v1",
  question: /\/responses$/u,

  refuse(res, { status, message = "Scripted error", errorType, retryAfter }) {
    const error = { message, type: "error", param: null, code: errorType ?? null };
    sendJson(res, { error }, status, retryAfterHeader(retryAfter));
  },

  async answer(res, reply, stop) {
    const write = startEvents(res);
    let sequence_number = 0;
    const event = (type: string, fields: object) =>
      write(`event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence_number++, ...fields })}`);
    const response = { id: "resp_1", object: "response", status: "in_progress", output: [] };
    await event("response.created", { response });
    await event("response.in_progress", { response });
    let output_index = 0;
    if (reply.thinking !== undefined) {
      const item = { type: "reasoning", id: "rs_1", summary: [] };
      await event("response.output_item.added", { output_index, item });
      for (const [summary_index, text] of reply.thinking.split("|").entries()) {
        const at = { item_id: "rs_1", output_index, summary_index };
        await event("response.reasoning_summary_part.added", { ...at, part: { type: "summary_text", text: "" } });
        for (const delta of inThirds(text)) await event("response.reasoning_summary_text.delta", { ...at, delta });
        await event("response.reasoning_summary_text.done", { ...at, text });
      }
      const encrypted_content = reply.signature ?? "encrypted";
      await event("response.output_item.done", { output_index, item: { ...item, encrypted_content } });
      output_index += 1;
    }
    const message = { type: "message", id: "msg_1", role: "assistant", content: [] };
    if (reply.pieces.length > 0) await event("response.output_item.added", { output_index, item: message });
    const at = { item_id: "msg_1", output_index, content_index: 0 };
    const send = (delta: string) => event("response.output_text.delta", { ...at, delta });
    if (!(await sendPieces(res, reply, stop, send))) return;
    if (reply.malformed) await write('event: response.output_text.delta\ndata: {"type": "response.out');
    if (reply.errorEvent) {
      const { type: code, message: text } = reply.errorEvent;
      await event("response.failed", { response: { ...response, status: "failed", error: { code, message: text } } });
      return void res.end();
    }
    if (reply.pieces.length > 0)
      await event("response.output_item.done", { output_index: output_index++, item: message });
    const isCut = reply.finishReason === "max_output_tokens";
    for (const { id, name, arguments: args } of reply.calls) {
      const item = { type: "function_call", id: `fc_${id}`, call_id: id, name, arguments: "" };
      await event("response.output_item.added", { output_index, item });
      for (const delta of inThirds(args))
        await event("response.function_call_arguments.delta", { item_id: item.id, output_index, delta });
      const status = isCut ? "incomplete" : "completed";
      await event("response.output_item.done", { output_index, item: { ...item, arguments: args, status } });
      output_index += 1;
    }
    if (reply.finishReason === null) return void res.end();
    const { asked, said } = reply.words;
    const counted = { input_tokens: asked, output_tokens: said, total_tokens: asked + said };
    const usage = reply.usage === false ? null : (reply.usage ?? counted);
    const isIncomplete = reply.finishReason !== undefined;
    const details = isIncomplete ? { incomplete_details: { reason: reply.finishReason } } : {};
    const status = isIncomplete ? "incomplete" : "completed";
    await event(`response.${status}`, { response: { ...response, status, usage, ...details } });
    res.end();
  },
};
