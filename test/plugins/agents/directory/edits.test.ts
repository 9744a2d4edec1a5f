import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createEdits, deleteEdits, updateEdits } from "../../../../plugins/agents/directory/edits.ts";

const ada = { id: "ada", name: "Ada", workspace: "/data/ada" };
const file = (list: unknown, more: object = {}) => ({ agents: { list }, ...more });
const LIST = ["agents", "list"];

describe("creating an agent", () => {
  for (const parsed of [{}, { agents: {} }, file([])]) {
    it(`writes the built-in agent down with the first one: ${JSON.stringify(parsed)}`, () => {
      assert.deepEqual(createEdits(parsed, ada), [{ path: LIST, value: [{ id: "main" }, ada] }]);
    });
  }

  it("refuses an id that is there in another spelling", () => {
    const refusal = { code: "INVALID_REQUEST", message: /already exists/ };
    assert.throws(() => createEdits(file([{ id: "ADA" }]), ada), refusal);
  });

  const elsewhere: [string, Record<string, unknown>][] = [
    ["the section", { agents: { $include: "agents.json" } }],
    ["the whole file", { $include: "base.json" }],
    ["the list", file({ $include: "list.json" })],
    ["the list, by a placeholder", file("${AGENTS}")],
  ];
  for (const [what, parsed] of elsewhere) {
    it(`refuses where ${what} comes from another file`, () => {
      const refusal = { code: "INVALID_REQUEST", message: /is not in the main configuration file/ };
      assert.throws(() => createEdits(parsed, ada), refusal);
      assert.throws(() => updateEdits(parsed, "ada", { name: "x" }), refusal);
      assert.throws(() => deleteEdits(parsed, "ada"), refusal);
    });
  }
});

describe("changing an agent", () => {
  const parsed = file([{ id: "ops" }, { ...ada, id: "Ada", model: { primary: "p/one", fallbacks: ["p/two"] } }]);

  it("changes what is given and leaves the rest", () => {
    assert.deepEqual(updateEdits(parsed, "ada", { name: "Ada L.", avatar: "A", workspace: "/w" }), [
      { path: [...LIST, 1, "name"], value: "Ada L." },
      { path: [...LIST, 1, "workspace"], value: "/w" },
      { path: [...LIST, 1, "identity", "avatar"], value: "A" },
    ]);
  });

  it("sets and removes emoji and theme, also of an agent that the file does not have yet", () => {
    const marked = file([{ ...ada, identity: { emoji: "*", theme: "calm" } }]);
    assert.deepEqual(updateEdits(marked, "ada", { emoji: "+", theme: "" }), [
      { path: [...LIST, 0, "identity", "emoji"], value: "+" },
      { path: [...LIST, 0, "identity", "theme"] },
    ]);
    assert.deepEqual(updateEdits(parsed, "ada", { emoji: "" }), [], "there is none");
    const value = [{ id: "main", name: "M", identity: { avatar: "A", theme: "calm" } }];
    assert.deepEqual(updateEdits({}, "main", { name: "M", avatar: "A", theme: "calm", emoji: "" }), [
      { path: LIST, value },
    ]);
  });

  it("keeps the fallbacks of a model", () => {
    const path = [...LIST, 1, "model", "primary"];
    assert.deepEqual(updateEdits(parsed, "ada", { model: "p/three" }), [{ path, value: "p/three" }]);
    assert.deepEqual(updateEdits(parsed, "ops", { model: "p/x" }), [{ path: [...LIST, 0, "model"], value: "p/x" }]);
  });

  it("writes nothing when nothing changes", () => {
    assert.deepEqual(updateEdits(parsed, "ada", { name: "Ada", model: "p/one" }), []);
    assert.deepEqual(updateEdits({}, "main", {}), []);
  });

  it("refuses an agent that is not there", () => {
    assert.throws(() => updateEdits(parsed, "ghost", { name: "x" }), { code: "NOT_FOUND" });
    assert.throws(() => updateEdits(parsed, "main", { name: "x" }), { code: "NOT_FOUND" });
  });
});

describe("deleting an agent", () => {
  it("takes it off the list, off the bindings and off what others may start, last places first", () => {
    const bindings = [{ agentId: "ada" }, { agentId: "ops" }, { agentId: "ADA" }, "odd", { match: {} }];
    const ops = { id: "ops", subagents: { allowAgents: ["Ada", "*", "ops"] } };
    assert.deepEqual(deleteEdits(file([ops, ada], { bindings }), "ada"), {
      edits: [
        { path: [...LIST, 0, "subagents", "allowAgents"], value: ["*", "ops"] },
        { path: [...LIST, 1] },
        { path: ["bindings", 2] },
        { path: ["bindings", 0] },
      ],
      removedBindings: 2,
    });
  });

  it("refuses an agent that is not there", () => {
    assert.throws(() => deleteEdits(file([ada]), "ghost"), { code: "NOT_FOUND", message: /agents\.list/ });
  });
});
