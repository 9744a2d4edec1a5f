import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { describeViolations, withDefaults } from "@svc/sdk";
import { AgentsConfig } from "../../../../plugins/agents/config.ts";
import {
  createDirectory,
  createLiveAgents,
  mergeMemorySearch,
} from "../../../../plugins/agents/directory/directory.ts";

const places = () => ({ stateDir: "/state", home: "/home/ada" });
const config = (defaults: object, own: object) =>
  withDefaults(AgentsConfig, {
    defaults: { memorySearch: defaults },
    list: [{ id: "ada", memorySearch: own }, { id: "ops" }],
  });

describe("memorySearch", () => {
  it("is the agent's own over that of all, key by key", () => {
    const agents = createDirectory(
      config(
        { provider: "ollama", query: { maxResults: 3, hybrid: { textWeight: 1 } }, extraPaths: ["/srv/a", "/srv/b"] },
        { query: { minScore: 0.5, hybrid: { vectorWeight: 0 } }, extraPaths: ["/srv/c"] },
      ),
      places,
    );
    assert.deepEqual(agents.memorySearch("ada"), {
      provider: "ollama",
      query: { maxResults: 3, minScore: 0.5, hybrid: { textWeight: 1, vectorWeight: 0 } },
      extraPaths: ["/srv/c"],
    });
    assert.equal(agents.memorySearch("ops").query?.maxResults, 3);
    assert.deepEqual(createDirectory(withDefaults(AgentsConfig, {}), places).memorySearch("main"), {});
  });

  it("takes a reference to a secret as one value", () => {
    const below = { remote: { apiKey: { source: "env", provider: "a", id: "A" }, headers: { x: "1", y: "2" } } };
    const above = { remote: { apiKey: { source: "file", id: "/b" }, headers: { y: "3" } } };
    assert.deepEqual(mergeMemorySearch(below, above).remote, {
      apiKey: { source: "file", id: "/b" },
      headers: { x: "1", y: "3" },
    });
    assert.equal(mergeMemorySearch(below, { remote: { apiKey: "text" } }).remote?.apiKey, "text");
  });

  it("follows the configuration", () => {
    const agents = createLiveAgents(config({}, { enabled: false }), places);
    assert.equal(agents.memorySearch("ada").enabled, false);
    agents.replace(config({}, {}));
    assert.equal(agents.memorySearch("ada").enabled, undefined);
  });

  const refused: [what: string, memorySearch: object, text: RegExp][] = [
    [
      "transcripts as a source",
      { sources: ["memory", "sessions"] },
      /memorySearch\/sources\/1: must be one of "memory"/,
    ],
    ["another fallback", { fallback: "openai" }, /must be one of "none"/],
    ["a relative path", { extraPaths: ["notes"] }, /must be an absolute path/],
    ["a path with steps back", { extraPaths: ["/srv/../etc"] }, /must be an absolute path/],
    ["the root of all files", { extraPaths: ["/"] }, /must be an absolute path/],
    ["an address that is none", { remote: { baseUrl: "file:///x" } }, /baseUrl/],
  ];
  for (const [what, memorySearch, text] of refused)
    it(`refuses ${what} by name`, () => {
      const given = withDefaults(AgentsConfig, { defaults: { memorySearch } });
      assert.match(describeViolations(AgentsConfig, given), text);
    });
});
