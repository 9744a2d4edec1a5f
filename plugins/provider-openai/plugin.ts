/**
 * Providers for model servers with the chat-completions API and with the responses API. `translate.ts` and `answer.ts` of
 * each API are pure, `clients.ts` accesses the network, `failure.ts` builds error messages, and this file registers the
 * providers.
 */
import { definePlugin } from "@svc/sdk";
import { ModelProvider } from "@svc/sdk/models";
import { createChatApi } from "./api.ts";
import { createClients } from "./clients.ts";
import { RESPONSES, unusableServers } from "./config-warnings.ts";
import { createProvider } from "./provider.ts";
import { createResponsesProvider, DEFAULT_BASE_URL } from "./responses/provider.ts";

export default definePlugin({
  id: "provider-openai",
  api: "^1.0.0",
  configWarnings: unusableServers,
  setup(gateway) {
    const { clock } = gateway;
    gateway.extend(ModelProvider, "openai-completions", createProvider(createChatApi({ clock })));
    const clients = createClients({ clock, defaultBaseUrl: DEFAULT_BASE_URL });
    gateway.extend(ModelProvider, RESPONSES, createResponsesProvider(clients));
  },
});
