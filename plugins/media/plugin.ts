/** Documents and pictures for the svc gateway's agents: PDF text and pages, and looking at images. */
import { definePlugin } from "@svc/sdk";

export default definePlugin({
  id: "media",
  api: "^1.0.0",
  setup() {},
});
