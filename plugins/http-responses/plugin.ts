/** The responses API in front of the svc gateway's agents. */
import { definePlugin } from "@svc/sdk";

export default definePlugin({
  id: "http-responses",
  api: "^1.0.0",
  setup() {},
});
