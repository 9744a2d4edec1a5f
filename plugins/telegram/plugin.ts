/** Telegram: talk to agents in direct messages and groups. */
import { channelConfig } from "@svc/kit/channels";
import { definePlugin } from "@svc/sdk";

export default definePlugin({
  id: "telegram",
  api: "^1.0.0",
  section: "channels.telegram",
  config: channelConfig({}),
  setup() {},
});
