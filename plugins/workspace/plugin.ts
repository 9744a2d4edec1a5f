/** Files and commands for the svc gateway's agents, within their workspace. */
import { definePlugin } from "@svc/sdk";

export default definePlugin({
  id: "workspace",
  api: "^1.0.0",
  setup() {},
});
