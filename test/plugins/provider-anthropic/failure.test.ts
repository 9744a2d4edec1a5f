import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ProviderAccount } from "@svc/sdk/models";
import { toFailure } from "../../../plugins/provider-anthropic/failure.ts";
import { kindOf, type Thrown } from "../../../plugins/provider-anthropic/failure-kind.ts";

const account: ProviderAccount = {
  name: "acme:work",
  baseUrl: "http://user:hunter22@host.example/v1?token=abc",
  apiKey: "sk-secret",
  headers: { "x-auth": "Bearer other-secret" },
};
const failure = (thrown: unknown) =>
  toFailure(thrown, { account, model: { id: "m" }, phase: "asking", now: Date.parse("2026-01-01T00:00:00Z") });

describe("the kind of a failure", () => {
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

describe("failure of a model server", () => {
  it("names the settings of one account among several", () => {
    assert.match(
      failure({ status: 401, message: "401 no" }).message,
      /check models\.providers\.acme\.accounts\["work"\]\.apiKey/u,
    );
    assert.match(
      failure({ status: 404, message: "404 no" }).message,
      /check models\.providers\.acme\.models\[\]\.id and models\.providers\.acme\.accounts\["work"\]\.baseUrl/u,
    );
  });

  it("has a message for an unknown host", () => {
    const thrown = new Error("Connection error.", { cause: new TypeError("failed", { cause: { code: "ENOTFOUND" } }) });
    assert.match(failure(thrown).message, /unknown host name \(ENOTFOUND\).*\(http:\/\/host\.example\/v1\)$/u);
  });

  const leaks = ["sk-secret", "Bearer other-secret", "other-secret", "hunter22", "token=abc"];
  for (const secret of leaks) {
    it(`never contains "${secret}"`, () => {
      const quoted = leaks.slice(0, 3).join(" and ");
      const messages = [
        failure({ status: 401, message: `401 wrong: ${quoted}` }).message,
        failure({ status: 400, error: { error: { message: quoted } } }).message,
        failure(new TypeError(`invalid header value ${quoted}`)).message,
      ];
      for (const message of messages) assert.equal(message.includes(secret), false, message);
    });
  }

  it("shortens the server's message", () => {
    assert.ok(failure({ status: 400, message: "x".repeat(10_000) }).message.length < 500);
  });
});
