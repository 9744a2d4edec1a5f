import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type ExtensionView, isPlugin, matches, type PluginGateway, withDefaults } from "@svc/sdk";
import { ModelProvider, models, Models } from "@svc/sdk/models";
import { ModelsConfig } from "../../../plugins/models/config.ts";
import modelsPlugin from "../../../plugins/models/plugin.ts";
import anthropicPlugin from "../../../plugins/provider-anthropic/plugin.ts";
import offlinePlugin from "../../../plugins/provider-offline/plugin.ts";
import openaiPlugin from "../../../plugins/provider-openai/plugin.ts";

const baseUrl = "https://host.example/v1";

const plugins = [modelsPlugin, offlinePlugin, openaiPlugin, anthropicPlugin];

/** Runs the `setup` of all four plugins and records their declarations. */
async function declare(section: object) {
  const contributions: { id: string; plugin: string; value: ModelProvider }[] = [];
  const view: ExtensionView<ModelProvider> = {
    list: () => contributions,
    get: (id) => contributions.find((contribution) => contribution.id === id),
    call: (contribution, work) => work(contribution.value),
  };
  let service: Models | undefined;
  let handlers: { list: () => unknown } | undefined;
  let changed: ((config: unknown) => void) | undefined;
  for (const plugin of plugins) {
    const gateway = {
      config: plugin.config && withDefaults(plugin.config, plugin.id === "models" ? section : {}),
      clock: { now: () => 0, setTimeout: () => () => {} },
      services: { policy: { get: () => undefined } },
      configChanged: (handler: typeof changed) => (changed = handler),
      own: (point: object) => (assert.equal(point, ModelProvider), view),
      emits: () => ({ isUsed: () => false }),
      provide: (token: object, value: Models) => token === Models && (service = value),
      serve: (contract: object, given: typeof handlers) => (assert.equal(contract, models), (handlers = given)),
      extend: (_point: object, id: string, value: ModelProvider) =>
        contributions.push({ id, plugin: plugin.id, value }),
    };
    await plugin.setup(gateway as unknown as PluginGateway); // the members that these four use
  }
  assert.ok(service && handlers && changed);
  return { service, list: handlers.list, changed };
}

describe("the four plugins together", () => {
  it("are plugins with the ids of their packages", () => {
    const ids = plugins.map((plugin) => isPlugin(plugin) && plugin.id);
    assert.deepEqual(ids, ["models", "provider-offline", "provider-openai", "provider-anthropic"]);
  });

  it("give a new gateway a model that answers", async () => {
    const { service } = await declare({});
    const model = service.resolve();
    assert.equal(model.provider, "offline");
    const request = { model, system: "", messages: [], tools: [] };
    const { value } = await service.stream(request, new AbortController().signal)[Symbol.asyncIterator]().next();
    assert.deepEqual(value, { type: "text", delta: "I " });
  });

  it("return models.list according to its contract, without keys", async () => {
    const { list } = await declare({ providers: { acme: { baseUrl, apiKey: "sk-secret", models: [{ id: "m" }] } } });
    const result = list();
    assert.ok(matches(models.list.result, result));
    assert.deepEqual(
      result.models.map(({ provider, id }) => `${provider}/${id}`),
      ["acme/m", "offline/offline"],
    );
    assert.doesNotMatch(JSON.stringify(result), /sk-secret|host\.example/u);
  });

  it("apply a changed configuration while running", async () => {
    const { list, changed } = await declare({});
    changed(withDefaults(ModelsConfig, { mode: "replace", providers: { acme: { baseUrl, models: [{ id: "m" }] } } }));
    assert.deepEqual(list(), { models: [{ id: "m", name: "m", provider: "acme", reasoning: false, input: ["text"] }] });
  });
});
