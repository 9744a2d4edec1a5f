import { definePlugin } from "@svc/sdk";
import { ModelProvider } from "@svc/sdk/models";

/** Used by models whose provider has `api: "parrot"` in the configuration, and by the built-in model `parrot/polly`. */
const parrot: ModelProvider = {
  builtin: [{ id: "polly", name: "Polly", provider: "parrot" }],
  async *stream({ messages }) {
    const last = messages.findLast(({ role }) => role === "user");
    yield { type: "text", delta: `You said: ${JSON.stringify(last?.content)}` };
    yield { type: "finish", reason: "stop" };
  },
};
export default definePlugin({
  id: "parrot",
  api: "^1.0.0",
  setup: (gateway) => gateway.extend(ModelProvider, "parrot", parrot),
});
