/** The chat-completions API of the fake model server. */
import type { ServerResponse } from "node:http";
import { inThirds, retryAfterHeader, sendJson, sendPieces, sendWhole, startEvents } from "./http.ts";
import type { CompleteReply, FakeModelBody, FakeModelReply } from "./script.ts";

const head = { id: "chatcmpl-fake", created: 0, model: "fake-model" };

/** `POST /v1/chat/completions` */
export async function answerChat(
  res: ServerResponse,
  body: FakeModelBody,
  reply: CompleteReply,
  stop: AbortSignal,
): Promise<void> {
  if (body.stream) return sendStream(res, body, reply, stop);
  const calls = reply.calls.map(toolCall);
  const content = reply.pieces.join("") || null;
  const message = { role: "assistant", content, ...(calls.length > 0 ? { tool_calls: calls } : {}) };
  const choices = [{ index: 0, message, finish_reason: finishOf(reply) }];
  const usage = reply.usage === false ? {} : { usage: usageOf(reply) };
  return sendWhole(res, reply, stop, { ...head, object: "chat.completion", choices, ...usage });
}

export function refuseChat(res: ServerResponse, reply: FakeModelReply & { readonly status: number }): void {
  const { status, message = "Scripted error", errorType = "fake_error", retryAfter } = reply;
  sendJson(res, { error: { message, type: errorType, code: status } }, status, retryAfterHeader(retryAfter));
}

async function sendStream(
  res: ServerResponse,
  body: FakeModelBody,
  reply: CompleteReply,
  stop: AbortSignal,
): Promise<void> {
  const write = startEvents(res);
  const chunk = (fields: object) =>
    write(`data: ${JSON.stringify({ ...head, object: "chat.completion.chunk", ...fields })}`);
  const delta = (fields: object, finish: string | null = null) =>
    chunk({ choices: [{ index: 0, delta: fields, finish_reason: finish }] });

  await delta({ role: "assistant", content: "" });
  if (reply.thinking) await delta({ reasoning_content: reply.thinking });
  if (!(await sendPieces(res, reply, stop, (content) => delta({ content })))) return;
  if (reply.malformed) await write('data: {"choices": [{"delta": {"content": "cut');
  for (const fields of reply.calls.flatMap(fragments)) await delta({ tool_calls: [fields] });
  const finish = finishOf(reply);
  if (finish !== null) await delta({}, finish);
  if (body.stream_options?.include_usage && reply.usage !== false) await chunk({ choices: [], usage: usageOf(reply) });
  await write("data: [DONE]");
  res.end();
}

function finishOf({ finishReason, calls }: CompleteReply): string | null {
  return finishReason === undefined ? (calls.length > 0 ? "tool_calls" : "stop") : finishReason;
}

function usageOf({ usage, words: { asked, said } }: CompleteReply): object {
  return usage || { prompt_tokens: asked, completion_tokens: said, total_tokens: asked + said };
}

function toolCall({ id, name, arguments: args }: CompleteReply["calls"][number]): object {
  return { id, type: "function", function: { name, arguments: args } };
}

/** A call in four parts: id and name, then its arguments in three parts. */
function fragments({ id, name, arguments: args }: CompleteReply["calls"][number], index: number): object[] {
  return [
    { index, id, type: "function", function: { name, arguments: "" } },
    ...inThirds(args).map((part) => ({ index, function: { arguments: part } })),
  ];
}
