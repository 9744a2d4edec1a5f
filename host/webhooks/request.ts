/** A webhook request as the mapping engine sees it. Pure. */
import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { parseJsonBody } from "@svc/sdk";

/** A request whose hook token has been checked, but no signature. */
export interface IncomingWebhook {
  /** Below the base path, without leading and trailing slashes. */
  readonly path: string;
  /** As received, without the leading slash; compared with direct paths. */
  readonly literalPath: string;
  /** Names in lower case, repeated ones joined; credentials included. */
  readonly headers: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** Path and query. */
  readonly target: string;
  readonly rawBody: Uint8Array;
  /** The request carries the valid hook token. */
  readonly trusted: boolean;
}

/** Headers with credentials, hidden from templates and transforms. */
const CREDENTIALS = /^(authorization|proxy-authorization|cookie|x-[a-z0-9-]+-token)$/;

/** Each header as one text. Only `set-cookie` can be a list. */
export function joinedHeaders(headers: IncomingHttpHeaders): Readonly<Record<string, string>> {
  const list = headers["set-cookie"];
  const texts = headers as Record<string, string>; // Node parses all others as text
  return list === undefined ? texts : { ...texts, "set-cookie": list.join(", ") };
}

export function withoutCredentials(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !CREDENTIALS.test(name)));
}

/** The query after the first `?` of a request target. */
export function queryOf(target: string): URLSearchParams {
  const start = target.indexOf("?");
  return new URLSearchParams(start < 0 ? "" : target.slice(start + 1));
}

/**
 * The body as JSON: `{}` for an empty one and for a scalar. Spec: http/webhooks.md §2.
 * @throws GatewayError `INVALID_REQUEST` naming the problem
 */
export function parsePayload(raw: Uint8Array): object {
  const value = parseJsonBody(raw);
  return typeof value === "object" && value !== null ? value : {};
}

/** Digest that distinguishes different requests with the same idempotency key. */
export function digestOf(...parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash("sha256");
  for (const part of parts) {
    hash.update(`${part.length}:`);
    hash.update(part);
  }
  return hash.digest("hex");
}
