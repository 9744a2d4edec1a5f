/** Config: the configuration file as the gateway sees it, and the schema of all of it. */
import { config, definePlugin } from "@svc/sdk";
import { ConfigStore } from "@svc/sdk/services";

export default definePlugin({
  id: "config",
  api: "^1.0.0",
  requires: { store: ConfigStore },

  setup(gateway) {
    const { store } = gateway.services;
    gateway.serve(config, {
      async get() {
        const { issues, warnings, legacyIssues, ...snapshot } = await store.snapshot();
        return { ...snapshot, issues: [...issues], warnings: [...warnings], legacyIssues: [...legacyIssues] };
      },
      schema: () => ({ ...store.schema(), generatedAt: new Date(gateway.clock.now()).toISOString() }),
    });
  },
});
