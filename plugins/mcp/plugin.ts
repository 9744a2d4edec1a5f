/** Offers the tools of servers that implement the Model Context Protocol (MCP) to agents. */
import { createSandbox } from "@svc/kit/exec";
import { definePlugin, live } from "@svc/sdk";
import { GatewayInfo } from "@svc/sdk/gateway";
import { Secrets } from "@svc/sdk/secrets";
import { type Tool, ToolSource } from "@svc/sdk/tools";
import { mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { McpConfig } from "./config.ts";
import { confineWith } from "./sandbox.ts";
import { type Servers, startServers } from "./servers.ts";
import { createOpenSession } from "./session.ts";

const NONE: ReadonlyMap<string, Tool> = new Map();

export default definePlugin({
  id: "mcp",
  api: "^1.0.0",
  config: McpConfig,
  requires: { host: GatewayInfo, secrets: live(Secrets) },
  after: ["secrets"],

  setup(gateway) {
    const { clock, config, log, services } = gateway;
    if (Object.keys(config.servers).length === 0) return; // idle until a server is configured
    let servers: Servers | undefined;

    gateway.extend(ToolSource, "mcp", { tools: () => servers?.tools() ?? NONE });
    gateway.start(() => {
      const open = createOpenSession({ clock });
      const secrets = () => services.secrets.get();
      const confine = confineWith({
        sandbox: createSandbox({ clock, log }),
        stateDir: () => services.host.stateDir,
        hidden: () => [services.host.configPath],
        home: homedir(),
      });
      const started = (servers = startServers(config, { clock, log, open, secrets, directory, confine }));
      return () => started.stop();
    });

    /** A private working directory, in which no other user can place files for the program to find. */
    function directory(server: string): string {
      const path = join(gateway.stateDir, server);
      mkdirSync(path, { recursive: true, mode: 0o700 });
      return path;
    }
  },
});
