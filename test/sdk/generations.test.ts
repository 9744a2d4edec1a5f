import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { errorFor, NEWEST, OLDEST, valueFor } from "@svc/sdk/protocol";

describe("what differs between the generations of the protocol", () => {
  it("an error: its code, details and text", () => {
    const error = {
      code: "INVALID_REQUEST",
      message: "missing scope: x",
      details: { code: "MISSING_SCOPE", scope: "x" },
    } as const;
    assert.equal(errorFor(OLDEST, error, "m"), error);
    assert.deepEqual(errorFor(NEWEST, error, "m"), {
      code: "FORBIDDEN",
      message: "missing scope: x",
      details: { code: "MISSING_SCOPE", scope: "x", missingScope: "x", requiredScopes: ["x"] },
    });
    const unknown = {
      code: "INVALID_REQUEST",
      message: "unknown method: m; why",
      details: { code: "UNKNOWN_METHOD", didYouMean: "n" },
    } as const;
    const details = { code: "UNKNOWN_METHOD", didYouMean: "n", hint: unknown.message };
    assert.deepEqual(errorFor(NEWEST, unknown, "m"), { ...unknown, message: "unknown method: m", details });
    for (const other of [
      { code: "INTERNAL", message: "-" },
      { code: "INTERNAL", message: "-", details: { code: "constructor" } },
    ] as const)
      assert.equal(errorFor(NEWEST, other, "m"), other);
  });

  it("events: fields that older clients do not know", () => {
    const chat = { runId: "r", state: "delta", message: {}, deltaText: "a", replace: true, agentId: "main" };
    assert.deepEqual(valueFor(OLDEST.events, "chat", chat), { runId: "r", state: "delta", message: {} });
    assert.equal(valueFor(NEWEST.events, "chat", chat), chat);
    const tool = { runId: "r", stream: "tool", data: { stopReason: "of the tool" } };
    assert.equal(valueFor(OLDEST.events, "agent", tool), tool, "nothing to leave out");
    assert.equal(valueFor(OLDEST.events, "chat", undefined), undefined);
  });

  it("results: the pending approvals as a list of their own", () => {
    const row = (id: string, createdAtMs: number, status: string) => ({
      id,
      status,
      request: {},
      createdAtMs,
      expiresAtMs: 9,
    });
    const result = { approvals: [row("c", 3, "decided"), row("b", 2, "pending"), row("a", 1, "pending")] };
    assert.equal(valueFor(OLDEST.results, "exec.approval.list", result), result);
    const pending = (id: string, createdAtMs: number) => ({ id, request: {}, createdAtMs, expiresAtMs: 9 });
    assert.deepEqual(valueFor(NEWEST.results, "exec.approval.list", result), [pending("a", 1), pending("b", 2)]);
  });
});
