/** POST /tools/invoke: scripts call one tool of the svc gateway. */
import { definePlugin } from "@svc/sdk";

export default definePlugin({
  id: "http-tools",
  api: "^1.0.0",
  setup() {},
});
