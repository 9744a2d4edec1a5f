import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { Method } from "@svc/sdk";
import type { CommandContext } from "@svc/sdk/cli";
import commands from "../../../plugins/memory/cli.ts";
import { root } from "../../checkout.ts";

type Client = Awaited<ReturnType<CommandContext["connect"]>>;

interface Given {
  readonly answer: unknown;
  readonly args?: readonly string[];
  readonly options?: Readonly<Record<string, unknown>>;
  readonly json?: boolean;
}

/** Runs a command against a gateway with this response. */
async function run(name: string, { answer, args = [], options = {}, json = false }: Given) {
  const printed: unknown[] = [];
  const asked: unknown[] = [];
  let open = 0;
  const client = {
    call: async ({ name: method }: Method, params: unknown) => {
      asked.push([method, params]);
      return answer;
    },
    close: async () => void (open -= 1),
  };
  const context = {
    args,
    options,
    json,
    connect: async ({ scopes }: { scopes?: readonly string[] } = {}) => {
      open += 1;
      asked.push(scopes);
      return client as unknown as Client;
    },
    print: (value: unknown) => void printed.push(value),
  } as unknown as CommandContext; // only the parts that the commands use
  const command = commands.find((candidate) => candidate.name === `memory ${name}`) ?? assert.fail(name);
  try {
    return { code: (await command.run(context)) ?? 0, printed, asked };
  } finally {
    assert.equal(open, 0, "every connection is closed");
  }
}

it("svc memory has the same commands in package.json", () => {
  const { svc } = JSON.parse(readFileSync(join(root, "plugins/memory/package.json"), "utf8"));
  assert.deepEqual(
    svc.commands,
    commands.map(({ name, summary }) => ({ name, summary })),
  );
});

describe("svc memory status", () => {
  const main = { agentId: "main", provider: "openai", model: "m", embedding: { ok: true }, files: 2, chunks: 5 };
  const answer = {
    agents: [
      { ...main, vectors: 3, pending: 2, indexBytes: 4_096, lastIndexedAt: Date.UTC(2026, 0, 31, 12) },
      { agentId: "ops", embedding: { ok: false, error: "no server\u001b[2J" } },
    ],
  };

  it("shows one line per agent, and unknown values as unknown", async () => {
    const { printed, asked } = await run("status", { answer });
    assert.deepEqual(printed, [
      "AGENT  FILES  CHUNKS  VECTORS        LAST SYNC",
      "main   2      5       3 (2 pending)  2026-01-31 12:00:00Z",
      "ops    -      -       -              never",
      "",
      "main: the embeddings server responds (openai, m)",
      "ops: no server\\u001b[2J",
      "The index has 4096 bytes.",
    ]);
    assert.deepEqual(asked, [["operator.read"], ["memory.status", {}]]);
  });

  it("queries one agent, and prints the response as JSON", async () => {
    const { printed, asked } = await run("status", { answer, options: { agent: "main" }, json: true });
    assert.deepEqual([printed, asked[1]], [[answer], ["memory.status", { agentId: "main" }]]);
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
    const { code, printed, asked } = await run("index", { answer: { agents }, options: { force: true } });
    assert.deepEqual(printed, [
      "main: 2 files, 5 chunks, 1 changed, 0 removed, 3 sent for vectors, 2 pending",
      "  not searched: memory/a.md: it is not a text file",
      "  only keyword search so far: the server is down",
      "ops: 2 files, 5 chunks, 1 changed, 0 removed",
    ]);
    assert.deepEqual([code, asked], [1, [["operator.admin"], ["memory.index", { force: true }]]]);
    assert.equal((await run("index", { answer: { agents: [] } })).code, 0);
  });
});

describe("svc memory search", () => {
  const found = { agentId: "main", results: [], files: 2, leftOut: [], mode: "keyword" };
  it("shows places with their lines", async () => {
    const place = { path: "memory/a.md", startLine: 1, endLine: 2, score: 0.5, snippet: "# Tea\n\u001b[2JAda" };
    const answer = { ...found, results: [place], meaning: "the server is down" };
    const { printed, asked } = await run("search", { answer, args: ["likes", "tea"], options: { limit: "3" } });
    assert.deepEqual(printed, [
      "memory/a.md:1-2  0.5",
      "  # Tea",
      "  \\u001b[2JAda",
      "",
      "Semantic search was skipped or partial: the server is down",
    ]);
    assert.deepEqual(asked[1], ["memory.search", { query: "likes tea", maxResults: 3 }]);
  });

  it("reports an empty result", async () => {
    assert.deepEqual((await run("search", { answer: found, args: ["x"] })).printed, ["No match in 2 memory files."]);
    const none = { ...found, files: 0 };
    assert.deepEqual((await run("search", { answer: none, args: ["x"] })).printed, ["There are no memory files yet."]);
  });

  for (const limit of ["0", "51", "many", "1.5"])
    it(`refuses ${limit} places`, () =>
      assert.rejects(run("search", { answer: found, args: ["x"], options: { limit } }), { code: "INVALID_REQUEST" }));
});
