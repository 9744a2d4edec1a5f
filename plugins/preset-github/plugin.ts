/** The preset `github`: events of GitHub become runs of an agent. */
import { definePlugin } from "@svc/sdk";
import { WebhookPreset } from "@svc/sdk/webhooks";
import { GithubConfig } from "./config.ts";
import { githubPreset } from "./preset.ts";

export default definePlugin({
  id: "preset-github",
  api: "^1.0.0",
  section: "hooks.github",
  config: GithubConfig,
  setup: (gateway) => gateway.extend(WebhookPreset, "github", githubPreset(gateway.config)),
});
