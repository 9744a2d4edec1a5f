/** Models: the catalogue of language models, resolution of references, and requests to providers. */
import { definePlugin, HOOKS, lazy, live } from "@svc/sdk";
import { ModelAccounts, ModelFacts, ModelPolicy, ModelProvider, models, Models } from "@svc/sdk/models";
import { Secrets } from "@svc/sdk/secrets";
import { ModelQuotas } from "@svc/sdk/usage";
import { lazySetupPart, SetupPart } from "@svc/sdk/wizard";
import { unusableModels } from "./catalogue/config-warnings.ts";
import { ModelsConfig } from "./config.ts";
import { createDiscovery } from "./discovery/discovery.ts";
import { createHandlers } from "./methods.ts";
import { createModels } from "./models.ts";

/** Parts of the guided setup; their code is imported when they run. */
const setupCode = lazy(() => import("./setup-part.ts"));
const PROVIDER = { title: "Language model", order: 200 };
const MODEL = { title: "Default model", order: 300 };

export default definePlugin({
  id: "models",
  api: "^1.0.0",
  config: ModelsConfig,
  requires: { policy: live(ModelPolicy), secrets: live(Secrets) },
  provides: [Models, ModelAccounts, ModelQuotas],
  configWarnings: unusableModels,
  setup(gateway) {
    const { clock, log, services, signal } = gateway;
    const providers = gateway.own(ModelProvider);
    const desk = createModels({
      config: gateway.config,
      providers,
      facts: gateway.own(ModelFacts),
      discovery: createDiscovery({ clock, signal, env: process.env }),
      requestHook: gateway.emits(HOOKS.modelRequest),
      policy: () => services.policy.get(),
      secrets: () => services.secrets.get(),
      clock,
    });
    gateway.provide(Models, desk);
    gateway.provide(ModelAccounts, desk);
    gateway.provide(ModelQuotas, desk.quotas);
    gateway.serve(models, createHandlers({ desk, providers, clock, log, env: process.env }));
    const parts = { providers, desk, clock };
    const provider = lazySetupPart(PROVIDER, async () => (await setupCode()).createProviderPart(parts));
    const model = lazySetupPart(MODEL, async () => (await setupCode()).createModelPart(parts));
    gateway.extend(SetupPart, "model-provider", provider);
    gateway.extend(SetupPart, "model", model);
    gateway.configChanged((config) => desk.reconfigure(config));
  },
});
