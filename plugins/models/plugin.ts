/** Models: the catalogue of language models, the reference of each, and the way to the provider that serves it. */
import { definePlugin, HOOKS, misconfigured, models } from "@svc/sdk";
import { ModelProvider, Models } from "@svc/sdk/services";
import { duplicateModel } from "./catalogue.ts";
import { ModelsConfig } from "./config.ts";
import { createModels } from "./models.ts";

export default definePlugin({
  id: "models",
  api: "^1.0.0",
  config: ModelsConfig,
  provides: [Models],
  setup(gateway) {
    const twice = duplicateModel(gateway.config);
    if (twice) misconfigured(twice.path, `"${twice.id}" is listed already; remove one of the two`);

    const service = createModels({
      config: gateway.config,
      providers: gateway.own(ModelProvider),
      requestHook: gateway.emits(HOOKS.modelRequest),
    });
    gateway.provide(Models, service);
    gateway.serve(models, { list: () => ({ models: [...service.list()] }) });
  },
});
