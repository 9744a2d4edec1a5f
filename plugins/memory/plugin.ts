/** Memory: keyword and semantic search over the notes in agents' workspaces. */
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { definePlugin, live } from "@svc/sdk";
import { AgentDirectory, IdentityFiles } from "@svc/sdk/agents";
import { FileOrigins } from "@svc/sdk/files";
import { memory } from "@svc/sdk/memory";
import { Secrets } from "@svc/sdk/secrets";
import { Retention } from "@svc/sdk/storage";
import { Tool } from "@svc/sdk/tools";
import { createAgentIndexes } from "./agent-indexes.ts";
import { createBackgroundSync, TICK_MS } from "./background-sync.ts";
import type { ThreadData } from "./engine/protocol.ts";
import { createThread } from "./engine/thread.ts";
import { createHandlers } from "./methods.ts";
import { createStatus } from "./status.ts";
import { getTool, type OriginOf, searchTool } from "./tools.ts";

/** Choice: milliseconds between the start and the first background sync. */
const SETTLE_MS = 1_000;

export default definePlugin({
  id: "memory",
  api: "^1.0.0",
  // Live: a reload of agents does not restart the index thread.
  requires: {
    agents: live(AgentDirectory),
    identityFiles: live(IdentityFiles),
    secrets: live(Secrets),
    origins: live(FileOrigins),
  },
  after: ["agents", "secrets"],

  setup(gateway) {
    const { clock, log, services, signal } = gateway;
    const file = () => join(gateway.stateDir, "index.sqlite");
    const thread = createThread({ file, clock, log, startThread });
    const indexes = createAgentIndexes({
      agents: () => services.agents.get(),
      secrets: () => services.secrets.get(),
      thread,
      file,
      log,
      used: (agentId) => backgroundSync.used(agentId),
    });
    const backgroundSync = createBackgroundSync({ indexes, clock, log, signal });

    const originOf: OriginOf = async (agentId, names) => services.origins.get()?.of(agentId, names);
    gateway.extend(Tool, "memory_search", searchTool(indexes, originOf));
    gateway.extend(Tool, "memory_get", getTool(indexes, originOf));
    gateway.extend(Retention, "memory", {
      files: ["plugins/memory"],
      holds: "the search index of notes",
      rule: "as long as the notes; it can be rebuilt",
    });
    const notes = { agents: () => services.agents.get(), identityFiles: () => services.identityFiles.get(), originOf };
    gateway.serve(memory, createHandlers(indexes, createStatus({ indexes, clock }), notes));
    gateway.hooks.configChanged.tap(({ changed }) => {
      if (!changed.some((path) => path === "agents" || path.startsWith("agents."))) return;
      indexes.agentsChanged();
      backgroundSync.applySettings();
    });
    gateway.after(SETTLE_MS, () => backgroundSync.applySettings());
    gateway.every(TICK_MS, () => backgroundSync.tick());
    gateway.start(() => async () => {
      backgroundSync.stop();
      await thread.close();
    });
  },
});

function startThread(data: ThreadData): Worker {
  const url = new URL("./worker.js", import.meta.url); // next to this file, both compiled and bundled
  return new Worker(url, { name: "memory-index", workerData: data, execArgv: [], env: {} });
}
