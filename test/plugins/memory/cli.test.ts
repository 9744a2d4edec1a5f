import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { GatewayError } from "@svc/sdk";
import { runCommand } from "@svc/sdk/testing";
import commands from "../../../plugins/memory/cli.ts";

/** Runs a command against a gateway with this response. */
const run = (name: string, answer: unknown, options: Parameters<typeof runCommand>[2] = {}) =>
  runCommand(commands, `memory ${name}`, { ...options, answers: { [`memory.${name}`]: answer } });

describe("svc memory status", () => {
  const main = { agentId: "main", provider: "openai", model: "m", embedding: { ok: true }, files: 2, chunks: 5 };
  const answer = {
    agents: [
      { ...main, vectors: 3, pending: 2, indexBytes: 4_096, lastIndexedAt: Date.UTC(2026, 0, 31, 12) },
      { agentId: "ops", embedding: { ok: false, error: "no server\u001b[2J" } },
    ],
  };

  it("shows one line per agent, and unknown values as unknown", async () => {
    const { printed, asked, scopes } = await run("status", answer);
    assert.deepEqual(printed, [
      "AGENT  FILES  CHUNKS  VECTORS        LAST SYNC",
      "main   2      5       3 (2 pending)  2026-01-31 12:00:00Z",
      "ops    -      -       -              never",
      "",
      "main: the embeddings server responds (openai, m)",
      "ops: no server\\u001b[2J",
      "The index has 4096 bytes.",
    ]);
    assert.deepEqual([scopes, asked], [["operator.read"], [["memory.status", {}]]]);
  });

  it("queries one agent, and prints the response as JSON", async () => {
    const { printed, asked } = await run("status", answer, { options: { agent: "main" }, json: true });
    assert.deepEqual([printed, asked], [[answer], [["memory.status", { agentId: "main" }]]]);
  });
});

describe("svc memory index", () => {
  const counts = { files: 2, chunks: 5, changed: 1, removed: 0, embedded: 3 };
  it("prints the result, and exits with 1 if places have no vector", async () => {
    const leftOut = [{ path: "memory/a.md", reason: "it is not a text file" }];
    const agents = [
      { agentId: "main", ...counts, pending: 2, leftOut, error: "the server is down" },
      { agentId: "ops", ...counts, leftOut: [] },
    ];
    const { code, printed, asked, scopes } = await run("index", { agents }, { options: { force: true } });
    assert.deepEqual(printed, [
      "main: 2 files, 5 chunks, 1 changed, 0 removed, 3 sent for vectors, 2 pending",
      "  not searched: memory/a.md: it is not a text file",
      "  only keyword search so far: the server is down",
      "ops: 2 files, 5 chunks, 1 changed, 0 removed",
    ]);
    assert.deepEqual([code, scopes, asked], [1, ["operator.admin"], [["memory.index", { force: true }]]]);
    assert.equal((await run("index", { agents: [] })).code, 0);
  });
});

describe("svc memory search", () => {
  const found = { agentId: "main", results: [], files: 2, leftOut: [], mode: "keyword" };
  it("shows places with their lines", async () => {
    const place = { path: "memory/a.md", startLine: 1, endLine: 2, score: 0.5, snippet: "# Tea\n\u001b[2JAda" };
    const answer = { ...found, results: [place], meaning: "the server is down" };
    const { printed, asked } = await run("search", answer, { args: ["likes", "tea"], options: { limit: "3" } });
    assert.deepEqual(printed, [
      "memory/a.md:1-2  0.5",
      "  # Tea",
      "  \\u001b[2JAda",
      "",
      "Semantic search was skipped or partial: the server is down",
    ]);
    assert.deepEqual(asked, [["memory.search", { query: "likes tea", maxResults: 3 }]]);
  });

  it("reports an empty result", async () => {
    assert.deepEqual((await run("search", found, { args: ["x"] })).printed, ["No match in 2 memory files."]);
    const none = { ...found, files: 0 };
    assert.deepEqual((await run("search", none, { args: ["x"] })).printed, ["There are no memory files yet."]);
  });

  for (const limit of ["0", "51", "1.5"])
    it(`refuses ${limit} places`, async () => {
      const { error } = await run("search", found, { args: ["x"], options: { limit } });
      assert.equal((error as GatewayError).code, "INVALID_REQUEST");
    });
});
