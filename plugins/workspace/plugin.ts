/** Files and commands for agents, within their workspace. */
import { homedir } from "node:os";
import { createSandbox, openExecPolicy } from "@svc/kit/exec";
import { definePlugin, type ExtensionView, live } from "@svc/sdk";
import { AgentDirectory, IdentityFiles } from "@svc/sdk/agents";
import { FileOrigins } from "@svc/sdk/files";
import { Approver, GatewayInfo } from "@svc/sdk/gateway";
import { Sessions } from "@svc/sdk/sessions";
import { Skills } from "@svc/sdk/skills";
import { Retention, Storage } from "@svc/sdk/storage";
import { CommandSandbox, Tool } from "@svc/sdk/tools";
import { ExecConfig, FsConfig } from "./config.ts";
import { privateCopies } from "./exec/copies.ts";
import { FileHolds } from "./files/file-holds.ts";
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
import { agentSandbox } from "./sandbox/agent-sandbox.ts";

/** Choice: milliseconds between sweeps that drop the output of ended background commands. */
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
  provides: [FileOrigins, CommandSandbox],

  setup(gateway) {
    const { clock, log, services } = gateway;
    let config = gateway.config;
    gateway.configChanged((changed) => {
      config = changed;
    });

    const skills = gateway.own(Skills);
    const programs = new Programs();
    const sweep = () => background.sweep(config.cleanupMs);
    const background = new BackgroundCommands(programs, clock, () => gateway.every(SWEEP_EVERY_MS, sweep));
    const where: PlaceSources = {
      agents: { list: () => services.agents.list() },
      stateDir: () => services.host.stateDir,
    };
    const record = new OriginRecord({ ...where, storage: services.storage, clock });
    const places = { ...where, record };
    const sandbox = agentSandbox({
      agents: { list: () => services.agents.list(), toolPolicy: (id) => services.agents.toolPolicy(id) },
      stateDir: () => services.host.stateDir,
      sandbox: createSandbox({ clock, log }),
      config: () => config,
      hidden: () => [services.host.configPath],
      home: homedir(),
      log,
    });
    const keepVersions = createVersionKeeper(() => services.identityFiles.get());
    const holds = new FileHolds(clock);
    const writing = { ...places, beforeWrite: sandbox.endCommands, keepVersions, holds };
    gateway.provide(CommandSandbox, sandbox);
    gateway.extend(Tool, "read", readTool(places));
    gateway.extend(Tool, "write", writeTool(writing));
    gateway.extend(Tool, "edit", editTool(writing));
    gateway.extend(Tool, "apply_patch", patchTool(writing, log));
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
        skills: () => skillsOf(skills),
        programs,
        background,
        copies: privateCopies(places.stateDir),
        holds,
        sandbox,
        sandboxed: (agentId) => sandbox.inForce(agentId),
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

/** The one plugin that contributes skills, if there is one. */
function skillsOf(view: ExtensionView<Skills>): Skills | undefined {
  const [first] = view.list();
  return (
    first && {
      directories: (agentId) => view.call(first, (value) => value.directories(agentId)),
      environment: (agentId, name) => view.call(first, (value) => value.environment(agentId, name)),
      programs: (agentId) => view.call(first, (value) => value.programs(agentId)),
    }
  );
}
