import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { GatewayError } from "@svc/sdk";
import { failureFacts } from "../../../../plugins/agents/runs/outcome.ts";
import { ended, openFixture } from "../fixture.ts";
import { failsWith, request } from "../script.ts";

const failure = (kind: string) => new GatewayError("UNAVAILABLE", "no", { details: { kind } });

describe("a failure", () => {
  const cases: [what: string, error: unknown, passes: boolean][] = [
    ["a limit", failure("rate_limit"), true],
    ["a server that fails", failure("server_error"), true],
    ["the network", failure("network"), true],
    ["a server that is too slow", failure("timeout"), true],
    ["something that is not ready", new GatewayError("UNAVAILABLE", "no"), true],
    ["a key that is refused", failure("auth"), false],
    ["no credit", failure("billing"), false],
    ["a question that is refused", failure("request"), false],
    ["a model that is not there", new GatewayError("NOT_FOUND", "no"), false],
    ["a bug", new Error("no"), false],
    ["nothing", undefined, false],
  ];
  for (const [what, error, passes] of cases) {
    it(`${passes ? "may pass" : "stays"}: ${what}`, () => assert.equal(failureFacts(error).retryable ?? false, passes));
  }

  it("is told with the end of the run, and found again after a restart", async (t) => {
    const fixture = await openFixture(t);
    const gateway = await fixture.start({ answer: failsWith(failure("rate_limit")) });
    await gateway.runs.start(request("r1"));
    assert.equal((await ended(gateway, "r1")).retryable, true);
    const again = await fixture.start({ answer: failsWith(failure("auth")) });
    const told = await again.runs.wait("r1", 0);
    assert.deepEqual([told?.retryable, told?.failure], [true, "rate_limit"]);
    await again.runs.start(request("r2"));
    assert.equal("retryable" in (await ended(again, "r2")), false);
  });
});
