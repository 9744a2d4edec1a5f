/** Mattermost: talk to agents in direct messages and groups. */
import { channelConfig } from "@svc/kit/channels";
import { definePlugin } from "@svc/sdk";

export default definePlugin({
  id: "mattermost",
  api: "^1.0.0",
  section: "channels.mattermost",
  config: channelConfig({}),
  setup() {},
});
