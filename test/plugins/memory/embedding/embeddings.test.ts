/** Semantic search, with an HTTP server that works, fails, is slow, or returns garbage. */
import assert from "node:assert/strict";
import { rename } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { GatewayError } from "@svc/sdk";
import { afterFailure, waitingFor } from "../../../../plugins/memory/embedding/back-off.ts";
import { createEmbed } from "../../../../plugins/memory/embedding/embeddings-api.ts";
import { type Endpoint, findEndpoint } from "../../../../plugins/memory/embedding/endpoint.ts";
import { cosine, fromBytes, toBytes, unit } from "../../../../plugins/memory/embedding/vectors.ts";
import { createStatus } from "../../../../plugins/memory/status.ts";
import { meaningOf, refusing, startEmbeddings, usual } from "../fake-embeddings.ts";
import { indexesOf } from "../indexes-scene.ts";
import { HYBRID, never, scene, type SceneOptions } from "../scene.ts";

const NOTES = {
  "MEMORY.md": "# Home\nThe latchkey hangs in the hall.\n# Animals\nA kitten sleeps all day.",
  "memory/work.md": "# Work\nThe backup runs at night.",
};

async function scenes(t: TestContext, options: SceneOptions = {}, files: Readonly<Record<string, string>> = NOTES) {
  const server = await startEmbeddings(t);
  const endpoint: Endpoint = {
    key: "one",
    url: `${server.url}/embeddings`,
    model: "m",
    headers: { "x-secret": "s3cr3t-value" },
  };
  const pauses: number[] = [];
  const embed = createEmbed({ pause: async (ms) => void pauses.push(ms) });
  let now = Date.now() + 60_000;
  const { memory: changes, ...more } = options;
  const all = await scene(t, files, { embed, now: () => now, memory: { endpoint, ...changes }, ...more });
  const later = (ms: number) => void (now += ms);
  return { server, endpoint, pauses, later, ...all };
}

describe("a hybrid search", () => {
  for (const useExtension of [true, false])
    it(`finds places without any of the words${useExtension ? "" : ", without the extension"}`, async (t) => {
      const { ask, server } = await scenes(t, { memory: { useExtension } });
      const { hits, mode, meaning, pending } = await ask("pet");
      assert.deepEqual(
        [hits[0]?.path, hits[0]?.startLine, mode, meaning, pending],
        ["MEMORY.md", 3, "hybrid", undefined, 0],
      );
      assert.equal(hits.length, 1, "what means something else is left out");
      const asked = server.texts().length;
      assert.equal((await ask("door lock")).hits[0]?.startLine, 1);
      assert.equal(server.texts().length, asked + 1, "only the query was asked about");
      assert.deepEqual(server.requests.at(-1), { model: "m", input: ["door lock"] });
    });

  it("sends the texts with their headings, in few requests, and only of this agent", async (t) => {
    const many = Array.from({ length: 150 }, (_, index) => `# Part ${index}\nA note about kitten ${index}.`).join("\n");
    const { engine, memory, server } = await scenes(t, {}, { "MEMORY.md": many, "AGENTS.md": "not sent" });
    const { embedded, pending, chunks } = await engine.sync(memory, false, never);
    assert.deepEqual([embedded, pending, chunks], [150, 0, 150]);
    assert.deepEqual(
      server.requests.map(({ input }) => input.length),
      [64, 64, 22],
    );
    assert.equal(server.texts()[7], "Part 7\n# Part 7\nA note about kitten 7.");
    assert.ok(!server.texts().some((text) => text.includes("not sent")));
  });

  it("weights both scores, or uses vectors only", async (t) => {
    const { engine, memory, ask } = await scenes(t);
    await engine.sync(memory, false, never);
    const words = { ...HYBRID, vectorWeight: 0, textWeight: 1 };
    assert.equal((await ask("sleeps", { hybrid: words })).hits[0]?.startLine, 3);
    const { hits, mode } = await ask("machine hall", { hybrid: { ...HYBRID, enabled: false } });
    assert.deepEqual([hits.map(({ path }) => path), mode], [["memory/work.md"], "vector"]);
    const none = await ask("machine", { hybrid: HYBRID, minScore: 0.99 });
    assert.deepEqual(none.hits, []);
  });

  it("embeds no text twice: not after a change elsewhere, a rename, its return, or a restart", async (t) => {
    const { engine, memory, server, write, workspace, open, remove } = await scenes(t);
    const asked = async (index = engine) => {
      const before = server.texts().length;
      const { pending } = await index.sync(memory, false, never);
      assert.equal(pending, 0);
      return server.texts().slice(before);
    };
    assert.equal((await asked()).length, 3);
    await write("MEMORY.md", NOTES["MEMORY.md"].replace("all day", "all night"));
    assert.deepEqual(await asked(), ["Animals\n# Animals\nA kitten sleeps all night."]);
    await rename(join(workspace, "memory/work.md"), join(workspace, "memory/job.md"));
    assert.deepEqual(await asked(), []);
    await write("MEMORY.md", NOTES["MEMORY.md"]);
    assert.deepEqual(await asked(), []);
    await remove("memory/job.md");
    await asked();
    await engine.close();
    const next = open();
    await write("memory/job.md", NOTES["memory/work.md"]);
    assert.deepEqual(await asked(next), []);
    const { chunks } = await next.sync(memory, true, never);
    assert.deepEqual([chunks, await asked(next)], [3, []]);
  });

  it("keeps the vectors of chunks without a cache, and no more cached vectors than allowed", async (t) => {
    const { engine, memory, server, write, remove } = await scenes(t, { memory: { maxCached: 0 } });
    await engine.sync(memory, false, never);
    await write("MEMORY.md", "# Animals\nA kitten sleeps all day.");
    await engine.sync(memory, false, never);
    assert.equal(server.texts().length, 3, "one of them stayed");
    await write("MEMORY.md", NOTES["MEMORY.md"]);
    await engine.sync(memory, false, never);
    assert.equal(server.texts().length, 4, "the other one is asked about again");
    const small = { ...memory, maxCached: 1 };
    for (const _turn of [1, 2]) {
      for (const path of Object.keys(NOTES)) await remove(path);
      await engine.sync(small, false, never);
      for (const [path, text] of Object.entries(NOTES)) await write(path, text);
      await engine.sync(small, false, never);
    }
    assert.equal(server.texts().length, 4 + 3 + 2);
  });

  it("embeds again if the model or the length of its vectors changes", async (t) => {
    const { engine, memory, endpoint, server, ask } = await scenes(t);
    await engine.sync(memory, false, never);
    const other = { ...memory, endpoint: { ...endpoint, key: "two", model: "n" } };
    assert.deepEqual([(await engine.sync(other, false, never)).embedded, server.requests.at(-1)?.model], [3, "n"]);
    assert.equal((await engine.sync(memory, false, never)).embedded, 0, "what was said before is still known");
    server.behave(({ input }) => input.map((text) => meaningOf(text, 12)));
    const { mode, meaning } = await ask("pet");
    assert.equal(mode, "keyword");
    assert.match(String(meaning), /another length/);
    assert.equal((await engine.sync(memory, false, never)).embedded, 3);
    const again = await ask("pet");
    assert.deepEqual([again.mode, again.hits[0]?.startLine], ["hybrid", 3]);
  });
});

describe("a server that fails", () => {
  type Behaviour = Parameters<Awaited<ReturnType<typeof startEmbeddings>>["behave"]>[0];
  const unequal = /vectors of equal length/;
  const badKey = /401; check memorySearch.remote.apiKey. Its message: no such key \*\*\*$/;
  const moved = refusing(307, "", { location: "http://127.0.0.1:1/" });
  const failures: [what: string, behaviour: Behaviour, said: RegExp][] = [
    ["refuses the key", refusing(401, "no such key s3cr3t-value"), badKey],
    ["does not know the model", refusing(404, "model m not found"), /404; check .+baseUrl and memorySearch.model/],
    ["has moved", moved, /redirects are not followed/],
    ["is broken", refusing(500, "oh\n\u001b[2J no"), /answered 500. Its message: oh \[2J no$/],
    ["refuses any text", refusing(400, "bad model"), /answered 400. Its message: bad model/],
    ["gives no vectors", (_asked, response) => void response.end("<html>"), /returned no vectors/],
    ["gives too few vectors", () => [[1, 2]], /not return \d+ vectors of equal length|returned no/],
    ["gives vectors of several lengths", ({ input }) => input.map((_, at) => [1, 2, 3, 4].slice(at)), unequal],
    ["gives vectors of nothing", ({ input }) => input.map(() => [0, 0]), unequal],
    ["disconnects", (_asked, response) => void response.destroy(), /cannot be reached/],
  ];
  for (const [what, behaviour, said] of failures)
    it(`because it ${what} leaves keyword search working, and reports why`, async (t) => {
      const { ask, server, engine, memory } = await scenes(t);
      server.behave(behaviour);
      const report = await engine.sync(memory, false, never);
      assert.match(String(report.error), said);
      assert.deepEqual([report.pending, report.files], [3, 2]);
      const { hits, mode, meaning } = await ask("kitten");
      assert.deepEqual([hits[0]?.startLine, mode], [3, "keyword"]);
      assert.match(String(meaning), /^(?:the embeddings server|of 3 places)/);
      assert.ok(!`${report.error}${meaning}`.includes("s3cr3t-value"));
    });

  it("gets no request during the back-off, and one after it", async (t) => {
    const { engine, memory, server, later, ask } = await scenes(t);
    server.behave(refusing(403, "no"));
    await engine.sync(memory, false, never);
    const asked = server.requests.length;
    assert.match(String((await engine.sync(memory, false, never)).error), /next attempt in 15 s$/);
    assert.match(String((await ask("pet")).meaning), /next attempt in/);
    assert.equal(server.requests.length, asked);
    server.behave(usual);
    later(16_000);
    assert.deepEqual([(await engine.sync(memory, false, never)).pending, (await ask("pet")).hits.length], [0, 1]);
  });

  it("for a moment is retried at once, after its retry-after time", async (t) => {
    const { engine, memory, server, pauses } = await scenes(t);
    let turn = 0;
    server.behave((asked, response) => {
      turn += 1;
      return turn === 1 ? refusing(429, "slow", { "retry-after": "2" })(asked, response) : usual(asked, response);
    });
    assert.equal((await engine.sync(memory, false, never)).pending, 0);
    assert.deepEqual(pauses, [2_000]);
  });

  it("for one text still gets the others", async (t) => {
    const { engine, memory, server, ask } = await scenes(t);
    server.behave((asked, response) =>
      asked.input.some((text) => text.includes("kitten"))
        ? refusing(400, "too long")(asked, response)
        : usual(asked, response),
    );
    const { pending, error } = await engine.sync(memory, false, never);
    assert.deepEqual([pending, error], [0, undefined]);
    assert.equal((await engine.figures(memory))?.vectors, 2);
    const requests = server.requests.length;
    await engine.sync(memory, false, never);
    assert.equal(server.requests.length, requests, "it is not tried again");
    server.behave(usual);
    assert.equal((await engine.sync(memory, true, never)).embedded, 1, "but when it is forced");
    assert.equal((await ask("key")).mode, "hybrid");
  });

  it("by being slow leaves keyword search, and is aborted with its run", async (t) => {
    const { ask, server, engine, memory } = await scenes(t, { queryTimeoutMs: 60, patienceMs: 30 });
    server.behave(() => undefined); // never responds
    const { hits, meaning, pending } = await ask("kitten");
    assert.deepEqual([hits[0]?.startLine, pending], [3, 3]);
    assert.match(String(meaning), /did not respond within 0.06 s/);
    const stopping = new AbortController();
    const probing = engine.probe(memory.endpoint ?? assert.fail(), stopping.signal);
    stopping.abort();
    await assert.rejects(probing, { name: "AbortError" });
  });

  it("midway keeps the vectors received, and gets the rest later", async (t) => {
    const many = Array.from({ length: 100 }, (_, index) => `# Part ${index}\nkitten ${index}`).join("\n");
    const { engine, memory, server, later, ask } = await scenes(t, {}, { "MEMORY.md": many });
    server.behave((asked, response) =>
      asked.input.length === 64 ? usual(asked, response) : refusing(403, "no")(asked, response),
    );
    const { embedded, pending } = await engine.sync(memory, false, never);
    assert.deepEqual([embedded, pending], [64, 36]);
    server.behave(usual);
    later(20_000);
    const { mode, meaning } = await ask("pet");
    assert.deepEqual([mode, meaning], ["hybrid", undefined]);
    assert.equal(server.texts().filter((text) => text.endsWith("kitten 3")).length, 1);
  });
});

describe("an endpoint", () => {
  const settings = {
    provider: "openai",
    baseUrl: "https://user:pass@one.example/v1?key=abc",
    model: "m",
    headers: { a: "b" },
  } as const;
  it("has a key without secrets", async () => {
    const found = await findEndpoint({ ...settings, apiKey: "k-1" }, undefined);
    assert.ok("key" in found);
    assert.equal(found.key, '["openai","https://one.example/v1","m"]');
    assert.deepEqual(found.headers, { authorization: "Bearer k-1", a: "b" });
  });
  it("without its API key is reported with the next step", async () => {
    const apiKey = { source: "env", id: "K" };
    const lost = await findEndpoint({ ...settings, apiKey }, undefined);
    assert.match("reason" in lost ? lost.reason : "", /enable the plugin secrets/);
    const refuse = () => Promise.reject(new GatewayError("UNAVAILABLE", "env K is not set"));
    assert.deepEqual(await findEndpoint({ ...settings, apiKey }, { reveal: refuse }), { reason: "env K is not set" });
    const found = await findEndpoint({ ...settings, apiKey }, { reveal: async () => "v" });
    assert.equal("headers" in found ? found.headers["authorization"] : "", "Bearer v");
  });
});

describe("the status of a memory", () => {
  it("probes the server at intervals, and reports why it cannot be searched", async (t) => {
    const server = await startEmbeddings(t);
    const { workspace } = await scene(t, NOTES);
    const remote = { baseUrl: server.url };
    const settings = {
      main: { remote, model: "m" },
      off: { remote, enabled: false },
      words: {},
      lost: { remote: { ...remote, apiKey: { source: "env", id: "K" } } },
    };
    const workspaces = { main: workspace, off: workspace, words: workspace, lost: workspace };
    const { indexes } = await indexesOf(t, workspaces, { settings });
    let now = 0;
    const statusOf = createStatus({ indexes, clock: { now: () => now } });
    const first = await statusOf("main", never);
    assert.deepEqual(first, { agentId: "main", provider: "openai", model: "m", embedding: { ok: true } });
    await statusOf("main", never);
    assert.equal(server.requests.length, 1);
    server.behave(refusing(401, "no"));
    now = 60_000;
    const { provider, embedding } = await statusOf("main", never);
    assert.deepEqual([provider, embedding.ok], ["openai", false]);
    assert.match(String(embedding.error), /401/);
    for (const [id, said] of [
      ["off", /enabled is false/],
      ["words", /no embeddings server is configured/],
      ["lost", /enable the plugin secrets/],
      ["nobody", /there is no agent/],
    ] as const) {
      const status = await statusOf(id, never);
      assert.deepEqual([status.provider, status.embedding.ok], [undefined, false], id);
      assert.match(String(status.embedding.error), said);
    }
    server.behave(usual);
    await indexes.search("words", { text: "kitten" }, never);
    const { lastIndexedAt, indexBytes, ...known } = await statusOf("words", never);
    assert.ok(lastIndexedAt !== undefined && indexBytes !== undefined);
    assert.deepEqual([known.files, known.chunks, known.vectors, known.pending], [2, 3, 0, undefined]);
  });

  it("of a search says why semantic search was skipped if the key is missing", async (t) => {
    const { workspace } = await scene(t, NOTES);
    const remote = { baseUrl: "http://127.0.0.1:9/v1", apiKey: { source: "env", id: "K" } };
    const { indexes } = await indexesOf(t, { main: workspace }, { settings: { main: { remote } } });
    const { hits, mode, meaning } = await indexes.search("main", { text: "kitten" }, never);
    assert.deepEqual([hits.length, mode], [1, "keyword"]);
    assert.match(String(meaning), /enable the plugin secrets/);
  });
});

describe("vectors", () => {
  it("have a length of 1, and keep their direction as bytes", () => {
    const one = unit([3, 4]) ?? assert.fail();
    assert.ok(Math.abs(cosine(one, one) - 1) < 1e-6);
    const shifted = Buffer.concat([Buffer.alloc(1), toBytes(one)]).subarray(1);
    assert.deepEqual([...fromBytes(shifted)], [...one]);
    assert.deepEqual([unit([0, 0]), unit([Number.NaN]), unit([1e308, 1e308])], [undefined, undefined, undefined]);
    assert.equal(cosine(one, Float32Array.of(1)), 0);
  });
});

describe("a server that failed", () => {
  it("is retried less and less often, at least every ten minutes, and not before its retry-after time", () => {
    const failure = { reason: "down", now: 0 };
    let state = afterFailure(undefined, failure);
    assert.deepEqual([state.until, waitingFor(state, 14_000)], [15_000, "down; next attempt in 1 s"]);
    assert.equal(waitingFor(state, 15_000), undefined);
    state = afterFailure(state, failure);
    assert.equal(state.until, 30_000);
    for (let turn = 0; turn < 20; turn += 1) state = afterFailure(state, failure);
    assert.equal(state.until, 600_000);
    assert.equal(afterFailure(undefined, { ...failure, retryAfterMs: 60_000 }).until, 60_000);
    assert.equal(afterFailure(undefined, { ...failure, retryAfterMs: 9e9 }).until, 600_000);
  });
});
