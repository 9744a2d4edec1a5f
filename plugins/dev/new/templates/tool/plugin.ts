/** sample-name: a tool that counts the words of a text, which language models are bad at. */
import { definePlugin, Strict, Type } from "@svc/sdk";
import { defineTool, Tool } from "@svc/sdk/tools";

export default definePlugin({
  id: "sample-name",
  api: "^1.0.0",
  config: Strict({
    longest: Type.Integer({ default: 20_000, minimum: 1, description: "Characters a text may have" }),
  }),

  // Declares and opens nothing; files, sockets and timers belong into gateway.start(...).
  setup(gateway) {
    const { longest } = gateway.config;

    gateway.extend(
      Tool,
      "sample_name",
      defineTool({
        description: "Counts the words, the lines and the characters of a text. Use it whenever a length matters.",
        scope: "operator.read", // what a run must be allowed to do before this is offered to its model
        effects: ["reads"], // what it can do; left out: anything, so people are asked where strangers' words led to the call
        brings: "none", // whose words its results are
        params: Strict({ text: Type.String({ maxLength: longest, description: "the text, as it is" }) }),
        run({ text }) {
          const words = text.split(/\s+/).filter(Boolean).length;
          const lines = text === "" ? 0 : text.split("\n").length;
          return JSON.stringify({ words, lines, characters: Array.from(text).length });
        },
      }),
    );
  },
});
