/** HTTP responses: replies of routes, and refusals. Spec: http/auth.md §4 "Responses". */
import { Readable } from "node:stream";
import { ERRORS, type GatewayError, type RouteReply } from "@svc/sdk";
import type { Context } from "koa";

/** An error as an HTTP response. */
export interface HttpRefusal {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: { readonly error: { readonly message: string; readonly type: string } };
}

const TYPES: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "unauthorized",
  403: "forbidden",
  404: "not_found",
  408: "invalid_request_error",
  409: "conflict",
  413: "invalid_request_error",
  429: "rate_limited",
  503: "unavailable",
  504: "timeout",
};

export function toHttpRefusal({ code, message, retryAfterMs }: GatewayError): HttpRefusal {
  const status = ERRORS[code].http;
  const headers: Record<string, string> = {};
  if (retryAfterMs !== undefined) headers["Retry-After"] = String(Math.max(1, Math.ceil(retryAfterMs / 1_000)));
  return { status, headers, body: { error: { message, type: TYPES[status] ?? "internal_error" } } };
}

const TEXT = "text/plain; charset=utf-8";
const JSON_TEXT = "application/json; charset=utf-8";

/**
 * Sends a reply. A stream waits for its first chunk, so that a source that fails at once still gives an ordinary refusal;
 * the response of one that fails later is aborted, so that no client takes a partial response for a complete one.
 * @param broken called with the error of a stream that failed after its first chunk
 * @throws TypeError the body cannot be sent, or the headers are not valid; any error of a stream before its first chunk
 */
export async function sendReply(
  context: Context,
  { status = 200, headers = {}, body }: RouteReply,
  broken: (error: unknown) => void,
): Promise<void> {
  const [payload, type] = await toPayload(body, (error) => {
    broken(error);
    context.res.destroy();
  });
  context.status = status;
  context.set(headers);
  if (type && !context.response.get("Content-Type")) context.type = type;
  context.body = payload;
  if (payload === null) context.status = status; // an empty body would turn 200 into 204
}

/** The body for koa, and its type when the reply names none. koa itself would send text that starts with `<` as HTML. */
async function toPayload(
  body: unknown,
  broken: (error: unknown) => void,
): Promise<[payload: string | Buffer | Readable | null, type: string | undefined]> {
  if (body === undefined) return [null, undefined];
  if (typeof body === "string") return [body, TEXT];
  if (body instanceof Uint8Array) return [Buffer.from(body), undefined];
  if (isAsyncIterable(body)) return [await openStream(body[Symbol.asyncIterator](), broken), undefined];
  const text = JSON.stringify(body) as string | undefined; // undefined for a function or a symbol
  if (text === undefined) throw new TypeError(`a reply of type ${typeof body} cannot be sent`);
  return [text, JSON_TEXT];
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

async function openStream(source: AsyncIterator<unknown>, broken: (error: unknown) => void): Promise<Readable> {
  let ahead: IteratorResult<unknown> | undefined = checkChunk(await source.next());
  const chunks: AsyncIterator<unknown> = {
    async next() {
      try {
        const chunk = ahead ?? checkChunk(await source.next());
        ahead = undefined;
        return chunk;
      } catch (error) {
        broken(error);
        return { done: true, value: undefined };
      }
    },
    async return() {
      await source.return?.();
      return { done: true, value: undefined };
    },
  };
  return Readable.from({ [Symbol.asyncIterator]: () => chunks });
}

/** @throws TypeError a chunk that is neither text nor bytes; unchecked, it would fail far from the code that produced it */
function checkChunk(result: IteratorResult<unknown>): IteratorResult<unknown> {
  if (result.done || typeof result.value === "string" || result.value instanceof Uint8Array) return result;
  throw new TypeError(`a chunk of a stream must be text or bytes, not ${typeof result.value}`);
}
