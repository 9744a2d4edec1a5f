import { definePlugin, Strict, Type } from "@svc/sdk";

const hot = { reload: "hot" }; // without it, a change reloads the plugin
export default definePlugin({
  id: "motto",
  api: "^1.0.0",
  config: Strict({
    text: Type.String({ default: "Be brief.", description: "Sentence that ends every system prompt", ...hot }),
  }),
  setup(gateway) {
    let { text } = gateway.config;
    gateway.configChanged((config) => void ({ text } = config));
    gateway.hooks.runPrompt.tap((prompt) => ({ ...prompt, system: `${prompt.system}\n${text}` }));
  },
});
