/** The sentences of all providers about failures of a server. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type ProviderPhase, toFailure } from "@svc/kit/providers";
import { retryAfter } from "@svc/kit/time";
import type { ProviderAccount } from "@svc/sdk/models";
import { kindOf, type Thrown } from "../../../plugins/provider-anthropic/failure.ts";
import { apis } from "./apis.ts";

const account: ProviderAccount = {
  name: "acme:work",
  baseUrl: "http://user:hunter22@host.example/v1?token=abc",
  apiKey: "sk-secret",
  headers: { "x-auth": "Bearer other-secret" },
};
const now = Date.parse("2026-01-01T00:00:00Z");

for (const [name, { factsOf }] of Object.entries(apis)) {
  const failure = (thrown: unknown, phase: ProviderPhase = "asking") =>
    toFailure(thrown, { account, model: { id: "m" }, phase, now }, factsOf);

  describe(`failure of a server of provider ${name}`, () => {
    const rows: [why: string, thrown: unknown, phase: ProviderPhase, message: RegExp][] = [
      [
        "an unknown host, hidden as cause of a cause",
        new Error("Connection error.", { cause: new TypeError("fetch failed", { cause: { code: "ENOTFOUND" } }) }),
        "asking",
        /unknown host name \(ENOTFOUND\): check .*\["work"\]\.baseUrl \(http:\/\/host\.example\/v1\)$/u,
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
      ["a thrown string", "boom", "asking", /boom/u],
      [
        "a refused key of one account among several",
        { status: 401, message: "401 no" },
        "asking",
        /check models\.providers\.acme\.accounts\["work"\]\.apiKey/u,
      ],
      [
        "an unknown model of such an account",
        { status: 404, message: "404 no" },
        "asking",
        /check models\.providers\.acme\.models\[\]\.id and models\.providers\.acme\.accounts\["work"\]\.baseUrl/u,
      ],
    ];
    for (const [why, thrown, phase, message] of rows) {
      it(`has a message for ${why}`, () => {
        const error = failure(thrown, phase);
        assert.equal(error.code, "UNAVAILABLE");
        assert.match(error.message, message);
      });
    }

    it("never contains a secret", () => {
      const secrets = ["sk-secret", "Bearer other-secret", "other-secret", "hunter22", "token=abc"];
      const quoted = secrets.slice(0, 3).join(" and ");
      const thrown = [
        { status: 401, message: `401 wrong: ${quoted}` },
        { status: 400, error: { error: { message: quoted } } },
        new TypeError(`invalid header value ${quoted}`),
      ];
      for (const { message } of thrown.map((one) => failure(one)))
        for (const secret of secrets) assert.equal(message.includes(secret), false, message);
    });

    it("shortens the server's message", () => {
      assert.ok(failure({ status: 400, message: "x".repeat(10_000) }).message.length < 500);
    });
  });
}

describe("the wait that a server asks for", () => {
  const waits: [headers: Record<string, string>, wait: number | undefined][] = [
    [{}, undefined],
    [{ "retry-after": "0.5" }, 500],
    [{ "retry-after": "Thu, 01 Jan 2026 00:00:10 GMT" }, 10_000],
    [{ "retry-after": "Wed, 31 Dec 2025 00:00:00 GMT" }, 0],
    [{ "retry-after": "soon" }, undefined],
    [{ "retry-after-ms": "70", "retry-after": "2" }, 70],
  ];
  for (const [headers, wait] of waits) {
    it(`is ${wait} ms for ${JSON.stringify(headers)}`, () => assert.equal(retryAfter(new Headers(headers), now), wait));
  }
});

describe("the kind of a failure of the Messages API", () => {
  const rows: [why: string, thrown: Thrown, kind: string][] = [
    [
      "a spend limit in the clothes of a rate limit",
      { status: 429, type: "rate_limit_error", errorCode: "contract_spend_limit_reached" },
      "billing",
    ],
    [
      "an organisation on hold",
      { status: 400, type: "invalid_request_error", errorCode: "organization_on_hold" },
      "auth",
    ],
    ["a type without status, in a stream", { type: "overloaded_error", error: {} }, "server_error"],
    ["an error body that is not the API's", { status: 418 }, "request"],
    ["a proxy's 502", { status: 502 }, "server_error"],
    ["a slow connection", { cause: { code: "UND_ERR_CONNECT_TIMEOUT" } }, "timeout"],
    ["the library's own timeout", { name: "APIConnectionTimeoutError" }, "timeout"],
    ["a reset", { cause: { cause: { code: "ECONNRESET" } } }, "network"],
  ];
  for (const [why, thrown, kind] of rows) it(`of ${why} is ${kind}`, () => assert.equal(kindOf(thrown), kind));
});
