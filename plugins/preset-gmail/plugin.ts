/** The preset `gmail`: the payload of a mail watcher becomes a run of an agent. */
import { definePlugin } from "@svc/sdk";
import { WebhookPreset } from "@svc/sdk/webhooks";
import { GmailConfig } from "./config.ts";
import { gmailPreset } from "./preset.ts";

export default definePlugin({
  id: "preset-gmail",
  api: "^1.0.0",
  section: "hooks.gmail",
  config: GmailConfig,
  setup: (gateway) => gateway.extend(WebhookPreset, "gmail", gmailPreset(gateway.config)),
});
