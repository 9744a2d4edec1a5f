import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type ProviderPhase, retryAfter } from "@svc/kit/providers";
import type { ProviderAccount } from "@svc/sdk/models";
import { toFailure } from "../../../plugins/provider-openai/failure.ts";

const account: ProviderAccount = {
  name: "acme",
  baseUrl: "http://user:hunter22@host.example/v1?token=abc",
  apiKey: "sk-secret",
  headers: { "x-auth": "Bearer other-secret" },
};
const now = Date.parse("2026-01-01T00:00:00Z");
const failure = (thrown: unknown, phase: ProviderPhase = "asking") =>
  toFailure(thrown, { account, model: { id: "m" }, phase, now });

describe("failure of a model server", () => {
  const rows: [why: string, thrown: unknown, phase: ProviderPhase, message: RegExp][] = [
    [
      "an unknown host, hidden as cause of a cause",
      new Error("Connection error.", { cause: new TypeError("fetch failed", { cause: { code: "ENOTFOUND" } }) }),
      "asking",
      /unknown host name \(ENOTFOUND\): check models\.providers\.acme\.baseUrl \(http:\/\/host\.example\/v1\)$/u,
    ],
    [
      "a timeout",
      new Error("Request timed out."),
      "asking",
      /cannot be reached at http:\/\/host\.example\/v1 \(Request/u,
    ],
    [
      "a reset",
      new TypeError("terminated", { cause: { code: "UND_ERR_SOCKET" } }),
      "answering",
      /disconnected.*UND_ERR_SOCKET/u,
    ],
    [
      "an error event",
      { error: { message: "x" }, message: "out of memory" },
      "answering",
      /reported an error.*out of memory/u,
    ],
    ["a thrown string", "boom", "asking", /boom/u],
  ];
  for (const [why, thrown, phase, message] of rows) {
    it(`has a message for ${why}`, () => {
      const error = failure(thrown, phase);
      assert.equal(error.code, "UNAVAILABLE");
      assert.match(error.message, message);
    });
  }

  const leaks = ["sk-secret", "Bearer other-secret", "other-secret", "hunter22", "token=abc"];
  for (const secret of leaks) {
    it(`never contains "${secret}"`, () => {
      const quoted = leaks.slice(0, 3).join(" and ");
      const messages = [
        failure({ status: 401, message: `401 wrong: ${quoted}` }).message,
        failure(new TypeError(`invalid header value ${quoted}`)).message,
      ];
      for (const message of messages) assert.equal(message.includes(secret), false, message);
    });
  }

  it("shortens the server's message", () => {
    assert.ok(failure({ status: 400, message: "x".repeat(10_000) }).message.length < 500);
  });

  const waits: [headers: Record<string, string>, wait: number | undefined][] = [
    [{}, undefined],
    [{ "retry-after": "2" }, 2_000],
    [{ "retry-after": "0.5" }, 500],
    [{ "retry-after": "Thu, 01 Jan 2026 00:00:10 GMT" }, 10_000],
    [{ "retry-after": "Wed, 31 Dec 2025 00:00:00 GMT" }, 0],
    [{ "retry-after": "soon" }, undefined],
    [{ "retry-after-ms": "70", "retry-after": "2" }, 70],
  ];
  for (const [headers, wait] of waits) {
    it(`reads ${JSON.stringify(headers)} as ${wait} ms`, () =>
      assert.equal(retryAfter(new Headers(headers), now), wait));
  }
});
