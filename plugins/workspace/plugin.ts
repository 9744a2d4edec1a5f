/** Files and commands for agents, within their workspace. */
import { openExecPolicy } from "@svc/kit/exec";
import { definePlugin, live } from "@svc/sdk";
import { AgentDirectory, IdentityFiles } from "@svc/sdk/agents";
import { FileOrigins } from "@svc/sdk/files";
import { Approver, GatewayInfo } from "@svc/sdk/gateway";
import { Sessions } from "@svc/sdk/sessions";
import { Retention, Storage } from "@svc/sdk/storage";
import { Tool } from "@svc/sdk/tools";
import { ExecConfig, FsConfig } from "./config.ts";
import { execTool } from "./exec/tool.ts";
import { editTool, writeTool } from "./files/change.ts";
import { readTool } from "./files/read.ts";
import { ORIGIN_RETENTION, OriginRecord } from "./origins/record.ts";
import { createVersionKeeper } from "./files/versions.ts";
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
  requires: {
    agents: AgentDirectory,
    host: GatewayInfo,
    storage: Storage,
    approver: live(Approver),
    sessions: live(Sessions),
    identityFiles: live(IdentityFiles),
  },
  provides: [FileOrigins],

  setup(gateway) {
    const { clock, log, services } = gateway;
    let config = gateway.config;
    gateway.configChanged((changed) => {
      config = changed;
    });

    const programs = new Programs();
    const sweep = () => background.sweep(config.cleanupMs);
    const background = new BackgroundCommands(programs, clock, () => gateway.every(SWEEP_EVERY_MS, sweep));
    const where: PlaceSources = {
      agents: { list: () => services.agents.list() },
      stateDir: () => services.host.stateDir,
    };
    const record = new OriginRecord({ ...where, storage: services.storage, clock });
    const places = { ...where, record };
    gateway.extend(Tool, "read", readTool(places));
    const keepVersions = createVersionKeeper(() => services.identityFiles.get());
    gateway.extend(Tool, "write", writeTool(places, keepVersions));
    gateway.extend(Tool, "edit", editTool(places, keepVersions));
    gateway.extend(Tool, "apply_patch", patchTool(places, log, keepVersions));
    gateway.extend(
      Tool,
      "exec",
      execTool({
        ...places,
        policy: () => openExecPolicy(services.host.stateDir).policy(),
        limits: () => config,
        config: () => config,
        approver: () => services.approver.get(),
        sessions: () => services.sessions.get(),
        programs,
        background,
        clock,
        env: process.env,
      }),
    );
    gateway.extend(Retention, "workspace", ORIGIN_RETENTION);
    gateway.provide(FileOrigins, record);
    gateway.start(() => record.open());
    gateway.extend(Tool, "process", processTool({ background, clock }));

    gateway.onStop(() => programs.stop());
  },
});
