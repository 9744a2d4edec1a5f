/** The Messages API of the fake model server. */
import type { ServerResponse } from "node:http";
import { inThirds, retryAfterHeader, sendJson, sendPieces, sendWhole, startEvents } from "./http.ts";
import type { CompleteReply, FakeModelBody, FakeModelReply } from "./script.ts";

const head = { id: "msg_fake", type: "message", role: "assistant", model: "fake-model" };

const ERROR_TYPES: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  504: "timeout_error",
  529: "overloaded_error",
};

/** `POST /v1/messages` */
export async function answerMessages(
  res: ServerResponse,
  body: FakeModelBody,
  reply: CompleteReply,
  stop: AbortSignal,
): Promise<void> {
  if (body.stream) return sendStream(res, reply, stop);
  const content = [
    ...thoughts(reply),
    ...(reply.pieces.length > 0 ? [{ type: "text", text: reply.pieces.join("") }] : []),
    ...reply.calls.map(({ id, name, arguments: args }) => ({ type: "tool_use", id, name, input: JSON.parse(args) })),
  ];
  const usage = reply.usage === false ? {} : { usage: usageOf(reply) };
  return sendWhole(res, reply, stop, { ...head, content, stop_reason: stopReasonOf(reply), ...usage });
}

export function refuseMessages(res: ServerResponse, reply: FakeModelReply & { readonly status: number }): void {
  const { status, message = "Scripted error", errorType, retryAfter } = reply;
  const type = errorType ?? ERROR_TYPES[status] ?? "api_error";
  sendJson(res, { type: "error", error: { type, message } }, status, retryAfterHeader(retryAfter));
}

async function sendStream(res: ServerResponse, reply: CompleteReply, stop: AbortSignal): Promise<void> {
  const write = startEvents(res);
  const event = (type: string, fields: object) => write(`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}`);
  let index = -1;
  const open = (block: object) => event("content_block_start", { index: ++index, content_block: block });
  const delta = (fields: object) => event("content_block_delta", { index, delta: fields });
  const close = () => event("content_block_stop", { index });
  const usage = reply.usage === false ? undefined : usageOf(reply);

  const started = usage ? { usage: { ...usage, output_tokens: 1 } } : {};
  await event("message_start", { message: { ...head, content: [], stop_reason: null, ...started } });
  await event("ping", {});
  for (const thought of thoughts(reply)) {
    if (thought.type === "redacted_thinking") await open(thought);
    else {
      await open({ type: "thinking", thinking: "", signature: "" });
      for (const part of inThirds(thought.thinking)) await delta({ type: "thinking_delta", thinking: part });
      await delta({ type: "signature_delta", signature: thought.signature });
    }
    await close();
  }
  if (reply.pieces.length > 0) await open({ type: "text", text: "" });
  if (!(await sendPieces(res, reply, stop, (text) => delta({ type: "text_delta", text })))) return;
  if (reply.malformed) await write('event: content_block_delta\ndata: {"delta": {"text": "cut');
  if (reply.errorEvent) {
    await event("error", { error: reply.errorEvent });
    return void res.end();
  }
  if (reply.pieces.length > 0) await close();
  for (const { id, name, arguments: args } of reply.calls) {
    await open({ type: "tool_use", id, name, input: {} });
    for (const part of inThirds(args)) await delta({ type: "input_json_delta", partial_json: part });
    await close();
  }
  const reason = stopReasonOf(reply);
  if (reason !== null) {
    const delta = { stop_reason: reason, stop_sequence: null };
    await event("message_delta", { delta, ...(usage ? { usage } : {}) });
    await event("message_stop", {});
  }
  res.end();
}

type Thought =
  | { readonly type: "thinking"; readonly thinking: string; readonly signature: string }
  | { readonly type: "redacted_thinking"; readonly data: string };

function thoughts({ thinking, signature = "signature", redactedThinking }: CompleteReply): Thought[] {
  return [
    ...(thinking === undefined ? [] : [{ type: "thinking", thinking, signature } as const]),
    ...(redactedThinking === undefined ? [] : [{ type: "redacted_thinking", data: redactedThinking } as const]),
  ];
}

function stopReasonOf({ finishReason, calls }: CompleteReply): string | null {
  return finishReason === undefined ? (calls.length > 0 ? "tool_use" : "end_turn") : finishReason;
}

function usageOf({ usage, words }: CompleteReply): object {
  const none = { cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
  return usage || { input_tokens: words.asked, output_tokens: words.said, ...none };
}
