import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createFakeClock } from "@svc/sdk/testing";
import { shareLooks } from "../../../../plugins/agents/directory/shared-prompt.ts";

describe("looks at a workspace", () => {
  function scene(look: (n: number) => Promise<string> = (n) => Promise.resolve(`look ${n}`)) {
    const clock = createFakeClock();
    let looks = 0;
    const shared = shareLooks(() => look(++looks), clock);
    return { clock, shared };
  }

  it("are shared within a second, by each agent for itself", async () => {
    const { clock, shared } = scene();
    assert.deepEqual(await Promise.all([shared.of("a"), shared.of("a"), shared.of("b")]), [
      "look 1",
      "look 1",
      "look 2",
    ]);
    await clock.advance(999);
    assert.equal(await shared.of("a"), "look 1");
    await clock.advance(1);
    assert.equal(await shared.of("a"), "look 3");
  });

  it("are taken anew after a file was written, and after one failed", async () => {
    const { shared } = scene((n) => (n === 2 ? Promise.reject(new Error("gone")) : Promise.resolve(`look ${n}`)));
    assert.equal(await shared.of("a"), "look 1");
    shared.forget();
    await assert.rejects(shared.of("a"), /gone/);
    assert.equal(await shared.of("a"), "look 3");
  });
});
