/** Tools of MCP servers for the svc gateway's agents. */
import { definePlugin } from "@svc/sdk";

export default definePlugin({
  id: "mcp",
  api: "^1.0.0",
  setup() {},
});
