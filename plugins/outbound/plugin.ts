/** Fetching from public addresses only, for what content from outside names. */
import { definePlugin } from "@svc/sdk";

export default definePlugin({
  id: "outbound",
  api: "^1.0.0",
  setup() {},
});
