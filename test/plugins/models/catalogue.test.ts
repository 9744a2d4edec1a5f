import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { violations, withDefaults } from "@svc/sdk";
import { buildCatalogue, choicesOf, type Kind, pickModel, refOf } from "../../../plugins/models/catalogue/catalogue.ts";
import { ModelsConfig } from "../../../plugins/models/config.ts";
import type { Policy } from "../../../plugins/models/catalogue/policy.ts";

const offline: Kind = {
  id: "offline",
  builtin: [{ id: "offline", name: "Offline responder", provider: "offline", contextWindow: 8192, input: ["text"] }],
};
const openai: Kind = { id: "openai-completions" };
const kinds = [offline, openai];

const baseUrl = "https://host.example/v1";
const providers = {
  zeta: { baseUrl, models: [{ id: "big", name: "Big", reasoning: true, contextWindow: 1000 }, { id: "shared" }] },
  acme: {
    baseUrl,
    models: [
      { id: "org/deep/one", name: "Deep" },
      { id: "shared", name: "A shared one" },
    ],
  },
  other: { baseUrl, api: "telepathy", models: [{ id: "far" }] },
};

/** The section as passed by the gateway. */
function section(value: object): ModelsConfig {
  const config = withDefaults(ModelsConfig, value);
  assert.deepEqual(violations(ModelsConfig, config), []);
  return config;
}

const catalogue = (value: object = { providers }, of: readonly Kind[] = kinds) => buildCatalogue(section(value), of);
const picked = (ref?: string, value?: object, of?: readonly Kind[]) =>
  refOf(pickModel(catalogue(value, of), undefined, ref));

describe("models configuration", () => {
  const good = { baseUrl, models: [] };
  const wrong: [why: string, value: object, path: string][] = [
    ["a provider name with a slash", { providers: { "a/b": good } }, "/providers/a~1b"],
    ["an address that is no URL", { providers: { a: { ...good, baseUrl: "host:80" } } }, "/providers/a/baseUrl"],
  ];
  for (const [why, value, path] of wrong) {
    it(`refuses ${why}`, () => {
      const [first] = violations(ModelsConfig, withDefaults(ModelsConfig, value));
      assert.equal(first?.path, path);
    });
  }

  it("marks keys and header values as sensitive", () => {
    const json = JSON.stringify(ModelsConfig);
    assert.equal(json.match(/"sensitive":true/gu)?.length, 5); // keys of providers and accounts, headers of those and of models
  });

  const key = "k";
  const account = { name: "n", apiKey: key };
  const problems: [why: string, value: object, path: string, message: RegExp][] = [
    [
      "an id that a provider lists twice",
      { providers: { a: good, b: { baseUrl, models: [{ id: "x" }, { id: "y" }, { id: "x" }] } } },
      "/providers/b/models",
      /"x" is listed twice/u,
    ],
    [
      "two accounts of one name",
      { providers: { a: { ...good, accounts: [account, account] } } },
      "/providers/a/accounts",
      /"n" is listed twice/u,
    ],
    [
      "a key beside accounts",
      { providers: { a: { ...good, apiKey: key, accounts: [account] } } },
      "/providers/a",
      /apiKey cannot be used together with accounts/u,
    ],
    [
      "a login",
      { providers: { a: { ...good, auth: "oauth" } } },
      "/providers/a/auth",
      /"oauth" is not supported, only "api-key"/u,
    ],
    [
      "num_ctx",
      { providers: { a: { ...good, injectNumCtxForOpenAICompat: true } } },
      "/providers/a/injectNumCtxForOpenAICompat",
      /not sent/u,
    ],
    [
      "quirks",
      { providers: { a: { baseUrl, models: [{ id: "x", compat: { supportsStore: true } }] } } },
      "/providers/a/models/0/compat",
      /remove this key/u,
    ],
    ["discovery", { bedrockDiscovery: { enabled: true } }, "/bedrockDiscovery/enabled", /list them under/u],
  ];
  for (const [why, value, path, message] of problems) {
    it(`names the path and the reason of ${why}`, () => {
      const [first, ...others] = violations(ModelsConfig, withDefaults(ModelsConfig, value));
      assert.deepEqual([first?.path, others], [path, []]);
      assert.match(first?.message ?? "", message);
    });
  }

  it("accepts settings that request nothing unsupported", () => {
    const idle = { ...good, auth: "api-key", injectNumCtxForOpenAICompat: false, models: [{ id: "x", compat: {} }] };
    section({ providers: { ...providers, idle }, bedrockDiscovery: {} }); // throws when there is
  });
});

describe("model catalogue", () => {
  it("lists usable models by provider, then name, with known fields", () => {
    assert.deepEqual(choicesOf(catalogue()), [
      { id: "shared", name: "A shared one", provider: "acme", reasoning: false, input: ["text"] },
      { id: "org/deep/one", name: "Deep", provider: "acme", reasoning: false, input: ["text"] },
      { id: "offline", name: "Offline responder", provider: "offline", contextWindow: 8192, input: ["text"] },
      { id: "big", name: "Big", provider: "zeta", contextWindow: 1000, reasoning: true, input: ["text"] },
      { id: "shared", name: "shared", provider: "zeta", reasoning: false, input: ["text"] },
    ]);
  });

  it("hides a built-in model behind a configured one of the same name", () => {
    const value = { providers: { offline: { baseUrl, models: [{ id: "offline", name: "Mine" }] } } };
    assert.deepEqual(
      choicesOf(catalogue(value)).map(({ name }) => name),
      ["Mine"],
    );
  });

  const found: [why: string, ref: string | undefined, value: object | undefined, wanted: string][] = [
    ["a full reference", "zeta/big", undefined, "zeta/big"],
    ["an id with slashes behind its provider", "acme/org/deep/one", undefined, "acme/org/deep/one"],
    ["a bare id with slashes", "org/deep/one", undefined, "acme/org/deep/one"],
    ["a bare id that is unique", "big", undefined, "zeta/big"],
    ["a reference with blanks around it", " zeta/big ", undefined, "zeta/big"],
    ["a built-in model", "offline/offline", undefined, "offline/offline"],
    ["nothing, with a default", undefined, { providers, default: "acme/shared" }, "acme/shared"],
    ["nothing, without a default", undefined, undefined, "zeta/big"],
    ["nothing, with nothing configured", undefined, {}, "offline/offline"],
  ];
  for (const [why, ref, value, wanted] of found) {
    it(`resolves ${why}`, () => assert.equal(picked(ref, value), wanted));
  }

  it("hides the built-in models when the configuration replaces them", () => {
    assert.ok(choicesOf(catalogue({ mode: "replace", providers })).every(({ provider }) => provider !== "offline"));
  });

  it("prefers the kind of a model over that of its provider", () => {
    const acme = { baseUrl, api: "telepathy", models: [{ id: "m", api: "openai-completions" }] };
    assert.equal(pickModel(catalogue({ providers: { acme } })).api, "openai-completions");
  });

  it("resolves all fields that a provider needs", () => {
    assert.deepEqual(pickModel(catalogue(), undefined, "zeta/big"), {
      provider: "zeta",
      id: "big",
      name: "Big",
      api: "openai-completions",
      reasoning: true,
      input: ["text"],
      contextWindow: 1000,
    });
  });

  const unservable = { providers: { other: providers.other } };
  const refused: [why: string, ref: string | undefined, value: object | undefined, code: string, message: RegExp][] = [
    ["a bare id of two providers", "shared", undefined, "INVALID_REQUEST", /zeta\/shared, acme\/shared/u],
    ["an unknown id", "zeta/tiny", undefined, "NOT_FOUND", /available: acme\/shared, .*svc models list/u],
    ["a public server that is not configured", "openai/gpt-5", undefined, "NOT_FOUND", /svc models auth openai$/u],
    ["an empty reference", "", undefined, "NOT_FOUND", /available/u],
    [
      "an unknown default",
      undefined,
      { providers, default: "gone" },
      "NOT_FOUND",
      /"gone" \(from `models\.default`\)/u,
    ],
    [
      "a provider of a missing kind",
      "other/far",
      undefined,
      "NOT_FOUND",
      /"telepathy".*models\.providers\.other\.api to one of offline, openai-completions/u,
    ],
    ["a bare id of a missing kind", "far", undefined, "NOT_FOUND", /telepathy/u],
    ["nothing, when all that is configured is of a missing kind", undefined, unservable, "NOT_FOUND", /telepathy/u],
  ];
  for (const [why, ref, value, code, message] of refused) {
    it(`refuses ${why} with ${code}`, () =>
      assert.throws(() => picked(ref, value), { name: "GatewayError", code, message }));
  }

  it("explains how to add a model if there is none", () => {
    assert.throws(() => picked(undefined, {}, []), { code: "NOT_FOUND", message: /models\.providers/u });
    assert.throws(() => picked("x", {}, []), { code: "NOT_FOUND", message: /no model is available/u });
  });

  it("names at most ten models in a refusal", () => {
    const models = Array.from({ length: 13 }, (_, index) => ({ id: `m${index + 10}` }));
    assert.throws(() => picked("x", { providers: { a: { baseUrl, models } } }, [openai]), {
      message: /a\/m19, and 3 more/u,
    });
  });
});

describe("the allowlist and its aliases", () => {
  const policy: Policy = new Map([
    ["zeta/shared", { alias: "Fast" }],
    ["acme/org/deep/one", {}],
    ["gone/away", { alias: "lost" }],
  ]);
  const pick = (ref?: string, value?: object) => refOf(pickModel(catalogue(value), policy, ref));

  it("lists only allowed models", () => {
    assert.deepEqual(choicesOf(catalogue(), policy).map(refOf), ["acme/org/deep/one", "zeta/shared"]);
  });

  it("lists all models if no allowed one exists", () => {
    assert.equal(choicesOf(catalogue(), new Map([["gone/away", {}]])).length, 5);
  });

  const found: [why: string, ref: string | undefined, wanted: string][] = [
    ["an alias in any case", "fAST", "zeta/shared"],
    ["a full reference", "zeta/shared", "zeta/shared"],
    ["a bare id of two providers, one of them allowed", "shared", "zeta/shared"],
    ["nothing: the first that is allowed", undefined, "zeta/shared"],
  ];
  for (const [why, ref, wanted] of found) it(`resolves ${why}`, () => assert.equal(pick(ref), wanted));

  it("accepts an alias as the default", () => {
    assert.equal(pick(undefined, { providers, default: "fast" }), "zeta/shared");
  });

  const refused: [why: string, ref: string | undefined, value: object | undefined, code: string, message: RegExp][] = [
    [
      "a model outside",
      "zeta/big",
      undefined,
      "INVALID_REQUEST",
      /"zeta\/big".*agents\.defaults\.models.*zeta\/shared/u,
    ],
    ["a bare id outside", "big", undefined, "INVALID_REQUEST", /agents\.defaults\.models/u],
    [
      "a default outside",
      undefined,
      { providers, default: "zeta/big" },
      "INVALID_REQUEST",
      /agents\.defaults\.models/u,
    ],
    ["an alias of a model that is not here", "lost", undefined, "NOT_FOUND", /gone\/away/u],
  ];
  for (const [why, ref, value, code, message] of refused) {
    it(`refuses ${why} with ${code}`, () => assert.throws(() => pick(ref, value), { code, message }));
  }
});
