import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type ErrorCode, ERRORS, GatewayError } from "@svc/sdk";
import { toHttpRefusal } from "../../../host/net/http/reply.ts";

describe("a refusal over HTTP", () => {
  const rows: [code: ErrorCode, status: number, type: string][] = [
    ["INVALID_REQUEST", 400, "invalid_request_error"],
    ["PROTOCOL_MISMATCH", 400, "invalid_request_error"],
    ["UNAUTHORIZED", 401, "unauthorized"],
    ["FORBIDDEN", 403, "forbidden"],
    ["NOT_PAIRED", 403, "forbidden"],
    ["NOT_LINKED", 403, "forbidden"],
    ["NOT_FOUND", 404, "not_found"],
    ["TIMEOUT", 408, "invalid_request_error"],
    ["CONFLICT", 409, "conflict"],
    ["PAYLOAD_TOO_LARGE", 413, "invalid_request_error"],
    ["TOO_MANY_ATTEMPTS", 429, "rate_limited"],
    ["UNAVAILABLE", 503, "unavailable"],
    ["AGENT_TIMEOUT", 504, "timeout"],
    ["INTERNAL", 500, "internal_error"],
  ];
  for (const [code, status, type] of rows) {
    it(`${code} is ${status} ${type}`, () => {
      const expected = { status, headers: {}, body: { error: { message: "why", type } } };
      assert.deepEqual(toHttpRefusal(new GatewayError(code, "why", { details: { secret: 1 }, payload: 2 })), expected);
    });
  }

  it("knows every code of the catalogue", () => {
    assert.deepEqual(rows.map(([code]) => code).sort(), Object.keys(ERRORS).sort());
  });

  const waits: [retryAfterMs: number, seconds: string][] = [
    [0, "1"],
    [1, "1"],
    [1_000, "1"],
    [1_001, "2"],
    [60_000, "60"],
  ];
  for (const [retryAfterMs, seconds] of waits) {
    it(`asks for a retry after ${seconds} s when retryAfterMs is ${retryAfterMs}`, () => {
      const { headers } = toHttpRefusal(new GatewayError("UNAVAILABLE", "later", { retryAfterMs }));
      assert.deepEqual(headers, { "Retry-After": seconds });
    });
  }
});
