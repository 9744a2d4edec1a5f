/** The tools, alone and in a real gateway with an agent that calls them. */
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { outsideOrigin } from "@svc/sdk";
import { memory } from "@svc/sdk/memory";
import { textOf } from "@svc/sdk/models";
import { startFakeModelServer, testGateway, toolContract } from "@svc/sdk/testing";
import type { Tool, ToolCall, ToolResult } from "@svc/sdk/tools";
import { getTool, MAX_TEXT_CHARS, searchTool } from "../../../plugins/memory/tools.ts";
import { principal } from "../agents/script.ts";
import { temporaryDirectory } from "../agents/temporary.ts";
import { startEmbeddings } from "./fake-embeddings.ts";
import { indexesOf } from "./indexes-scene.ts";
import { never, scene } from "./scene.ts";

const indexesIn = async (t: TestContext, workspace: string) => (await indexesOf(t, { main: workspace })).indexes;

async function use(tool: Tool, params: Record<string, unknown>): Promise<ToolResult> {
  const call: ToolCall = {
    name: "tool",
    toolCallId: "c1",
    arguments: params,
    runId: "r1",
    sessionKey: "agent:main:main",
    agentId: "main",
  };
  return (await tool.run(params, { call, principal, signal: never })) as ToolResult; // both return blocks
}

const nobodys = async () => undefined;
const search = async (t: TestContext, workspace: string, query: string) =>
  use(searchTool(await indexesIn(t, workspace), nobodys), { query });
const get = async (t: TestContext, workspace: string, params: Record<string, unknown>) =>
  use(getTool(await indexesIn(t, workspace), nobodys), params);

describe("content of others in memory", () => {
  it("has the origin of each file that is shown, and of no other", async (t) => {
    const { workspace } = await scene(t, { "memory/page.md": "tea", "memory/own.md": "coffee" });
    const indexes = await indexesIn(t, workspace);
    const page = outsideOrigin("web", "https://evil.example/");
    const originOf = async (_agent: string, names: readonly string[]) =>
      names.includes("memory/page.md") ? page : undefined;
    const found = (query: string) => use(searchTool(indexes, originOf), { query });
    const read = (path: string) => use(getTool(indexes, originOf), { path });
    assert.deepEqual([(await found("tea")).origin, (await read("memory/page.md")).origin], [page, page]);
    assert.deepEqual([(await found("coffee")).origin, (await read("memory/own.md")).origin], [undefined, undefined]);
  });
});

describe("memory_search", () => {
  it("returns places as text for models and as values for programs", async (t) => {
    const { workspace } = await scene(t, { "memory/a.md": "# Tea\nAda likes tea." });
    const result = await search(t, workspace, "tea");
    assert.match(textOf(result), /^memory\/a\.md lines 1 to 2, score 0\.\d+\n# Tea\nAda likes tea\.$/);
    const { results, ...details } = result.details as { results: readonly { path: string }[] };
    assert.deepEqual(
      results.map(({ path }) => path),
      ["memory/a.md"],
    );
    assert.deepEqual(details, { files: 1, leftOut: [], mode: "keyword" });
  });

  it("reports an empty result and skipped files", async (t) => {
    const { workspace, write } = await scene(t);
    assert.match(textOf(await search(t, workspace, "tea")), /^There are no memory files yet/);
    await write("MEMORY.md", "coffee");
    for (const name of ["a", "b", "c", "d", "e", "f"]) await write(`memory/${name}.md`, "\0");
    const text = textOf(await search(t, workspace, "tea"));
    assert.match(
      text,
      /^No match for "tea" in 1 memory files\.\n\nNot searched:\nmemory\/a\.md: it is not a text file\n/,
    );
    assert.match(text, /and 1 more$/);
  });
});

describe("memory_get", () => {
  const text = "one\ntwo\nthree\nfour";
  const cases: [what: string, params: object, text: string, from: number, to: number][] = [
    ["all of a file", {}, text, 1, 4],
    ["from a line on", { from: 3 }, "three\nfour", 3, 4],
    ["some lines", { from: 2, lines: 2 }, "two\nthree\n[lines 2 to 3 of 4]", 2, 3],
    ["lines beyond the end", { from: 4, lines: 10 }, "four", 4, 4],
  ];
  for (const [what, params, expected, from, to] of cases) {
    it(`reads ${what}`, async (t) => {
      const { workspace } = await scene(t, { "memory/a.md": text });
      const result = await get(t, workspace, { path: "memory/a.md", ...params });
      assert.equal(textOf(result), expected);
      const { text: shown, ...details } = result.details as Record<string, unknown>;
      assert.deepEqual(details, { path: "memory/a.md", from, to, totalLines: 4 });
      assert.ok(expected.startsWith(String(shown)));
    });
  }

  it("cuts a long file at the end of a line, and reports the lines it read", async (t) => {
    const line = "x".repeat(999);
    const { workspace } = await scene(t, { "MEMORY.md": Array.from({ length: 60 }, () => line).join("\n") });
    const shown = textOf(await get(t, workspace, { path: "MEMORY.md" }));
    assert.ok(shown.endsWith(`${line}\n[lines 1 to ${MAX_TEXT_CHARS / 1_000} of 60]`));
  });

  it("refuses what is not a memory file, and a line after the last", async (t) => {
    const { workspace } = await scene(t, { "memory/a.md": text, "AGENTS.md": "no" });
    const refusals: [params: object, code: string, message: RegExp][] = [
      [{ path: "AGENTS.md" }, "INVALID_REQUEST", /not a memory file/],
      [{ path: "memory/../../x.md" }, "INVALID_REQUEST", /not a memory file/],
      [{ path: "memory/b.md" }, "NOT_FOUND", /find files with memory_search/],
      [{ path: "memory/a.md", from: 9 }, "INVALID_REQUEST", /has 4 lines/],
    ];
    for (const [params, code, message] of refusals)
      await assert.rejects(get(t, workspace, { ...params }), { code, message });
  });
});

describe("both", () => {
  it("keep the contract of tools", async (t) => {
    const { workspace } = await scene(t, { "MEMORY.md": "tea" });
    const indexes = await indexesIn(t, workspace);
    await toolContract(t, {
      tool: searchTool(indexes, nobodys),
      name: "memory_search",
      samples: [{ query: "tea" }, { query: "-" }],
    });
    await toolContract(t, { tool: getTool(indexes, nobodys), name: "memory_get", samples: [{ path: "MEMORY.md" }] });
  });

  it("report a removed agent and a disabled memory", async (t) => {
    const { indexes } = await indexesOf(t, { other: "/nowhere" });
    await assert.rejects(use(searchTool(indexes, nobodys), { query: "x" }), { code: "NOT_FOUND" });
    await assert.rejects(use(getTool(indexes, nobodys), { path: "MEMORY.md" }), { code: "NOT_FOUND" });
    const off = await indexesOf(t, { main: "/nowhere" }, { settings: { main: { enabled: false } } });
    await assert.rejects(use(searchTool(off.indexes, nobodys), { query: "x" }), {
      code: "UNAVAILABLE",
      message: /enabled is false/,
    });
  });
});

/** A gateway with two agents, each with its own memory; the test controls the model. */
async function gatewayWith(
  t: TestContext,
  call: { readonly name: string; readonly arguments: unknown },
  defaults: object = {},
) {
  const model = await startFakeModelServer({ replies: [{ toolCalls: [call] }, { text: "done" }] });
  t.after(() => model.close());
  const [main, other] = [await temporaryDirectory(t), await temporaryDirectory(t)];
  for (const [workspace, text] of [
    [main, "The key hangs by the door."],
    [other, "The key is under the mat."],
  ] as const) {
    await mkdir(join(workspace, "memory"));
    await writeFile(join(workspace, "memory/keys.md"), text);
  }
  const { client } = await testGateway(t, {
    plugins: ["storage-sqlite", "sessions", "models", "provider-openai", "tools", "agents", "memory"],
    config: {
      models: { providers: { fake: { baseUrl: model.url, models: [{ id: "fake-model" }] } } },
      agents: {
        defaults,
        list: [
          { id: "main", default: true, workspace: main },
          { id: "other", workspace: other },
        ],
      },
    },
  });
  return { model, client, workspace: main };
}

describe("an agent of a real gateway", () => {
  it("finds what it wrote down, and nothing of another agent", async (t) => {
    const { model, client } = await gatewayWith(t, { name: "memory_search", arguments: { query: "where is the key" } });
    const request = { message: "Where is my key?", agentId: "main", idempotencyKey: "k1" };
    await client.request("agent", request);
    await client.request("agent.wait", { runId: "k1", timeoutMs: 10_000 });
    const offered = model.requests[0]?.body.tools as readonly { function: { name: string } }[];
    assert.deepEqual(
      offered.map(({ function: { name } }) => name).filter((name) => name.startsWith("memory_")),
      ["memory_search", "memory_get"],
    );
    const told = JSON.stringify(model.requests[1]?.body);
    assert.match(told, /hangs by the door/);
    assert.doesNotMatch(told, /under the mat/);
  });

  it("has semantic search with a server, also by methods, and a background sync", async (t) => {
    const server = await startEmbeddings(t);
    const memorySearch = { remote: { baseUrl: server.url, apiKey: "key-of-the-test" }, sync: { watchDebounceMs: 20 } };
    const { client, workspace } = await gatewayWith(t, { name: "memory_search", arguments: {} }, { memorySearch });
    const before = await client.call(memory.doctor, {});
    assert.deepEqual([before.agentId, before.provider, before.embedding], ["main", "openai", { ok: true }]);
    const found = await client.call(memory.search, { query: "doorkeeper's latchkey" });
    assert.deepEqual([found.agentId, found.mode, found.results[0]?.path], ["main", "hybrid", "memory/keys.md"]);

    await writeFile(join(workspace, "memory/new.md"), "The umbrella stands in the hall.");
    const isKnown = () => server.texts().some((text) => text.includes("umbrella"));
    for (let turn = 0; turn < 200 && !isKnown(); turn += 1) await new Promise((resolve) => setTimeout(resolve, 25));
    assert.ok(isKnown(), "the new note was noticed");

    const { agents } = await client.call(memory.index, { agentId: "other" });
    assert.deepEqual(
      agents.map(({ agentId, files, pending }) => [agentId, files, pending]),
      [["other", 1, 0]],
    );
    const { agents: all } = await client.call(memory.status, {});
    assert.deepEqual(
      all.map(({ agentId, pending }) => [agentId, pending]),
      [
        ["main", 0],
        ["other", 0],
      ],
    );
    await assert.rejects(client.call(memory.search, { query: "x", agentId: "nobody" }), { code: "NOT_FOUND" });
    assert.deepEqual(server.keys(), ["Bearer key-of-the-test"]);
  });
});
