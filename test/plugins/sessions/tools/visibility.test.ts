import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import type { SessionEntry } from "@svc/sdk/sessions";
import type { Reach } from "../../../../plugins/sessions/config.ts";
import { createReaching } from "../../../../plugins/sessions/tools/reaching.ts";
import { mayMeet } from "../../../../plugins/sessions/tools/visibility.ts";
import { openStore } from "../open-store.ts";

const rules = { defaultAgentId: "main", mainKey: "main", scope: "per-sender" } as const;
const reachOf = (visibility: Reach["visibility"], allow?: readonly string[]): Reach => ({
  visibility,
  agentToAgent: { enabled: allow !== undefined, allow: allow ?? ["*"] },
});

describe("two agents", () => {
  const rows: [allow: readonly string[], meet: boolean][] = [
    [["*"], true],
    [["ada", "bob"], true],
    [[" Ada", "BOB"], true],
    [["bob", "*"], true],
    [["ada"], false],
    [["bob"], false],
    [[" ", "a*"], false],
    [[], false],
  ];
  for (const [allow, meet] of rows) {
    it(`${meet ? "may" : "may not"} meet by ${JSON.stringify(allow)}, and never without the switch`, () => {
      assert.equal(mayMeet("ada", "bob", { enabled: true, allow }), meet);
      assert.equal(mayMeet("ada", "bob", { enabled: false, allow }), false);
    });
  }
});

/** A main session with a child and a grandchild, a loop, an unrelated session, and a session of bob. */
const SEED: readonly (readonly [key: string, patch: Partial<SessionEntry>])[] = [
  ["agent:main:main", {}],
  ["global", {}],
  ["agent:main:subagent:1", { spawnedBy: "agent:main:main" }],
  ["agent:main:subagent:1:subagent:2", { spawnedBy: "agent:main:subagent:1" }],
  ["agent:bob:subagent:3", { spawnedBy: "agent:main:main" }],
  ["agent:main:x", { spawnedBy: "agent:main:y" }],
  ["agent:main:y", { spawnedBy: "agent:main:x" }],
  ["agent:main:z", { spawnedBy: "agent::" }],
  ["agent:bob:main", {}],
];

async function seeded(t: TestContext, reach: Reach) {
  const { store, clock } = await openStore(t);
  for (const [key, patch] of SEED) {
    clock.advance(1_000);
    await store.ensure(key, patch);
  }
  const reaching = createReaching({ store, rules: () => rules, reach: () => reach });
  const list = async (from: string, limit = 100, search = "") => {
    const accept = ({ key }: { key: string }) => key.includes(search);
    return (await reaching.list(from, { updatedSince: undefined, accept, limit })).map(({ key }) => key);
  };
  return { ...reaching, list, store, clock };
}

describe("the sessions within reach", () => {
  const main = "agent:main:main";
  const mains = ["agent:main:subagent:1:subagent:2", "agent:main:subagent:1", main];
  const all = SEED.map(([key]) => key).toReversed();
  const table: readonly [Reach, from: string, keys: readonly string[]][] = [
    [reachOf("self"), main, [main]],
    [reachOf("self", ["*"]), main, [main]],
    [reachOf("tree"), main, mains],
    [reachOf("tree"), "agent:main:subagent:1", ["agent:main:subagent:1:subagent:2", "agent:main:subagent:1"]],
    [reachOf("tree"), "agent:main:subagent:1:subagent:2", ["agent:main:subagent:1:subagent:2"]],
    [reachOf("tree"), "agent:main:x", ["agent:main:y", "agent:main:x"]],
    [reachOf("tree"), "agent:main:none", []],
    [reachOf("tree", ["*"]), main, ["agent:bob:subagent:3", ...mains]],
    [reachOf("agent"), main, all.filter((key) => !key.includes("bob"))],
    [reachOf("agent"), "agent:bob:main", ["agent:bob:main", "agent:bob:subagent:3"]],
    [reachOf("agent", ["*"]), main, all.filter((key) => key !== "agent:bob:main")],
    [reachOf("all"), "agent:bob:main", ["agent:bob:main", "agent:bob:subagent:3"]],
    [reachOf("all", ["*"]), "agent:bob:main", all],
    [reachOf("all", ["bob"]), "agent:bob:main", ["agent:bob:main", "agent:bob:subagent:3"]],
  ];
  for (const [reach, from, keys] of table) {
    it(`${from} by ${reach.visibility}${reach.agentToAgent.enabled ? " across agents" : ""}, by list and by mayTouch alike`, async (t) => {
      const { list, mayTouch } = await seeded(t, reach);
      assert.deepEqual(await list(from), keys);
      for (const [key] of SEED) assert.equal(await mayTouch(from, key), keys.includes(key), key);
    });
  }

  it("apply the limit last", async (t) => {
    const { list } = await seeded(t, reachOf("all"));
    assert.deepEqual(await list(main, 2), ["agent:main:z", "agent:main:y"]);
    assert.deepEqual(await list(main, 1, "main:main"), [main]);
  });

  it("include missing sessions as if they existed", async (t) => {
    const { mayTouch } = await seeded(t, reachOf("agent"));
    assert.equal(await mayTouch(main, "agent:main:new"), true);
    assert.equal(await mayTouch(main, "agent:bob:new"), false);
    assert.equal(await mayTouch("agent:main:nowhere", "agent:main:nowhere"), true);
  });
});
