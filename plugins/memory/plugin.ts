/** Memory: what agents wrote down in their workspace, found again by words and by meaning. */
import { join } from "node:path";
import { definePlugin, live } from "@svc/sdk";
import { AgentDirectory } from "@svc/sdk/agents";
import { memory } from "@svc/sdk/memory";
import { Secrets } from "@svc/sdk/secrets";
import { Tool } from "@svc/sdk/tools";
import { createDesk } from "./desk.ts";
import { createFollowing, TICK_MS } from "./following.ts";
import { createHandlers } from "./methods.ts";
import { createStatus } from "./status.ts";
import { createThread } from "./thread.ts";
import { getTool, searchTool } from "./tools.ts";

/** Choice: milliseconds after the start at which texts are asked about that nobody has searched for yet. */
const SETTLE_MS = 1_000;

export default definePlugin({
  id: "memory",
  api: "^1.0.0",
  // Live: the thread does not have to be started anew because the agents are loaded anew.
  requires: { agents: live(AgentDirectory), secrets: live(Secrets) },
  after: ["agents", "secrets"],

  setup(gateway) {
    const { clock, log, services, signal } = gateway;
    const file = () => join(gateway.stateDir, "index.sqlite");
    const thread = createThread({ file, clock, log });
    const desk = createDesk({
      agents: () => services.agents.get(),
      secrets: () => services.secrets.get(),
      thread,
      file,
      log,
      used: (agentId) => following.used(agentId),
    });
    const following = createFollowing({ desk, clock, log, signal });

    gateway.extend(Tool, "memory_search", searchTool(desk));
    gateway.extend(Tool, "memory_get", getTool(desk));
    gateway.serve(memory, createHandlers(desk, createStatus({ desk, clock })));
    gateway.hooks.configChanged.tap("memory", ({ changed }) => {
      if (!changed.some((path) => path === "agents" || path.startsWith("agents."))) return;
      desk.agentsChanged();
      following.settle();
    });
    gateway.after(SETTLE_MS, () => following.settle());
    gateway.every(TICK_MS, () => following.tick());
    gateway.start(() => async () => {
      following.stop();
      await thread.close();
    });
  },
});
