/**
 * Model servers that speak the chat-completions API. `translate.ts` and `answer.ts` are pure, `api.ts` is the network,
 * `failure.ts` words its errors, and this only ties them to the gateway.
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
