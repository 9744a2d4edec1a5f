/**
 * sample-name: model servers with a chat-completions API. `provider.ts` sends requests, `answer.ts` parses the streamed
 * response.
 */
import { definePlugin } from "@svc/sdk";
import { ModelProvider } from "@svc/sdk/models";
import { createProvider } from "./provider.ts";

export default definePlugin({
  id: "sample-name",
  api: "^1.0.0",
  setup(gateway) {
    // The id is the value of `api` in the configuration of a provider.
    gateway.extend(ModelProvider, "sample-name", createProvider({ clock: gateway.clock }));
  },
});
