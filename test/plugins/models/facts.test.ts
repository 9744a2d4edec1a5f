/** Public facts below the configuration: which model they belong to, and where their prices apply. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { violations, withDefaults } from "@svc/sdk";
import type { ModelFacts, ResolvedModel } from "@svc/sdk/models";
import { AS_OF, TABLE } from "../../../plugins/model-facts/table.ts";
import { priced } from "../../../plugins/models/asking/cost.ts";
import { buildCatalogue, choicesOf, pickModel } from "../../../plugins/models/catalogue/catalogue.ts";
import { createFactBook, withFacts } from "../../../plugins/models/catalogue/facts.ts";
import { ModelsConfig } from "../../../plugins/models/config.ts";

const real = createFactBook([{ asOf: AS_OF, table: TABLE }]);
const KINDS = ["openai-completions", "anthropic-messages", "google-generative-ai", "bedrock-converse-stream"].map(
  (id) => ({ id }),
);

const table = `
acme big 1000 100 tidrx 1 2 0.1 1.25 500 2 4 0.2 2.5
acme old 1000 900 to 1 1 1 0
acme plain 500 - t - - - -
acme prime 1000 100 tp 3 3 3 0
broken line
`;
const facts: ModelFacts = { asOf: "2026-01-01", table };

const catalogueOf = (section: object, more: object = {}) =>
  buildCatalogue(withDefaults(ModelsConfig, section), KINDS, { facts: real, ...more });

describe("a table of facts", () => {
  it("is read by columns; other lines are ignored", () => {
    const book = createFactBook([facts]);
    assert.deepEqual(book.find("acme", "big"), {
      contextWindow: 1000,
      maxTokens: 100,
      input: ["text", "image", "document"],
      reasoning: true,
      xhigh: true,
      cost: { input: 1, output: 2, cacheRead: 0.1, cacheWrite: 1.25 },
      costAbove: { tokens: 500, input: 2, output: 4, cacheRead: 0.2, cacheWrite: 2.5 },
    });
    assert.deepEqual(book.find("acme", "plain"), { contextWindow: 500, input: ["text"], reasoning: false });
    assert.deepEqual(book.offered("acme"), ["prime", "big", "plain"]);
    assert.deepEqual([book.places, book.days], [["acme"], ["2026-01-01"]]);
  });

  it("gives way to one of a later day", () => {
    const later = { asOf: "2026-02-01", table: "acme big 2000 - t 5 5 5 0" };
    for (const sources of [
      [facts, later],
      [later, facts],
    ])
      assert.equal(createFactBook(sources).find("acme", "big")?.contextWindow, 2000);
  });

  it("is bounded", () => {
    const long = Array.from({ length: 6_000 }, (_, index) => `acme m${index} 1000 - t - - - -`).join("\n");
    assert.equal(createFactBook([{ asOf: "2026-01-01", table: long }]).offered("acme").length, 5_000);
  });
});

describe("the facts about a model", () => {
  const cases: [
    why: string,
    place: string | undefined,
    id: string,
    window: number | undefined,
    input: number | undefined,
  ][] = [
    ["its own id", "anthropic", "claude-sonnet-4-5", 200_000, 3],
    ["a dated release", "anthropic", "claude-sonnet-4-5-20250929", 200_000, 3],
    ["a dated release of OpenAI", "openai", "gpt-5-mini-2025-08-07", 400_000, 0.25],
    ["a release with its own price", "openai", "gpt-4o-2024-05-13", 128_000, 5],
    ["the latest release", "anthropic", "claude-3-5-haiku-latest", 200_000, 0.8],
    ["a moving name, which has no price", "xai", "grok-4-latest", 256_000, undefined],
    ["a similar name", "openai", "gpt-4o-realtime-preview", undefined, undefined],
    ["a router's spelling", "openrouter", "anthropic/claude-sonnet-4.5", 200_000, 3],
    ["a router's free variant", "openrouter", "openai/gpt-5:free", 400_000, undefined],
    [
      "an open model, whose price depends on the host",
      "openrouter",
      "meta-llama/llama-3.3-70b-instruct",
      131_072,
      undefined,
    ],
    ["an unknown vendor at a router", "openrouter", "nobody/gpt-5", undefined, undefined],
    ["a global profile of Bedrock", "amazon-bedrock", "global.anthropic.claude-sonnet-4-5-20250929-v1:0", 200_000, 3],
    [
      "a regional profile of Bedrock",
      "amazon-bedrock",
      "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
      200_000,
      undefined,
    ],
    ["a US model of Bedrock", "amazon-bedrock", "us.amazon.nova-pro-v1:0", 300_000, 0.8],
    ["a model of Bedrock in any region", "amazon-bedrock", "amazon.nova-pro-v1:0", 300_000, undefined],
    ["another server", undefined, "gpt-5", 400_000, undefined],
    ["another server with a vendor prefix", undefined, "anthropic/claude-opus-4.5", 200_000, undefined],
    ["another server with its own model", undefined, "our-model", undefined, undefined],
    ["a hoster's id elsewhere", undefined, "llama-3.3-70b-versatile", undefined, undefined],
  ];
  for (const [why, place, id, window, input] of cases)
    it(`are found by ${why}: ${id}`, () => {
      const fact = real.find(place, id);
      assert.deepEqual([fact?.contextWindow, fact?.cost?.input], [window, input]);
    });

  it("leave the output limit of a router to the router, which reserves credit for it", () => {
    assert.equal(real.find("openrouter", "openai/gpt-5")?.maxTokens, undefined);
  });

  const model: ResolvedModel = { provider: "acme", id: "big", name: "Big", api: "a" };
  const fact = createFactBook([facts]).find("acme", "big");

  it("fill only what the configuration leaves out; a price is one field", () => {
    const cost = { input: 9, output: 9, cacheRead: 0, cacheWrite: 0 };
    const merged = withFacts({ ...model, contextWindow: 10_000, reasoning: false, input: ["text"], cost }, fact);
    assert.deepEqual(merged, {
      ...model,
      contextWindow: 10_000,
      maxTokens: 100,
      reasoning: false,
      input: ["text"],
      xhigh: true,
      cost,
    });
    assert.equal(withFacts(model, undefined), model);
  });

  it("do not limit the answer to half of the window or more", () => {
    assert.equal(withFacts(model, createFactBook([facts]).find("acme", "old")).maxTokens, undefined);
    assert.equal(withFacts({ ...model, contextWindow: 200 }, fact).maxTokens, undefined);
  });

  it("price a long prompt as a whole", () => {
    const cost = (input: number) => {
      const usage = { input, output: 100, cacheRead: 1, cacheWrite: 0, totalTokens: input + 101 };
      const event = priced({ type: "finish", reason: "stop", usage }, withFacts(model, fact));
      return (event.type === "finish" ? (event.usage?.cost?.total ?? 0) : 0).toFixed(10);
    };
    assert.equal(cost(499), ((499 * 1 + 100 * 2 + 0.1) / 1e6).toFixed(10));
    assert.equal(cost(500), ((500 * 2 + 100 * 4 + 0.2) / 1e6).toFixed(10));
  });
});

describe("a provider known by name", () => {
  it("needs only a key: its models come from the facts, a preferred one first", () => {
    const catalogue = catalogueOf({ providers: { anthropic: { apiKey: "k" } } });
    const first = pickModel(catalogue);
    assert.deepEqual([first.provider, first.id, first.api], ["anthropic", "claude-sonnet-5-5", "anthropic-messages"]);
    assert.ok(first.cost && first.contextWindow === 1_000_000 && first.reasoning);
    const ids = choicesOf(catalogue).map(({ id }) => id);
    assert.ok(ids.includes("claude-haiku-4-5") && !ids.includes("claude-3-opus"), "old models are not offered");
  });

  it("accepts models that the facts do not have yet", () => {
    const catalogue = catalogueOf({ providers: { openai: { apiKey: "k" } } });
    assert.deepEqual(pickModel(catalogue, undefined, "openai/gpt-99"), {
      provider: "openai",
      id: "gpt-99",
      name: "gpt-99",
      api: "openai-completions",
    });
    assert.ok(pickModel(catalogue, undefined, "openai/gpt-4o-2024-05-13").cost, "an old one is known");
    assert.throws(() => pickModel(catalogue, undefined, "gpt-99"), /no model "gpt-99"/u);
  });

  it("has its models behind another address, too, without prices", () => {
    const first = pickModel(
      catalogueOf({ providers: { openai: { apiKey: "k", baseUrl: "https://proxy.example/v1" } } }),
    );
    assert.deepEqual([first.id, first.contextWindow, first.cost], ["gpt-6-sol", 1_050_000, undefined]);
  });

  it("lists the models that are allowed, also one without facts", () => {
    const policy = new Map([["openai/gpt-99", {}]]);
    const catalogue = catalogueOf({ providers: { openai: { apiKey: "k" } } }, { named: [...policy.keys()] });
    assert.deepEqual(choicesOf(catalogue, policy), [{ id: "gpt-99", name: "gpt-99", provider: "openai" }]);
  });

  it("with a list has only these models, with facts", () => {
    const models = [{ id: "claude-haiku-4-5", contextWindow: 1_000 }];
    const catalogue = catalogueOf({ providers: { anthropic: { models } } });
    const [only, ...others] = catalogue.configured;
    assert.deepEqual([only?.contextWindow, only?.cost?.input, others], [1_000, 1, []]);
    assert.throws(() => pickModel(catalogue, undefined, "anthropic/claude-opus-5"), { code: "NOT_FOUND" });
  });

  const prices: [why: string, section: object, price: number | undefined][] = [
    ["its own address", { openai: { models: [{ id: "gpt-5" }] } }, 1.25],
    [
      "its address under another name",
      { work: { baseUrl: "https://api.openai.com/v1", models: [{ id: "gpt-5" }] } },
      1.25,
    ],
    [
      "another address under its name",
      { openai: { baseUrl: "https://proxy.example/v1", models: [{ id: "gpt-5" }] } },
      undefined,
    ],
    [
      "an account at another address",
      {
        openai: {
          accounts: [
            { name: "a", apiKey: "k" },
            { name: "b", apiKey: "k", baseUrl: "https://proxy.example" },
          ],
          models: [{ id: "gpt-5" }],
        },
      },
      undefined,
    ],
    [
      "a host that only looks like it",
      { x: { baseUrl: "https://api.openai.com.evil.example/v1", models: [{ id: "gpt-5" }] } },
      undefined,
    ],
    ["the default of its API", { mine: { api: "anthropic-messages", models: [{ id: "claude-haiku-4-5" }] } }, 1],
  ];
  for (const [why, providers, price] of prices)
    it(`has public prices only at its own servers: ${why}`, () => {
      const [model] = catalogueOf({ providers }).configured;
      assert.equal(model?.cost?.input, price);
      assert.ok((model?.contextWindow ?? 0) >= 200_000, "limits are known anyway");
    });

  it("must be known to need no list", () => {
    const section = (providers: object) => violations(ModelsConfig, withDefaults(ModelsConfig, { providers }));
    assert.deepEqual(section({ openrouter: { apiKey: "k" }, vllm: {} }), []);
    assert.match(
      section({ acme: { apiKey: "k" } })[0]?.message ?? "",
      /"acme" has no models and is not known by name/u,
    );
  });
});
