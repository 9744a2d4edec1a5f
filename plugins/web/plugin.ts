/** Agents of the svc gateway read web pages and search the web. */
import { definePlugin } from "@svc/sdk";

export default definePlugin({
  id: "web",
  api: "^1.0.0",
  setup() {},
});
