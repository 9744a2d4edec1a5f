import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { settingsOf } from "../../../plugins/memory/settings.ts";

describe("settings", () => {
  it("have no server unless the configuration names one", () => {
    assert.equal(settingsOf({}).endpoint, undefined);
    assert.equal(settingsOf({ model: "m", remote: { apiKey: "k" } }).endpoint, undefined);
    const servers = [
      { provider: "ollama" as const },
      { provider: "openai" as const },
      { remote: { baseUrl: "http://a/v1//" } },
    ];
    assert.deepEqual(
      servers
        .map((given) => settingsOf(given).endpoint)
        .map((found) => [found?.provider, found?.baseUrl, found?.model]),
      [
        ["ollama", "http://127.0.0.1:11434/v1", "nomic-embed-text"],
        ["openai", "https://api.openai.com/v1", "text-embedding-3-small"],
        ["openai", "http://a/v1", "text-embedding-3-small"],
      ],
    );
  });

  it("are the configured ones, with consistent bounds", () => {
    const found = settingsOf({
      chunking: { tokens: 100, overlap: 90 },
      cache: { enabled: false, maxEntries: 5 },
      query: { maxResults: 3, minScore: 0.5, hybrid: { mmr: { enabled: true }, temporalDecay: { halfLifeDays: 5 } } },
      sync: { watch: false, onSearch: false, watchDebounceMs: 0, intervalMinutes: 5 },
      store: { vector: { enabled: false } },
      extraPaths: ["/srv"],
      enabled: false,
    });
    assert.deepEqual(found.chunking, { tokens: 100, overlap: 50 });
    assert.deepEqual([found.maxCached, found.maxResults, found.minScore, found.useExtension], [0, 3, 0.5, false]);
    assert.deepEqual([found.hybrid.mmrLambda, found.hybrid.halfLifeDays], [0.7, undefined]);
    assert.deepEqual(
      [found.watch, found.refreshOnSearch, found.watchDebounceMs, found.intervalMinutes],
      [false, false, 0, 5],
    );
    assert.deepEqual([found.enabled, found.extraPaths], [false, ["/srv"]]);
    assert.equal(settingsOf({ cache: { maxEntries: 5 } }).maxCached, 5);
  });
});
