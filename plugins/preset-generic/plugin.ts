/** The preset `generic`: any payload becomes readable text for a run of an agent. */
import { definePlugin } from "@svc/sdk";
import { WebhookPreset } from "@svc/sdk/webhooks";
import { describe } from "./describe.ts";

export default definePlugin({
  id: "preset-generic",
  api: "^1.0.0",
  setup: (gateway) =>
    gateway.extend(WebhookPreset, "generic", {
      summary: "Any payload: an agent handles it",
      mappings: [{ id: "generic", match: { path: "generic" }, action: "agent", name: "Webhook", transform: describe }],
    }),
});
