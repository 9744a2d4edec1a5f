import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { listOpenRouter } from "../../../plugins/models/discovery/openrouter.ts";

async function siteOf(t: TestContext, list: () => unknown) {
  const asked: string[] = [];
  const server = createServer(({ url, headers }, response) => {
    asked.push(`${url} ${headers.authorization ?? "without a key"}`);
    if (url === "/key") response.writeHead(headers.authorization === "Bearer good" ? 200 : 401).end("{}");
    else response.end(typeof list() === "string" ? list() : JSON.stringify(list()));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    asked,
    list: (apiKey?: string) =>
      listOpenRouter({ name: "openrouter", baseUrl, ...(apiKey ? { apiKey } : {}) }, new AbortController().signal),
  };
}

const entry = {
  id: "acme/big",
  name: "Acme: Big",
  context_length: 200_000,
  architecture: { input_modalities: ["text", "image", "file"] },
  pricing: {
    prompt: "0.000003",
    completion: "0.000015",
    input_cache_read: "0.0000003",
    input_cache_write: "0.00000375",
  },
  top_provider: { max_completion_tokens: 64_000 },
  supported_parameters: ["tools", "reasoning"],
};

describe("the list of OpenRouter", { timeout: 60_000 }, () => {
  it("has prices per million tokens, and needs no key", async (t) => {
    const { list, asked } = await siteOf(t, () => ({
      data: [entry, { id: "free/one", pricing: { prompt: "0", completion: "0" } }],
    }));
    assert.deepEqual(await list(), [
      {
        id: "acme/big",
        name: "Acme: Big",
        provider: "openrouter",
        reasoning: true,
        contextWindow: 200_000,
        maxTokens: 64_000,
        input: ["text", "image", "document"],
        cost: { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 },
      },
      {
        id: "free/one",
        name: "free/one",
        provider: "openrouter",
        reasoning: false,
        cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
      },
    ]);
    assert.deepEqual(asked, ["/models without a key"]);
  });

  it("checks a key first", async (t) => {
    const { list } = await siteOf(t, () => ({ data: [] }));
    assert.deepEqual(await list("good"), []);
    await assert.rejects(list("bad"), { code: "UNAVAILABLE", details: { kind: "auth" } });
  });

  it("leaves out odd entries and odd prices", async (t) => {
    const odd = [
      null,
      7,
      { id: "two words" },
      { id: "a", pricing: { prompt: "-1", completion: "x" }, context_length: -5 },
    ];
    const { list } = await siteOf(t, () => ({ data: odd }));
    assert.deepEqual(await list(), [{ id: "a", name: "a", provider: "openrouter", reasoning: false }]);
  });

  it("is bounded in bytes and in models", async (t) => {
    const many = Array.from({ length: 6_000 }, (_, index) => ({ id: `m${index}` }));
    assert.equal((await (await siteOf(t, () => ({ data: many }))).list()).length, 5_000);
    const { list } = await siteOf(t, () => "x".repeat(10_000_001));
    await assert.rejects(list(), { code: "UNAVAILABLE", message: /more than 10000000 bytes/u });
  });
});
