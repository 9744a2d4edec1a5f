import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { coversScope, GatewayError, isGatewayError, toErrorShape } from "@svc/sdk";

describe("toErrorShape, the one door", () => {
  it("tells nothing of an unexpected error", () => {
    assert.deepEqual(toErrorShape(new Error("secret"), "c-1"), { code: "INTERNAL", message: "internal error (c-1)" });
    assert.deepEqual(toErrorShape("secret"), { code: "INTERNAL", message: "internal error" });
  });

  it("leaves absent keys absent", () => {
    assert.deepEqual(Object.keys(toErrorShape(new GatewayError("NOT_FOUND", "x"))), ["code", "message"]);
  });

  it("rounds the wait up and says that a retry helps", () => {
    const { retryable, retryAfterMs } = toErrorShape(new GatewayError("UNAVAILABLE", "x", { retryAfterMs: 0.2 }));
    assert.deepEqual([retryable, retryAfterMs], [true, 1]);
  });

  it("knows an error of another copy of the SDK", () => {
    const foreign = Object.assign(new Error("gone"), { name: "GatewayError", code: "NOT_FOUND" });
    assert.equal(isGatewayError(foreign), true);
    assert.equal(isGatewayError(Object.assign(new Error("x"), { name: "GatewayError", code: "NO_SUCH" })), false);
    assert.equal(isGatewayError({ name: "GatewayError", code: "NOT_FOUND" }), false);
  });
});

describe("coversScope", () => {
  const cases: [held: string[], wanted: Parameters<typeof coversScope>[1], covers: boolean][] = [
    [[], "operator.read", false],
    [["operator.read"], "operator.read", true],
    [["operator.write"], "operator.read", true],
    [["operator.read"], "operator.write", false],
    [["operator.admin"], "operator.pairing", true],
    [["operator.write"], "operator.approvals", false],
    [["operator.approvals"], "operator.read", false],
    [["operator.*", "*", "OPERATOR.ADMIN", ""], "operator.read", false],
  ];
  for (const [held, wanted, covers] of cases) {
    it(`[${held.join(", ")}] ${covers ? "covers" : "does not cover"} ${wanted}`, () =>
      assert.equal(coversScope(held, wanted), covers));
  }
});
