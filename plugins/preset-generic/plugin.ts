/** The preset `generic`: whatever is posted becomes a run of an agent, made readable. */
import { definePlugin } from "@svc/sdk";
import { WebhookPreset } from "@svc/sdk/webhooks";
import { describe } from "./describe.ts";

export default definePlugin({
  id: "preset-generic",
  api: "^1.0.0",
  setup: (gateway) =>
    gateway.extend(WebhookPreset, "generic", {
      summary: "Anything: an agent looks at it",
      mappings: [{ id: "generic", match: { path: "generic" }, action: "agent", name: "Webhook", transform: describe }],
    }),
});
