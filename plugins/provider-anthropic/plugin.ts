/**
 * Model servers that speak the Messages API of Anthropic. `translate.ts`, `thinking.ts`, `caching.ts` and `answer.ts`
 * are pure, `api.ts` is the network, `failure.ts` words its errors, and this only ties them to the gateway.
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
