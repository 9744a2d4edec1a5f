/** A webhook request as the mapping engine sees it. Pure. */
import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { invalidRequest } from "@svc/sdk";

/** One request, authenticated as far as the hook token goes. */
export interface IncomingWebhook {
  /** Below the base path, without slashes around it. */
  readonly path: string;
  /** As it came, leading slash taken off: direct paths are compared with it. */
  readonly literalPath: string;
  /** Names in lower case, repeated ones joined; credentials included. */
  readonly headers: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** Path and query. */
  readonly target: string;
  readonly rawBody: Uint8Array;
  /** It carried the right hook token. */
  readonly trusted: boolean;
}

/** Headers that prove something: not for templates and transforms. */
const CREDENTIALS = /^(authorization|proxy-authorization|cookie|x-[a-z0-9-]+-token)$/;

/** As text each. Only one header of a request can be a list. */
export function joinedHeaders(headers: IncomingHttpHeaders): Readonly<Record<string, string>> {
  const list = headers["set-cookie"];
  const texts = headers as Record<string, string>; // as node parses them, all the others are
  return list === undefined ? texts : { ...texts, "set-cookie": list.join(", ") };
}

export function withoutCredentials(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !CREDENTIALS.test(name)));
}

/** All behind the first `?` of a request target. */
export function queryOf(target: string): URLSearchParams {
  const start = target.indexOf("?");
  return new URLSearchParams(start < 0 ? "" : target.slice(start + 1));
}

/** Choice: deeper JSON is nobody's payload, and would exhaust the stack of whatever walks it. */
export const MAX_DEPTH = 200;

/**
 * The body as JSON: `{}` for an empty one and for a scalar. Spec: http/webhooks.md §2.
 * @throws GatewayError `INVALID_REQUEST` with what is wrong
 */
export function parsePayload(raw: Uint8Array): object {
  if (raw.length === 0) return {};
  if (!isUtf8(raw)) invalidRequest("the body is not UTF-8");
  const text = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength).toString();
  if (isTooDeep(text)) invalidRequest(`the body is nested deeper than ${MAX_DEPTH} levels`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    invalidRequest(error instanceof Error ? error.message : "the body is not JSON");
  }
  return typeof value === "object" && value !== null ? value : {};
}

/**
 * Counts the brackets outside of strings, before parsing. The configuration's guard does not fit: it walks the parsed value,
 * which takes up to 17 times as long for a hostile body.
 */
function isTooDeep(text: string): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = endOfText(text, at);
    } else if (code === OPEN_LIST || code === OPEN_OBJECT) {
      if (++depth > MAX_DEPTH) return true;
    } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) depth--;
  }
  return false;
}

const [QUOTE, BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x22, 0x5c, 0x5b, 0x5d, 0x7b, 0x7d];

/** Place of the closing quote; the end where there is none. */
function endOfText(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let escapes = 0;
    while (text.charCodeAt(at - 1 - escapes) === BACKSLASH) escapes++;
    if (escapes % 2 === 0) return at;
  }
  return text.length;
}

/** Tells requests with the same idempotency key apart. */
export function digestOf(...parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash("sha256");
  for (const part of parts) {
    hash.update(`${part.length}:`);
    hash.update(part);
  }
  return hash.digest("hex");
}
