/** Browser: controls a browser for agents and operators. */
import { nameWithin, type Place, placeOf } from "@svc/kit/files";
import { definePlugin, isGatewayError, lazy, live } from "@svc/sdk";
import { AgentDirectory } from "@svc/sdk/agents";
import { browser } from "@svc/sdk/browser";
import { GatewayInfo } from "@svc/sdk/gateway";
import { Nodes } from "@svc/sdk/nodes";
import { Retention } from "@svc/sdk/storage";
import { Tool } from "@svc/sdk/tools";
import { BrowserConfig } from "./config.ts";
import type { Control } from "./control.ts";
import type { UploadRoot } from "./files.ts";
import { createRequest } from "./request.ts";
import { createBrowserTool } from "./tool.ts";

export default definePlugin({
  id: "browser",
  api: "^1.0.0",
  config: BrowserConfig,
  requires: { host: GatewayInfo, nodes: live(Nodes), agents: live(AgentDirectory) },

  setup(gateway) {
    const { clock, config, log, services } = gateway;
    let opened: Control | undefined;
    const control = lazy(async () => {
      const { createControl } = await import("./control.ts");
      return (opened = createControl({ config, stateDir: gateway.stateDir, clock, log }));
    });
    const proxy = lazy(async () => (await import("./node-proxy.ts")).nodeCaller(gateway.stateDir, clock));
    const request = createRequest({ enabled: config.enabled, control, nodes: () => services.nodes.get(), proxy });

    /** Files of an agent's workspace that may be uploaded. */
    async function workspaceOf(agentId: string | undefined): Promise<readonly UploadRoot[]> {
      const agents = services.agents.get();
      if (!agents) return [];
      const sources = { agents, stateDir: () => services.host.stateDir };
      const place = await placeOf(agentId ?? agents.defaultId, sources, false);
      return place ? [{ root: place.root, nameOf: (path) => nameInside(path, place) }] : [];
    }

    gateway.serve(browser, {
      async request({ params, principal, connection, signal }) {
        const caller = { uploads: () => workspaceOf(undefined) };
        const { id: connectionId, device: deviceId } = connection ?? {};
        const place = { ...(connectionId ? { connectionId } : {}), ...(deviceId ? { deviceId } : {}) };
        return (await request(params, { caller, principal, signal, connection: place })).result;
      },
    });
    if (config.enabled) {
      const tool = createBrowserTool(({ sessionKey, agentId }, params, asker) =>
        request(params, { ...asker, caller: { owner: sessionKey, uploads: () => workspaceOf(agentId) } }),
      );
      gateway.extend(Tool, "browser", tool);
    }
    gateway.extend(Retention, "browser", {
      files: ["plugins/browser"],
      holds: "profiles of the browser; its downloads, pictures and traces",
      rule: "profiles: until removed or reset; files: 7 days, newest 500 MB, checked with each new file",
    });
    gateway.onStop(async () => opened?.stop());
  },
});

/** `undefined`: not below the workspace, or not for this agent. */
function nameInside(path: string, place: Place): string | undefined {
  try {
    return nameWithin(path, place);
  } catch (error) {
    if (isGatewayError(error)) return undefined;
    throw error;
  }
}
