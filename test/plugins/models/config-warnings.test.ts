import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type ConfigView, withDefaults } from "@svc/sdk";
import { unusableModels } from "../../../plugins/models/catalogue/config-warnings.ts";
import { ModelsConfig } from "../../../plugins/models/config.ts";

const baseUrl = "https://host.example/v1";
const providers = { acme: { baseUrl, models: [{ id: "gpt-5" }, { id: "org/one" }] } };
const builtin = [{ id: "offline", name: "Offline", provider: "offline" }];
const KINDS = [
  { id: "offline", value: { builtin } },
  { id: "openai-completions", value: {} },
];

/** Path and message of each warning. */
function warned(
  config: object,
  kinds: ReturnType<ConfigView["contributions"]> | null = KINDS,
  models: object = { providers },
) {
  const view: ConfigView = {
    config: { models: withDefaults(ModelsConfig, models), ...config },
    contributions: ({ id }) => (id === "model.provider" ? (kinds ?? undefined) : []),
  };
  const found = unusableModels(view);
  assert.ok(found.every(({ breaks }) => breaks === true));
  return found.map(({ path, message }): [path: string, message: string] => [path, message]);
}

describe("configured model references", () => {
  const good: [what: string, config: object][] = [
    ["none", {}],
    ["a configured one", { agents: { defaults: { model: "acme/gpt-5" } } }],
    ["a bare id", { agents: { defaults: { model: "gpt-5" } } }],
    ["an id with a slash", { agents: { defaults: { model: { primary: "acme/org/one", fallbacks: ["acme/gpt-5"] } } } }],
    ["one that needs no configuration", { agents: { defaults: { model: "offline/offline" } } }],
    ["an alias", { agents: { defaults: { model: "Fast", models: { "acme/gpt-5": { alias: "fast" } } } } }],
  ];
  for (const [what, config] of good) it(`are there: ${what}`, () => assert.deepEqual(warned(config), []));

  it("are reported in each place, with the available models and a suggestion", () => {
    const config = {
      agents: {
        defaults: { model: "foo/bar", subagents: { model: { primary: "gtp-5" } }, heartbeat: { model: "no/heart" } },
        list: [
          { id: "a", model: { primary: "acme/gpt-5", fallbacks: ["acme/gpt-55"] } },
          { id: "b", subagents: { model: "x" } },
        ],
      },
      hooks: { mappings: [{}, { model: "no/hook" }], gmail: { model: "no/mail" } },
      tools: { media: { model: "no/eyes" } },
    };
    const available = "available: acme/gpt-5, acme/org/one, offline/offline. See `svc models list`";
    assert.deepEqual(warned(config), [
      ["agents.defaults.model", `no model "foo/bar"; ${available}`],
      ["agents.defaults.heartbeat.model", `no model "no/heart"; ${available}`],
      ["agents.defaults.subagents.model.primary", `no model "gtp-5"; ${available}. Did you mean gpt-5?`],
      ["agents.list[0].model.fallbacks[0]", `no model "acme/gpt-55"; ${available}. Did you mean acme/gpt-5?`],
      ["agents.list[1].subagents.model", `no model "x"; ${available}`],
      ["hooks.gmail.model", `no model "no/mail"; ${available}`],
      ["hooks.mappings[1].model", `no model "no/hook"; ${available}`],
      ["tools.media.model", `no model "no/eyes"; ${available}`],
    ]);
  });

  it("are reported in models.default, with the source of the name", () => {
    const [[path, message] = []] = warned({}, KINDS, { providers, default: "acme/gone" });
    assert.equal(path, "models.default");
    assert.match(message ?? "", /^no model "acme\/gone" \(from `models\.default`\); available: /);
  });

  it("are reported without a plugin for their kind of server, or outside the allowlist", () => {
    const model = { agents: { defaults: { model: "acme/gpt-5" } } };
    assert.match(
      warned(model, [])[0]?.[1] ?? "",
      /no enabled plugin contributes the model provider "openai-completions"/,
    );
    const list = { agents: { defaults: { model: "acme/gpt-5", models: { "offline/offline": {} } } } };
    assert.match(warned(list)[0]?.[1] ?? "", /is not allowed: add it to agents\.defaults\.models/);
  });

  it("are not reported if a provider may add the model at run time", () => {
    const kinds = [...KINDS, { id: "far" }];
    const named = (model: string) => warned({ agents: { defaults: { model } } }, kinds).map(([path]) => path);
    assert.deepEqual([named("far/any"), named("bare"), named("foo/bar")], [[], [], ["agents.defaults.model"]]);
    assert.deepEqual(warned({ agents: { defaults: { model: "foo/bar" } } }, null), []);
  });
});
