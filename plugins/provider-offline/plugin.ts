/** The offline responder, which answers when no model is configured. It is not a language model, and says so. */
import { definePlugin, Strict, Type } from "@svc/sdk";
import { ModelProvider } from "@svc/sdk/models";
import { createOfflineProvider } from "./provider.ts";

export default definePlugin({
  id: "provider-offline",
  api: "^1.0.0",
  config: Strict({
    wordDelayMs: Type.Integer({
      default: 8,
      minimum: 0,
      description: "Delay between two words in milliseconds; 0 means none",
    }),
  }),
  setup(gateway) {
    const { wordDelayMs } = gateway.config;
    gateway.extend(ModelProvider, "offline", createOfflineProvider({ wordDelayMs, clock: gateway.clock }));
  },
});
