/** Slack: talk to agents in direct messages and groups. */
import { channelConfig } from "@svc/kit/channels";
import { definePlugin } from "@svc/sdk";

export default definePlugin({
  id: "slack",
  api: "^1.0.0",
  section: "channels.slack",
  config: channelConfig({}),
  setup() {},
});
