/**
 * Provider for model servers with the chat-completions API. `translate.ts` and `answer.ts` are pure, `api.ts` accesses the
 * network, `failure.ts` builds error messages, and this file registers the provider.
 */
import { definePlugin } from "@svc/sdk";
import { ModelProvider } from "@svc/sdk/models";
import { createChatApi } from "./api.ts";
import { createProvider } from "./provider.ts";

export default definePlugin({
  id: "provider-openai",
  api: "^1.0.0",
  setup(gateway) {
    gateway.extend(ModelProvider, "openai-completions", createProvider(createChatApi({ clock: gateway.clock })));
  },
});
