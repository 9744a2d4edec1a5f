/** Refusals over HTTP. Spec: http/auth.md §4 "Responses". */
import { ERRORS, type GatewayError } from "@svc/sdk";

/** What an error looks like on the wire. */
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
  405: "invalid_request_error",
  408: "invalid_request_error",
  409: "conflict",
  413: "invalid_request_error",
  429: "rate_limited",
  503: "unavailable",
};

export function toHttpRefusal({ code, message, retryAfterMs }: GatewayError): HttpRefusal {
  const status = ERRORS[code].http;
  const headers: Record<string, string> = {};
  if (retryAfterMs !== undefined) headers["Retry-After"] = String(Math.max(1, Math.ceil(retryAfterMs / 1_000)));
  return { status, headers, body: { error: { message, type: TYPES[status] ?? "internal_error" } } };
}
