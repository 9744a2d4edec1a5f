/** What agents of the svc gateway wrote down, found again by words. */
import { definePlugin } from "@svc/sdk";

export default definePlugin({
  id: "memory",
  api: "^1.0.0",
  setup() {},
});
