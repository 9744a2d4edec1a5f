/** Models: the catalogue of language models, resolution of references, and requests to providers. */
import { definePlugin, HOOKS, live } from "@svc/sdk";
import { ModelAccounts, ModelPolicy, ModelProvider, models, Models } from "@svc/sdk/models";
import { Secrets } from "@svc/sdk/secrets";
import { ModelQuotas } from "@svc/sdk/usage";
import { unusableModels } from "./config-warnings.ts";
import { ModelsConfig } from "./config.ts";
import { createHandlers } from "./methods.ts";
import { createModels } from "./models.ts";

export default definePlugin({
  id: "models",
  api: "^1.0.0",
  config: ModelsConfig,
  requires: { policy: live(ModelPolicy), secrets: live(Secrets) },
  provides: [Models, ModelAccounts, ModelQuotas],
  configWarnings: unusableModels,
  setup(gateway) {
    const { clock, log, services } = gateway;
    const desk = createModels({
      config: gateway.config,
      providers: gateway.own(ModelProvider),
      requestHook: gateway.emits(HOOKS.modelRequest),
      policy: () => services.policy.get(),
      secrets: () => services.secrets.get(),
      clock,
    });
    gateway.provide(Models, desk);
    gateway.provide(ModelAccounts, desk);
    gateway.provide(ModelQuotas, desk.quotas);
    gateway.serve(models, createHandlers({ desk, clock, log }));
    gateway.configChanged((config) => desk.reconfigure(config));
  },
});
