/** Work that waits for the work before it. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { Turns } from "@svc/sdk";

it("runs one at a time for each key, in order, also after a failure", async () => {
  const turns = new Turns();
  const seen: string[] = [];
  const work =
    (name: string, fails = false) =>
    async () => {
      seen.push(`${name} begins`);
      await new Promise((resolve) => setImmediate(resolve));
      seen.push(`${name} ends`);
      if (fails) throw new Error(name);
      return name;
    };
  const all = await Promise.allSettled([
    turns.take("a", work("a1")),
    turns.take("a", work("a2", true)),
    turns.take("a", work("a3")),
    turns.take("b", work("b1")),
  ]);
  assert.deepEqual(
    all.map((one) => (one.status === "fulfilled" ? one.value : String(one.reason))),
    ["a1", "Error: a2", "a3", "b1"],
  );
  assert.deepEqual(
    seen.filter((step) => step.startsWith("a")),
    ["a1 begins", "a1 ends", "a2 begins", "a2 ends", "a3 begins", "a3 ends"],
  );
  assert.ok(seen.indexOf("b1 begins") < seen.indexOf("a1 ends"), "another key waits for nobody");
});
