import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { describeViolations, withDefaults } from "@svc/sdk";
import { AgentsConfig } from "../../../plugins/agents/config.ts";
import { createDirectory, normalizeAgentId } from "../../../plugins/agents/directory.ts";

const directory = (config: object = {}) => createDirectory(withDefaults(AgentsConfig, config));

describe("agents config", () => {
  it("fills in its defaults", () => {
    const { defaults } = withDefaults(AgentsConfig, {});
    assert.deepEqual(defaults, { timeoutSeconds: 600, maxConcurrent: 4, maxToolRounds: 25 });
  });

  const refused: [string, object, RegExp][] = [
    ["an unknown key", { defaults: { timeout: 5 } }, /unexpected property 'timeout'/],
    ["a timeout of 0", { defaults: { timeoutSeconds: 0 } }, /\/defaults\/timeoutSeconds/],
    ["an agent without id", { list: [{ name: "Ada" }] }, /id/],
    ["an unknown verbose level", { defaults: { verboseDefault: "loud" } }, /"off", "on", "full"/],
  ];
  for (const [why, config, text] of refused) {
    it(`refuses ${why}`, () =>
      assert.match(describeViolations(AgentsConfig, withDefaults(AgentsConfig, config)), text));
  }
});

describe("agent directory", () => {
  for (const list of [undefined, []]) {
    it(`has one agent called main with list ${JSON.stringify(list)}`, () => {
      const agents = directory(list ? { list } : {});
      assert.equal(agents.defaultId, "main");
      assert.deepEqual(
        agents.list().map(({ id, isDefault }) => ({ id, isDefault })),
        [{ id: "main", isDefault: true }],
      );
    });
  }

  it("lists the default agent first, then by id", () => {
    const agents = directory({ list: [{ id: "zoe" }, { id: "ops", default: true }, { id: "ada" }] });
    assert.equal(agents.defaultId, "ops");
    assert.deepEqual(
      agents.list().map(({ id }) => id),
      ["ops", "ada", "zoe"],
    );
  });

  it("takes the first agent as the default one when none says so", () => {
    assert.equal(directory({ list: [{ id: "zoe" }, { id: "ada" }] }).defaultId, "zoe");
  });

  it("refuses two agents of one id and names the place", () => {
    assert.throws(() => directory({ list: [{ id: "Ada" }, { id: "ada" }] }), {
      outcome: "misconfigured",
      path: "/list/1/id",
    });
  });

  it("takes model and prompt from the agent, then from the defaults, then what is built in", () => {
    const agents = directory({
      defaults: { model: { primary: "p/one", fallbacks: ["p/two"] }, systemPrompt: "all" },
      list: [{ id: "main" }, { id: "own", model: "p/own", systemPrompt: "mine" }],
    });
    assert.deepEqual(agents.settings("main").models, ["p/one", "p/two"]);
    assert.equal(agents.settings("main").systemPrompt, "all");
    assert.deepEqual(agents.settings("own").models, ["p/own"]);
    assert.equal(agents.settings("own").systemPrompt, "mine");
    assert.match(directory().settings("main").systemPrompt, /assistant/);
    assert.deepEqual(directory().settings("main").models, []);
  });

  it("gives an agent that was taken off the list the defaults", () => {
    const gone = directory({ defaults: { systemPrompt: "all" } }).settings("gone");
    assert.deepEqual([gone.id, gone.systemPrompt, gone.isDefault], ["gone", "all", false]);
  });

  const ids: [string, string][] = [
    ["Ada Lovelace", "ada-lovelace"],
    ["", "main"],
    ["--x--", "x"],
    ["a".repeat(80), "a".repeat(64)],
  ];
  for (const [id, clean] of ids) {
    it(`writes the id "${id}" as "${clean}"`, () => assert.equal(normalizeAgentId(id), clean));
  }
});
