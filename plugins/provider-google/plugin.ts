/**
 * Provider for Gemini models with Google's own API. `translate.ts`, `schema.ts`, `thinking.ts` and `answer.ts` are pure,
 * `api.ts` accesses the network, `failure.ts` classifies errors, and this file registers the provider.
 */
import { definePlugin } from "@svc/sdk";
import { ModelProvider } from "@svc/sdk/models";
import { createGeminiApi } from "./api.ts";
import { GOOGLE, unusableServers } from "./config-warnings.ts";
import { createProvider } from "./provider.ts";

export default definePlugin({
  id: "provider-google",
  api: "^1.0.0",
  configWarnings: unusableServers,
  setup(gateway) {
    gateway.extend(ModelProvider, GOOGLE, createProvider(createGeminiApi({ clock: gateway.clock })));
  },
});
