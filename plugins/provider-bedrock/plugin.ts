/**
 * Provider for models at Amazon Bedrock with the Converse API. `translate.ts` and `answer.ts` are pure, `api.ts` accesses the
 * network, `credentials.ts` finds and applies credentials, `event-frames.ts` reads the stream, `failure.ts` classifies
 * errors, and this file registers the provider.
 */
import { definePlugin } from "@svc/sdk";
import { ModelProvider } from "@svc/sdk/models";
import { createConverseApi } from "./api.ts";
import { BEDROCK, unusableServers } from "./config-warnings.ts";
import { createProvider } from "./provider.ts";

export default definePlugin({
  id: "provider-bedrock",
  api: "^1.0.0",
  configWarnings: unusableServers,
  setup(gateway) {
    gateway.extend(ModelProvider, BEDROCK, createProvider(createConverseApi({ clock: gateway.clock })));
  },
});
