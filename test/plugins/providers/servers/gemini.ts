/** Google's API for Gemini, as recorded from its documentation. */
import { retryAfterHeader, sendJson, sendPieces, startEvents } from "../../../../sdk/testing/fake-model/http.ts";
import type { Format } from "./scripted.ts";

const STATUSES: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  429: "RESOURCE_EXHAUSTED",
  500: "INTERNAL",
  503: "UNAVAILABLE",
  504: "DEADLINE_EXCEEDED",
};

export const geminiFormat: Format = {
  base: "/v1beta",
  question: /^\/v1beta\/models\/[^/]+:streamGenerateContent$/u,

  refuse(res, { status, message = "Scripted error", errorType, retryAfter }) {
    const reason = { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: errorType };
    const details = errorType === undefined ? {} : { details: [reason] };
    const error = { code: status, message, status: STATUSES[status], ...details };
    sendJson(res, { error }, status, retryAfterHeader(retryAfter));
  },

  async answer(res, reply, stop) {
    const write = startEvents(res);
    const chunk = (fields: object) => write(`data: ${JSON.stringify({ ...fields, modelVersion: "fake-model" })}`);
    const parts = (content: readonly object[], fields: object = {}) =>
      chunk({ candidates: [{ content: { role: "model", parts: content }, index: 0, ...fields }] });
    if (reply.thinking !== undefined) await parts([{ text: reply.thinking, thought: true }]);
    if (!(await sendPieces(res, reply, stop, (text) => parts([{ text }])))) return;
    if (reply.malformed) await write('data: {"candidates": [{"content": {"parts": [{"text": "cut');
    if (reply.errorEvent) {
      const { type: status, message } = reply.errorEvent;
      await chunk({ error: { code: 503, message, status } });
      return void res.end();
    }
    const signed = reply.signature === undefined ? {} : { thoughtSignature: reply.signature };
    for (const [index, { id, name, arguments: args }] of reply.calls.entries())
      await parts([{ functionCall: { id, name, args: JSON.parse(args) }, ...(index === 0 ? signed : {}) }]);
    if (reply.finishReason === null) return void res.end();
    const { asked, said } = reply.words;
    const counted = { promptTokenCount: asked, candidatesTokenCount: said, totalTokenCount: asked + said };
    const usage = reply.usage === false ? {} : { usageMetadata: reply.usage ?? counted };
    const last = reply.calls.length === 0 && reply.signature !== undefined ? [{ text: "", ...signed }] : [];
    const candidate = { content: { role: "model", parts: last }, finishReason: reply.finishReason ?? "STOP" };
    await chunk({ candidates: [candidate], ...usage });
    res.end();
  },
};
