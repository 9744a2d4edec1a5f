import { definePlugin, Strict, Type } from "@svc/sdk";
import { defineTool, Tool } from "@svc/sdk/tools";

const countWords = defineTool({
  description: "Counts the words of a text.",
  scope: "operator.read", // a run needs this scope to see the tool
  effects: ["reads"], // it changes nothing, so nobody has to approve it
  brings: "none", // its results hold no external content
  params: Strict({ text: Type.String({ maxLength: 20_000 }) }),
  run: ({ text }) => String(text.split(/\s+/).filter(Boolean).length),
});
export default definePlugin({
  id: "count-words",
  api: "^1.0.0",
  setup: (gateway) => gateway.extend(Tool, "count_words", countWords),
});
