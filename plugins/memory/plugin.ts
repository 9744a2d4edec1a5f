/** Memory: what agents wrote down in their workspace, found again by words. */
import { definePlugin, live, notFound, unavailable } from "@svc/sdk";
import { AgentDirectory, Tool } from "@svc/sdk/services";
import { createIndexes } from "./indexes.ts";
import { getTool, searchTool } from "./tools.ts";

export default definePlugin({
  id: "memory",
  api: "^1.0.0",
  // Live: an index does not have to be built anew because the agents are loaded anew.
  requires: { agents: live(AgentDirectory) },
  after: ["agents"],

  setup(gateway) {
    const { agents } = gateway.services;
    const indexes = createIndexes();

    function workspace(agentId: string): string {
      const directory = agents.get();
      if (!directory) return unavailable("the plugin agents is away; see `svc plugins why agents`");
      const agent = directory.list().find(({ id }) => id === agentId);
      return agent?.workspace ?? notFound(`there is no agent "${agentId}" any more`);
    }
    const memory = { workspace, index: (agentId: string) => indexes.of(agentId, workspace(agentId)) };

    gateway.extend(Tool, "memory_search", searchTool(memory));
    gateway.extend(Tool, "memory_get", getTool(memory));
  },
});
