/** The lists of models of all providers, from servers that keep the rules of their API and from others. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it, type TestContext } from "node:test";
import type { ModelChoice, ProviderAccount } from "@svc/sdk/models";
import { apis, KEY } from "./apis.ts";

type Answer = (req: IncomingMessage, res: ServerResponse) => void;

const json = (body: unknown, status = 200, headers: Record<string, string> = {}): Answer => {
  return (_req, res) =>
    void res
      .writeHead(status, { "content-type": "application/json", ...headers })
      .end(typeof body === "string" ? body : JSON.stringify(body));
};

async function serve(t: TestContext, answer: Answer) {
  const seen: { readonly url: string; readonly headers: IncomingMessage["headers"] }[] = [];
  const server = createServer((req, res) => {
    seen.push({ url: req.url ?? "", headers: req.headers });
    answer(req, res);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close().closeAllConnections());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

interface Lists {
  /** Path of the base address. */
  readonly base: string;
  /** Answers by path and query. */
  readonly pages: Readonly<Record<string, unknown>>;
  readonly found: readonly Partial<ModelChoice>[];
  /** A page with `count` models, the same page again as its successor if `endless`. */
  readonly page: (count: number, endless?: boolean) => unknown;
  readonly malformed: readonly unknown[];
}

const ids = (count: number) => Array.from({ length: count }, (_, index) => `m-${index}`);
const openaiList = {
  base: "/v1",
  pages: {
    "/v1/models": {
      data: [
        { id: "gpt-5" },
        { id: "llama", max_model_len: 8192 },
        { id: "gpt-5" },
        { name: "no id" },
        { id: 7 },
        null,
      ],
    },
  },
  found: [
    { id: "gpt-5", name: "gpt-5" },
    { id: "llama", name: "llama", contextWindow: 8192 },
  ],
  page: (count: number) => ({ data: ids(count).map((id) => ({ id })) }),
  malformed: [{}, { data: {} }, [], null, "text"],
};

const lists: Readonly<Record<keyof typeof apis, Lists>> = {
  openai: openaiList,
  responses: openaiList,
  anthropic: {
    base: "",
    pages: {
      "/v1/models?limit=1000": {
        data: [{ id: "claude-a", display_name: "Claude A", max_input_tokens: 200_000 }],
        has_more: true,
        last_id: "claude-a",
      },
      "/v1/models?limit=1000&after_id=claude-a": { data: [{ id: "claude-b" }], has_more: false, last_id: "claude-b" },
    },
    found: [
      { id: "claude-a", name: "Claude A", contextWindow: 200_000 },
      { id: "claude-b", name: "claude-b" },
    ],
    page: (count, endless) => ({ data: ids(count).map((id) => ({ id })), has_more: endless, last_id: "again" }),
    malformed: [{}, { data: 5 }, null],
  },
  google: {
    base: "/v1beta",
    pages: {
      "/v1beta/models?pageSize=1000": {
        models: [
          {
            name: "models/gemini-3-flash",
            displayName: "Gemini 3 Flash",
            inputTokenLimit: 1_048_576,
            outputTokenLimit: 65_536,
            supportedGenerationMethods: ["generateContent", "countTokens"],
            thinking: true,
          },
          { name: "models/embedding-1", supportedGenerationMethods: ["embedContent"] },
        ],
        nextPageToken: "n/2",
      },
      "/v1beta/models?pageSize=1000&pageToken=n%2F2": {
        models: [{ name: "models/gemma", supportedGenerationMethods: ["generateContent"] }],
      },
    },
    found: [
      { id: "gemini-3-flash", name: "Gemini 3 Flash", contextWindow: 1_048_576, reasoning: true },
      { id: "gemma", name: "gemma" },
    ],
    page: (count, endless) => ({
      models: ids(count).map((id) => ({ name: `models/${id}` })),
      ...(endless ? { nextPageToken: "again" } : {}),
    }),
    malformed: [{}, { models: "x" }, null],
  },
  bedrock: {
    base: "",
    pages: {
      "/foundation-models?byOutputModality=TEXT": {
        modelSummaries: [
          {
            modelId: "amazon.nova-lite-v1:0",
            modelName: "Nova Lite",
            inferenceTypesSupported: ["ON_DEMAND"],
            responseStreamingSupported: true,
            inputModalities: ["TEXT", "IMAGE"],
          },
          { modelId: "only.by-profile", inferenceTypesSupported: ["INFERENCE_PROFILE"] },
          { modelId: "no.stream", inferenceTypesSupported: ["ON_DEMAND"], responseStreamingSupported: false },
        ],
      },
      "/inference-profiles?maxResults=1000&type=SYSTEM_DEFINED": {
        inferenceProfileSummaries: [{ inferenceProfileId: "us.a", inferenceProfileName: "US A", status: "ACTIVE" }],
        nextToken: "t/2",
      },
      "/inference-profiles?maxResults=1000&type=SYSTEM_DEFINED&nextToken=t%2F2": {
        inferenceProfileSummaries: [{ inferenceProfileId: "eu.b", inferenceProfileName: "EU B" }],
      },
    },
    found: [
      { id: "amazon.nova-lite-v1:0", name: "Nova Lite", input: ["text", "image"] },
      { id: "us.a", name: "US A" },
      { id: "eu.b", name: "EU B" },
    ],
    page: (count, endless) => ({
      inferenceProfileSummaries: ids(count).map((id) => ({ inferenceProfileId: id })),
      ...(endless ? { nextToken: "again" } : {}),
    }),
    malformed: [{}, { modelSummaries: 5 }, { inferenceProfileSummaries: 5 }, null],
  },
};

for (const [name, { base, pages, found, page, malformed }] of Object.entries(lists)) {
  describe(`the list of models of provider ${name}`, { timeout: 120_000 }, () => {
    const api = apis[name as keyof typeof apis];
    const [header, prefix] = api.keyHeader ?? ["authorization", "Bearer "];

    async function open(t: TestContext, answer: Answer) {
      const server = await serve(t, answer);
      const account: ProviderAccount = { name: "acme:work", baseUrl: server.url + base, apiKey: KEY };
      const list = (signal = new AbortController().signal) =>
        api.create().listModels?.(account, signal) ?? assert.fail();
      return { ...server, list };
    }
    const refusal = (kind: string, message: RegExp) => (error: Error & { code: string; details: { kind: string } }) => {
      assert.equal(error.code, "UNAVAILABLE");
      assert.equal(error.details.kind, kind);
      assert.match(error.message, message);
      assert.doesNotMatch(error.message, new RegExp(KEY, "u"));
      return true;
    };

    it("has every page once, with the key, without duplicates and without what cannot be called", async (t) => {
      const { list, seen } = await open(t, (req, res) => {
        const body = pages[req.url ?? ""];
        return body === undefined ? json({}, 404)(req, res) : json(body)(req, res);
      });
      assert.deepEqual(
        await list(),
        found.map((model) => ({ provider: "acme", ...model })),
      );
      assert.deepEqual(
        seen.map(({ url, headers }) => [url, headers[header]]),
        Object.keys(pages).map((path) => [path, prefix + KEY]),
      );
    });

    it("has at most 5,000 models", async (t) => {
      const { list } = await open(t, json(page(6_000)));
      assert.equal((await list()).length, 5_000);
    });

    it("is refused when it is larger than 10 MB, without reading on", async (t) => {
      let sent = 0;
      const { list } = await open(t, (_req, res) => {
        const more = () => {
          while (!res.destroyed && res.write("x".repeat(65_536))) sent += 65_536;
        };
        res.on("drain", more);
        more();
      });
      await assert.rejects(list(), refusal("server_error", /list of models .* is larger than 10 MB/u));
      assert.ok(sent < 40_000_000, `${sent} bytes were sent`);
    });

    const hasPages = JSON.stringify(page(1)) !== JSON.stringify(page(1, true));
    it("is refused when its pages do not end", { skip: !hasPages }, async (t) => {
      const { list, seen } = await open(t, json(page(1, true)));
      await assert.rejects(list(), refusal("server_error", /more than 50 pages/u));
      assert.equal(seen.length, 50);
    });

    for (const body of [...malformed, "<!doctype html><p>Sign in</p>", "", '{"data": [{"id'])
      it(`is refused as ${JSON.stringify(body)}`, async (t) => {
        const { list } = await open(t, json(typeof body === "string" ? body : JSON.stringify(body)));
        await assert.rejects(list(), refusal("server_error", /sent data that does not match its API/u));
      });

    const statuses: [status: number, kind: string, message: RegExp][] = [
      [401, "auth", /check .*apiKey/u],
      [403, "auth", /check .*apiKey/u],
      [404, "request", /has no list of models \(404\).*baseUrl/u],
      [500, "server_error", /failed \(500\)/u],
    ];
    for (const [status, kind, message] of statuses)
      it(`is refused with ${status} as ${kind}`, async (t) => {
        const { list } = await open(t, json({ error: { message: `no, ${KEY}` } }, status));
        await assert.rejects(list(), refusal(kind, message));
      });

    it("passes the wait of a rate limit on", async (t) => {
      const { list } = await open(t, json({ error: { message: "later" } }, 429, { "retry-after": "7" }));
      await assert.rejects(list(), { retryAfterMs: 7_000, details: { kind: "rate_limit", status: 429 } });
    });

    it("stops at the deadline of its caller", async (t) => {
      const { list } = await open(t, (_req, res) => void res.writeHead(200).write("{"));
      const stopping = new AbortController();
      const listed = list(stopping.signal);
      setTimeout(() => stopping.abort(new Error("too slow")), 20);
      await assert.rejects(listed, { message: "too slow" });
    });

    it("names the server that cannot be reached", async (t) => {
      const { list } = await open(t, (req) => req.socket.destroy());
      await assert.rejects(list(), refusal("network", /cannot be reached at http:\/\/127/u));
    });
  });
}
