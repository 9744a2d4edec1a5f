/** Responses to senders of webhooks. Spec: http/webhooks.md §12. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { ERRORS, type GatewayError } from "@svc/sdk";

/** A body that is neither text nor bytes is sent as JSON. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export const TEXT_ANSWERS = {
  queryToken: {
    status: 400,
    body: "A token in the query string is not accepted: it would stand in logs. Send it as Authorization: Bearer <token>, or as x-svc-token.",
  },
  unauthorized: { status: 401, body: "Unauthorized" },
  notFound: { status: 404, body: "Not Found" },
  method: { status: 405, headers: { Allow: "POST" }, body: "Method Not Allowed" },
  tooMany: { status: 429, body: "Too Many Requests" },
} as const satisfies Record<string, HttpAnswer>;

/** Messages that the spec fixes, by error code. */
const WORDS: Partial<Record<GatewayError["code"], string>> = {
  PAYLOAD_TOO_LARGE: "payload too large",
  TIMEOUT: "request body timeout",
};

export function refusalAnswer({ code, message, retryAfterMs }: GatewayError): HttpAnswer {
  const headers: Record<string, string> = {};
  if (retryAfterMs !== undefined) headers["Retry-After"] = String(Math.max(1, Math.ceil(retryAfterMs / 1_000)));
  return { status: ERRORS[code].http, headers, body: { ok: false, error: WORDS[code] ?? message } };
}

/** The rest of an unread body is not read: then the connection is closed after the response. */
export function send(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers = {}, body }: HttpAnswer,
): void {
  if (response.writableEnded || response.destroyed) return;
  const isPlain = typeof body === "string" || body instanceof Uint8Array || body === undefined;
  const payload = isPlain ? (body ?? "") : JSON.stringify(body);
  const type = typeof body === "string" ? "text/plain; charset=utf-8" : "application/json; charset=utf-8";
  response.writeHead(status, {
    "Cache-Control": "no-store",
    ...headers,
    ...(body === undefined || body instanceof Uint8Array ? {} : { "Content-Type": type }),
    ...(status === 204 ? {} : { "Content-Length": Buffer.byteLength(payload) }),
    ...(request.complete ? {} : { Connection: "close" }),
  });
  response.end(payload);
}
