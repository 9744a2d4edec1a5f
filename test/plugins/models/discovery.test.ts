/** Local model servers: fakes over HTTP, hostile ones included. */
import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { withDefaults } from "@svc/sdk";
import { ModelsConfig } from "../../../plugins/models/config.ts";
import { createDiscovery } from "../../../plugins/models/discovery/discovery.ts";
import { createFakeClock } from "../../../sdk/testing/fake-clock.ts";

type Serve = (request: IncomingMessage & { readonly body: string }, response: ServerResponse) => unknown;

/** A server that answers with the JSON of what `serve` returns; `undefined`: it answers itself, or never. */
async function serverOf(t: TestContext, serve: Serve) {
  const asked: string[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const bytes of request) body += String(bytes);
    asked.push(`${request.method} ${request.url}`);
    const answer = await serve(Object.assign(request, { body }), response);
    if (answer !== undefined) response.setHeader("content-type", "application/json").end(JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

const SHOWN: Readonly<Record<string, object>> = {
  "qwen3:8b": {
    model_info: { "general.architecture": "qwen3", "qwen3.context_length": 40_960 },
    capabilities: ["completion", "tools", "thinking"],
  },
  "llava:7b": {
    model_info: { "llama.context_length": 32_768 },
    parameters: 'stop "x"\nnum_ctx 8192',
    capabilities: ["completion", "vision"],
  },
};

/** An Ollama server. */
const ollama: Serve = ({ url, body }) =>
  url === "/api/tags"
    ? { models: ["qwen3:8b", "llava:7b", "gpt-oss:120b-cloud"].map((name) => ({ name })) }
    : (SHOWN[(JSON.parse(body) as { model: string }).model] ?? {});

const FREE = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

/** `lmstudio` is off: one may run on this machine. */
function setup(host: string | undefined, section: object = {}, env: object = {}, setTimeout: typeof timer = never) {
  const abort = new AbortController();
  const clock = { now: () => now.value, setTimeout };
  const now = { value: 0 };
  const config = withDefaults(ModelsConfig, { discovery: { lmstudio: false }, ...section });
  const discovery = createDiscovery({ clock, env: { OLLAMA_HOST: host, ...env }, signal: abort.signal });
  return { discovery, config, abort, now, refresh: () => discovery.refresh(config) };
}

/** A busy machine may be slower than any wait, so most tests have no deadline. */
function never() {
  return () => {};
}

function timer(callback: () => void, ms: number) {
  const started = setTimeout(callback, ms);
  return () => clearTimeout(started);
}

describe("an Ollama server on this machine", { timeout: 60_000 }, () => {
  it("is found with its models, their windows and abilities", async (t) => {
    const { host } = await serverOf(t, ollama);
    const { discovery, config, refresh } = setup(host);
    await refresh();
    assert.deepEqual(discovery.read().get("ollama"), [
      { id: "qwen3:8b", cost: FREE, contextWindow: 40_960, input: ["text"], reasoning: true },
      { id: "llava:7b", cost: FREE, contextWindow: 8_192, input: ["text", "image"], reasoning: false },
      { id: "gpt-oss:120b-cloud" },
    ]);
    assert.equal(discovery.local(config).get("ollama")?.entry.baseUrl, `http://${host}/v1`);
  });

  it("is asked once a minute, and again after forget", async (t) => {
    const { host, asked } = await serverOf(t, ollama);
    const { discovery, refresh, now } = setup(host);
    const lists = () => asked.filter((one) => one === "GET /api/tags").length;
    await refresh();
    now.value = 59_999;
    await refresh();
    assert.equal(lists(), 1);
    now.value = 60_000;
    await refresh();
    assert.equal(lists(), 2);
    discovery.forget();
    await refresh();
    assert.equal(lists(), 3);
  });

  it("is not asked if it is switched off, configured with a list, or skipped by the environment", async (t) => {
    const { host, asked } = await serverOf(t, ollama);
    const providers = { ollama: { models: [{ id: "m" }] } };
    for (const { refresh } of [
      setup(host, { discovery: { ollama: false, lmstudio: false } }),
      setup(host, { providers }),
      setup(host, {}, { SVC_SKIP_MODEL_DISCOVERY: "1" }),
    ])
      await refresh();
    assert.deepEqual(asked, []);
  });

  it("is asked at the configured address", async (t) => {
    const { host } = await serverOf(t, ollama);
    const { discovery, refresh } = setup(undefined, { providers: { ollama: { baseUrl: `http://${host}/v1` } } });
    await refresh();
    assert.equal(discovery.read().get("ollama")?.length, 3);
  });

  it("is looked for again after 5 s if it is absent", async (t) => {
    let isThere = false;
    const { host } = await serverOf(t, (request, response) =>
      isThere ? ollama(request, response) : void response.destroy(),
    );
    const { discovery, refresh, now } = setup(host);
    await refresh();
    isThere = true;
    now.value = 4_999;
    await refresh();
    assert.equal(discovery.read().size, 0);
    now.value = 5_000;
    await refresh();
    assert.equal(discovery.read().size, 1);
  });

  it("disappears when it no longer responds", async (t) => {
    let isThere = true;
    const { host } = await serverOf(t, (request, response) =>
      isThere ? ollama(request, response) : void response.destroy(),
    );
    const { discovery, refresh, now } = setup(host);
    await refresh();
    assert.equal(discovery.read().size, 1);
    isThere = false;
    now.value = 60_000;
    await refresh();
    assert.equal(discovery.read().size, 0);
  });

  const hostile: [why: string, serve: Serve][] = [
    ["silent", () => undefined],
    ["no JSON", (_request, response) => void response.end("<html>")],
    ["an error", (_request, response) => void response.writeHead(500).end()],
    ["a redirect", (_request, response) => void response.writeHead(302, { location: "http://127.0.0.1:1/" }).end()],
    [
      "10 MB",
      (_request, response) => void response.end(`{"models":[${`{"name":"${"x".repeat(90)}"},`.repeat(100_000)}{}]}`),
    ],
    [
      "endless",
      (_request, response) => {
        const send = () => {
          while (!response.destroyed && response.write("x".repeat(65_536)));
          if (!response.destroyed) response.once("drain", send);
        };
        send();
      },
    ],
  ];
  for (const [why, serve] of hostile)
    it(`is ignored if its list is ${why}`, async (t) => {
      const { host } = await serverOf(t, serve);
      const { discovery, refresh } = setup(host, {}, {}, why === "silent" ? timer : never);
      await refresh();
      assert.equal(discovery.read().get("ollama"), undefined);
    });

  it("is cut to 500 models, and to ids that can be written in one line", async (t) => {
    const names = ["ok:1b", "two words", "line\nfeed", "\u001b[31m", "x".repeat(201), 7, null];
    const many = Array.from({ length: 2_000 }, (_, index) => ({
      name: index < names.length ? names[index] : `m${index}`,
    }));
    const { host } = await serverOf(t, ({ url }) => (url === "/api/tags" ? { models: many } : { model_info: "no" }));
    const { discovery, refresh } = setup(host);
    await refresh();
    const ids =
      discovery
        .read()
        .get("ollama")
        ?.map(({ id }) => id) ?? [];
    assert.deepEqual([ids[0], ids[1]], ["ok:1b", "m7"]);
    assert.ok(ids.length <= 500 && ids.length > 400, String(ids.length));
  });

  it("holds up a list for 300 ms at most, and leaves no timer", async () => {
    const clock = createFakeClock();
    const fetch = () => new Promise<never>(() => {});
    const { signal } = new AbortController();
    const discovery = createDiscovery({ clock, fetch, env: {}, signal });
    const refreshed = discovery.refresh(withDefaults(ModelsConfig, {}));
    await clock.advance(300);
    await refreshed;
    assert.equal(discovery.read().size, 0);
  });

  it("is not asked after the plugin has stopped", async (t) => {
    const { host, asked } = await serverOf(t, ollama);
    const { abort, refresh } = setup(host);
    abort.abort();
    await refresh();
    assert.deepEqual(asked, []);
  });

  const addresses: [host: string, address: string][] = [
    ["0.0.0.0", "http://127.0.0.1:11434/v1"],
    [":8080", "http://127.0.0.1:8080/v1"],
    ["box:9", "http://box:9/v1"],
    ["https://box", "https://box:443/v1"],
  ];
  for (const [host, address] of addresses)
    it(`has the address of OLLAMA_HOST=${host}`, () => {
      const { discovery, config } = setup(host);
      assert.equal(discovery.local(config).get("ollama")?.entry.baseUrl, address);
    });
});

describe("other local servers", { timeout: 60_000 }, () => {
  it("are LM Studio, with the loaded window of a model", async (t) => {
    const { host } = await serverOf(t, ({ url }) => {
      assert.equal(url, "/api/v0/models");
      const data = [
        { id: "a", type: "vlm", max_context_length: 100_000, loaded_context_length: 4_096 },
        { id: "e", type: "embeddings" },
        { id: "b", type: "llm", max_context_length: 32_768 },
      ];
      return { data };
    });
    const providers = { lmstudio: { baseUrl: `http://${host}/v1` } };
    const { discovery, refresh } = setup(undefined, { discovery: { ollama: false }, providers });
    await refresh();
    assert.deepEqual(discovery.read().get("lmstudio"), [
      { id: "a", input: ["text", "image"], cost: FREE, contextWindow: 4_096 },
      { id: "b", input: ["text"], cost: FREE, contextWindow: 32_768 },
    ]);
  });

  it("are vLLM, if it is configured", async (t) => {
    const { host } = await serverOf(t, () => ({ data: [{ id: "org/m", max_model_len: 8_192 }] }));
    const providers = { vllm: { baseUrl: `http://${host}/v1` } };
    const { discovery, refresh } = setup(undefined, { discovery: { ollama: false, lmstudio: false }, providers });
    await refresh();
    assert.deepEqual(discovery.read().get("vllm"), [{ id: "org/m", cost: FREE, contextWindow: 8_192 }]);
  });
});
