/**
 * Providers for model servers with the chat-completions API and with the responses API. `translate.ts` and `answer.ts` of
 * each API are pure, `clients.ts` accesses the network, `failure.ts` classifies errors, and this file registers the
 * providers.
 */
import { definePlugin } from "@svc/sdk";
import { ModelProvider } from "@svc/sdk/models";
import { createClients } from "./clients.ts";
import { RESPONSES, unusableServers } from "./config-warnings.ts";
import { createProvider } from "./provider.ts";
import { createResponsesProvider } from "./responses/provider.ts";

export default definePlugin({
  id: "provider-openai",
  api: "^1.0.0",
  configWarnings: unusableServers,
  setup(gateway) {
    const clients = createClients({ clock: gateway.clock });
    gateway.extend(ModelProvider, "openai-completions", createProvider(clients));
    gateway.extend(ModelProvider, RESPONSES, createResponsesProvider(clients));
  },
});
