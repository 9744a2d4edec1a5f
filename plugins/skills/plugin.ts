/** Skills: folders with instructions that agents read when a task needs them. */
import { definePlugin, lazy, live } from "@svc/sdk";
import { AgentDirectory } from "@svc/sdk/agents";
import { ConfigStore } from "@svc/sdk/config";
import { FileOrigins } from "@svc/sdk/files";
import { GatewayInfo } from "@svc/sdk/gateway";
import { Secrets } from "@svc/sdk/secrets";
import { Sessions } from "@svc/sdk/sessions";
import { skills, Skills } from "@svc/sdk/skills";
import { Retention } from "@svc/sdk/storage";
import { Tool } from "@svc/sdk/tools";
import { OutboundFetch } from "@svc/sdk/web";
import { lazySetupPart, SetupPart } from "@svc/sdk/wizard";
import { SkillsConfig } from "./config.ts";
import { createSkills } from "./library/environment.ts";
import { createHandlers } from "./methods.ts";
import { promptSkills } from "./prompt.ts";
import { skillTool } from "./tool.ts";

const setupCode = lazy(() => import("./setup-part.ts"));

export default definePlugin({
  id: "skills",
  api: "^1.0.0",
  config: SkillsConfig,
  requires: {
    agents: AgentDirectory,
    host: GatewayInfo,
    store: live(ConfigStore),
    origins: live(FileOrigins),
    outbound: live(OutboundFetch),
    secrets: live(Secrets),
    sessions: live(Sessions),
  },
  setup(gateway) {
    const { clock, services, signal } = gateway;
    let { config } = gateway;
    const { env } = process;

    const library = lazy(async () => {
      const { Library } = await import("./library/library.ts");
      return new Library({
        agents: services.agents,
        config: () => config,
        stateDir: () => services.host.stateDir,
        origins: () => services.origins.get(),
        store: () => services.store.get(),
        clock,
        env,
      });
    });
    gateway.configChanged(async (changed) => {
      config = changed;
      (await library()).forget();
    });

    const ofCommands = createSkills({ library, config: () => config, secrets: () => services.secrets.get() });
    gateway.extend(Skills, "skills", ofCommands);
    gateway.extend(Tool, "skill", skillTool(library));
    gateway.serve(
      skills,
      createHandlers({
        library,
        agents: () => services.agents,
        store: () => services.store.get(),
        settings: () => config.install,
        outbound: () => services.outbound.get(),
        workDir: () => gateway.stateDir,
        env,
        signal,
      }),
    );
    gateway.hooks.runPrompt.tap(async (prompt) => {
      if (!prompt.tools.includes("skill")) return undefined; // the run could not read a skill
      const agentId = services.sessions.get()?.agentOf(prompt.sessionKey) ?? services.agents.defaultId;
      if (!services.agents.has(agentId)) return undefined; // removed since the run was accepted
      const { all } = await (await library()).of(agentId);
      const listed = promptSkills(all, config.limits);
      return listed && { ...prompt, system: `${prompt.system}\n\n${listed.prompt}`, skills: listed };
    });
    const part = lazySetupPart({ title: "Skills", order: 600 }, async () => {
      const { createSkillPart } = await setupCode();
      return createSkillPart({
        status: (principal) => gateway.call(skills.status, {}, { principal }),
        install: (name, installId, principal) => gateway.call(skills.install, { name, installId }, { principal }),
        allowSystem: () => config.install.allowSystem,
      });
    });
    gateway.extend(SetupPart, "skills", part);
    gateway.extend(Retention, "skills", {
      files: ["skills", "skill-tools", "plugins/skills"],
      holds: "installed skills and their programs",
      rule: "until `svc skills remove`",
    });
  },
});
