/**
 * Provider for model servers with the Messages API of Anthropic. `translate.ts`, `caching.ts` and `answer.ts` are pure,
 * `api.ts` accesses the network, `failure.ts` classifies errors, and this file registers the provider.
 */
import { definePlugin } from "@svc/sdk";
import { ModelProvider } from "@svc/sdk/models";
import { createMessagesApi } from "./api.ts";
import { createProvider } from "./provider.ts";

export default definePlugin({
  id: "provider-anthropic",
  api: "^1.0.0",
  setup(gateway) {
    gateway.extend(ModelProvider, "anthropic-messages", createProvider(createMessagesApi({ clock: gateway.clock })));
  },
});
