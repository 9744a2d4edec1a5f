/** Tools: their catalogue, the policy for their use, and their execution. */
import { definePlugin, HOOKS, live, notFound } from "@svc/sdk";
import { AgentDirectory } from "@svc/sdk/agents";
import { Approver, Credentials } from "@svc/sdk/gateway";
import { Sessions } from "@svc/sdk/sessions";
import { GroupToolPolicy, Tool, tools as contract, Tools, ToolSource } from "@svc/sdk/tools";
import { catalogOf, withVerdicts } from "./catalog.ts";
import { rulesOf, SECTIONS, SubagentRules } from "./config.ts";
import { OutsideGate } from "./outside-gate.ts";
import { Policies } from "./policies.ts";
import { ToolShelf } from "./shelf.ts";
import { ToolBox } from "./tool-box.ts";

/** Default agent while no plugin provides an agent directory. Spec: http/sessions-routing.md §1. */
const FALLBACK_AGENT_ID = "main";

export default definePlugin({
  id: "tools",
  api: "^1.0.0",
  section: "tools.subagents",
  config: SubagentRules,
  sections: SECTIONS,
  requires: {
    credentials: Credentials,
    agents: live(AgentDirectory),
    groups: live(GroupToolPolicy),
    approver: live(Approver),
    sessions: live(Sessions),
  },
  provides: [Tools],

  setup(gateway) {
    const { log, services } = gateway;
    let rules = rulesOf(gateway.config, gateway.sections);
    gateway.configChanged((subagents, sections) => {
      rules = rulesOf(subagents, sections);
    });

    const tools = gateway.own(Tool);
    const policies = new Policies({
      rules: () => rules,
      agents: () => services.agents.get(),
      groups: () => services.groups.get(),
      log,
    });
    const shelf = new ToolShelf({
      tools,
      sources: gateway.own(ToolSource),
      judge: (known, scene) => policies.judge(known, scene),
      log,
    });
    const hooks = {
      params: gateway.emits(HOOKS.toolParams),
      before: gateway.emits(HOOKS.toolBefore),
      result: gateway.emits(HOOKS.toolResult),
    };
    const gate = new OutsideGate({
      mode: () => rules.fromOutside,
      approver: () => services.approver.get(),
      sessions: () => services.sessions.get(),
    });
    gateway.provide(Tools, new ToolBox({ shelf, tools, hooks, gate, credentials: services.credentials, log }));

    gateway.serve(contract, {
      catalog({ params: { agentId: asked, includePlugins = true, verdicts = false, model }, principal }) {
        const agents = services.agents.get();
        const defaultId = agents?.defaultId ?? FALLBACK_AGENT_ID;
        const agentId = asked?.trim().toLowerCase() ?? defaultId;
        if (agentId !== defaultId && !agents?.has(agentId))
          notFound(`no agent "${asked}"; agents.list shows the configured ones`);
        const known = shelf.all();
        const catalog = catalogOf(known, agentId, includePlugins);
        if (!verdicts) return catalog;
        const [provider = "", ...id] = model?.split("/") ?? [];
        const scene = { surface: "run", agentId, sessionKey: `agent:${agentId}:main`, principal } as const;
        const policy = policies.of({ ...scene, ...(model && { model: { provider, id: id.join("/") } }) });
        return withVerdicts(catalog, known, policy);
      },
    });
  },
});
