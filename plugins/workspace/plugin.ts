/** Files and commands for agents, within their workspace. */
import { openExecPolicy } from "@svc/kit/exec";
import { definePlugin, live } from "@svc/sdk";
import { AgentDirectory } from "@svc/sdk/agents";
import { Approver, GatewayInfo } from "@svc/sdk/gateway";
import { Tool } from "@svc/sdk/tools";
import { ExecConfig, FsConfig } from "./config.ts";
import { privateCopies } from "./exec/copies.ts";
import { execTool } from "./exec/tool.ts";
import { editTool, writeTool } from "./files/change.ts";
import { readTool } from "./files/read.ts";
import { patchTool } from "./patch/tool.ts";
import type { PlaceSources } from "./place.ts";
import { BackgroundCommands } from "./process/background.ts";
import { Programs } from "./process/programs.ts";
import { processTool } from "./process/tool.ts";

/** Choice: milliseconds between looks for ended commands that nobody asks for any more. */
const SWEEP_EVERY_MS = 60_000;

export default definePlugin({
  id: "workspace",
  api: "^1.0.0",
  section: "tools.exec",
  config: ExecConfig,
  sections: { "tools.fs": FsConfig },
  requires: { agents: AgentDirectory, host: GatewayInfo, approver: live(Approver) },

  setup(gateway) {
    const { clock, log, services } = gateway;
    let config = gateway.config;
    gateway.configChanged((changed) => {
      config = changed;
    });

    const programs = new Programs();
    const sweep = () => background.sweep(config.cleanupMs);
    const background = new BackgroundCommands(programs, clock, () => gateway.every(SWEEP_EVERY_MS, sweep));
    const places: PlaceSources = {
      agents: { list: () => services.agents.list() },
      stateDir: () => services.host.stateDir,
    };
    gateway.extend(Tool, "read", readTool(places));
    gateway.extend(Tool, "write", writeTool(places));
    gateway.extend(Tool, "edit", editTool(places));
    gateway.extend(Tool, "apply_patch", patchTool(places, log));
    gateway.extend(
      Tool,
      "exec",
      execTool({
        ...places,
        policy: () => openExecPolicy(services.host.stateDir).policy(),
        limits: () => config,
        config: () => config,
        approver: () => services.approver.get(),
        programs,
        background,
        copies: privateCopies(places.stateDir),
        clock,
        env: process.env,
      }),
    );
    gateway.extend(Tool, "process", processTool({ background, clock }));

    gateway.onStop(() => programs.stop());
  },
});
