/** The Converse API of Amazon Bedrock, as recorded from its documentation. */
import type { ServerResponse } from "node:http";
import { EventStreamCodec } from "@smithy/eventstream-codec";
import { inThirds, retryAfterHeader, sendJson, sendPieces } from "../../../../sdk/testing/fake-model/http.ts";
import type { Format } from "./scripted.ts";

const codec = new EventStreamCodec(
  (bytes) => (typeof bytes === "string" ? bytes : Buffer.from(bytes).toString("utf8")),
  (text) => Buffer.from(text),
);

const NAMES: Readonly<Record<number, string>> = {
  400: "ValidationException",
  401: "UnrecognizedClientException",
  403: "AccessDeniedException",
  404: "ResourceNotFoundException",
  408: "ModelTimeoutException",
  424: "ModelErrorException",
  429: "ThrottlingException",
  500: "InternalServerException",
  503: "ServiceUnavailableException",
};

/** One frame of the stream. */
export function frame(name: string, fields: object | string, type: "event" | "exception" = "event"): Uint8Array {
  const text = (value: string) => ({ type: "string", value }) as const;
  return codec.encode({
    headers: {
      [`:${type}-type`]: text(name),
      ":content-type": text("application/json"),
      ":message-type": text(type),
    },
    body: Buffer.from(typeof fields === "string" ? fields : JSON.stringify(fields)),
  });
}

export const converseFormat: Format = {
  base: "",
  question: /^\/model\/[^/]+\/converse-stream$/u,

  refuse(res, { status, message = "Scripted error", errorType, retryAfter }) {
    const name = errorType ?? NAMES[status] ?? "UnknownException";
    const header = { "x-amzn-errortype": `${name}:http://internal.amazon.com/coral/com.amazon.bedrock/` };
    sendJson(res, { message }, status, { ...header, ...retryAfterHeader(retryAfter) });
  },

  async answer(res, reply, stop) {
    const send = sender(res);
    await send(frame("messageStart", { role: "assistant" }));
    let contentBlockIndex = -1;
    const delta = (fields: object) => send(frame("contentBlockDelta", { contentBlockIndex, delta: fields }));
    const close = () => send(frame("contentBlockStop", { contentBlockIndex }));
    if (reply.thinking !== undefined) {
      contentBlockIndex += 1;
      for (const text of inThirds(reply.thinking)) await delta({ reasoningContent: { text } });
      await delta({ reasoningContent: { signature: reply.signature ?? "signature" } });
      await close();
    }
    if (reply.redactedThinking !== undefined) {
      contentBlockIndex += 1;
      await delta({ reasoningContent: { redactedContent: reply.redactedThinking } });
      await close();
    }
    contentBlockIndex += 1;
    if (!(await sendPieces(res, reply, stop, (text) => delta({ text })))) return;
    if (reply.malformed) await send(frame("contentBlockDelta", '{"delta": {"text": "cut'));
    if (reply.errorEvent) {
      await send(frame(reply.errorEvent.type, { message: reply.errorEvent.message }, "exception"));
      return void res.end();
    }
    await close();
    for (const { id, name, arguments: args } of reply.calls) {
      contentBlockIndex += 1;
      await send(frame("contentBlockStart", { contentBlockIndex, start: { toolUse: { toolUseId: id, name } } }));
      for (const input of inThirds(args)) await delta({ toolUse: { input } });
      await close();
    }
    if (reply.finishReason === null) return void res.end();
    const stopReason = reply.finishReason ?? (reply.calls.length > 0 ? "tool_use" : "end_turn");
    await send(frame("messageStop", { stopReason }));
    const { asked, said } = reply.words;
    const counted = { inputTokens: asked, outputTokens: said, totalTokens: asked + said };
    if (reply.usage !== false)
      await send(frame("metadata", { usage: reply.usage ?? counted, metrics: { latencyMs: 1 } }));
    res.end();
  },
};

function sender(res: ServerResponse): (bytes: Uint8Array) => Promise<void> {
  res.writeHead(200, { "content-type": "application/vnd.amazon.eventstream" });
  return (bytes) => new Promise((resolve) => void res.write(bytes, () => resolve()));
}
