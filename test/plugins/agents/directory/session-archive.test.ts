import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createSessionArchive } from "../../../../plugins/agents/directory/session-archive.ts";
import { principal } from "../script.ts";

const entry = { sessionId: "s", updatedAt: 1 };

/** Sessions that are gone once they are forgotten. */
function setUp(keys: readonly string[], stuck: readonly string[] = []) {
  const left = new Set(keys);
  const asked: string[] = [];
  const archive = createSessionArchive(
    { recent: async ({ limit }) => [...left].slice(0, limit).map((key) => ({ key, entry })) },
    async (key) => {
      asked.push(key);
      if (stuck.includes(key)) throw new Error("still active");
      left.delete(key);
    },
  );
  return { archive: () => archive("ada", principal), asked, left };
}

describe("the conversations of an agent that is deleted", () => {
  it("are all archived, however many there are", async () => {
    const keys = Array.from({ length: 1_234 }, (_, n) => `agent:ada:${n}`);
    const { archive, left } = setUp(keys);
    assert.deepEqual(await archive(), []);
    assert.equal(left.size, 0);
  });

  it("are told when they stay, each asked for once", async () => {
    const { archive, asked } = setUp(["agent:ada:a", "agent:ada:b"], ["agent:ada:a"]);
    assert.deepEqual(await archive(), ["session agent:ada:a: still active"]);
    assert.deepEqual(asked, ["agent:ada:a", "agent:ada:b"]);
  });

  it("do not hide behind many that stay", async () => {
    const stuck = Array.from({ length: 600 }, (_, n) => `agent:ada:stuck${n}`);
    const { archive, left } = setUp([...stuck, "agent:ada:last"], stuck);
    assert.equal((await archive()).length, 600);
    assert.equal(left.has("agent:ada:last"), false);
  });

  it("are not those of everybody", async () => {
    const { archive, asked } = setUp(["global", "agent:adam:x"]);
    assert.deepEqual([await archive(), asked], [[], []]);
  });
});
