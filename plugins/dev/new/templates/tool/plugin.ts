/** sample-name: a tool that counts the words of a text, a task language models are bad at. */
import { definePlugin, Strict, Type } from "@svc/sdk";
import { defineTool, Tool } from "@svc/sdk/tools";

export default definePlugin({
  id: "sample-name",
  api: "^1.0.0",
  config: Strict({
    longest: Type.Integer({ default: 20_000, minimum: 1, description: "Maximum characters of a text" }),
  }),

  // `setup` only declares. Open files, sockets and timers in gateway.start(...).
  setup(gateway) {
    const { longest } = gateway.config;

    gateway.extend(
      Tool,
      "sample_name",
      defineTool({
        description: "Counts the words, lines and characters of a text. Use it whenever a length matters.",
        scope: "operator.read", // a run offers the tool to its model only if the run has this scope
        // what the tool can do; if omitted: anything, so calls caused by external content need approval
        effects: ["reads"],
        brings: "none", // origin of its results: the gateway and the owner
        params: Strict({ text: Type.String({ maxLength: longest, description: "the unchanged text" }) }),
        run({ text }) {
          const words = text.split(/\s+/).filter(Boolean).length;
          const lines = text === "" ? 0 : text.split("\n").length;
          return JSON.stringify({ words, lines, characters: Array.from(text).length });
        },
      }),
    );
  },
});
