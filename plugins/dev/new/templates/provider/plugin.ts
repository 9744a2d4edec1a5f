/** sample-name: model servers that speak chat completions. `answer.ts` reads what they stream; this file asks. */
import { definePlugin } from "@svc/sdk";
import { ModelProvider } from "@svc/sdk/models";
import { createProvider } from "./provider.ts";

export default definePlugin({
  id: "sample-name",
  api: "^1.0.0",
  setup(gateway) {
    // The id is what the `api` of a provider says in the configuration.
    gateway.extend(ModelProvider, "sample-name", createProvider({ now: gateway.clock.now }));
  },
});
