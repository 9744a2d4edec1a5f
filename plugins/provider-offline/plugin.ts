/** The offline responder: what a gateway without any model answers with. It is no language model, and says so. */
import { definePlugin, Strict, Type } from "@svc/sdk";
import { ModelProvider } from "@svc/sdk/models";
import { createOfflineProvider } from "./provider.ts";

export default definePlugin({
  id: "provider-offline",
  api: "^1.0.0",
  config: Strict({
    wordDelayMs: Type.Integer({ default: 8, minimum: 0, description: "Milliseconds between two words; 0 means none" }),
  }),
  setup(gateway) {
    const { wordDelayMs } = gateway.config;
    gateway.extend(ModelProvider, "offline", createOfflineProvider({ wordDelayMs, clock: gateway.clock }));
  },
});
