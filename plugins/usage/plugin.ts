/** Usage: quotas of model providers, what the default agent has cost, and `svc usage`. */
import { definePlugin, live, unavailable } from "@svc/sdk";
import { AgentDirectory } from "@svc/sdk/agents";
import { Sessions } from "@svc/sdk/sessions";
import { ModelQuotas, usage, UsageRecords } from "@svc/sdk/usage";
import { costRange } from "./cost-range.ts";
import { Costs } from "./cost.ts";
import { quotaStatus } from "./status.ts";

/** Agent of a gateway whose plugins do not say which one is the default. */
const FALLBACK_AGENT_ID = "main";

export default definePlugin({
  id: "usage",
  api: "^1.0.0",
  requires: {
    records: live(UsageRecords),
    quotas: live(ModelQuotas),
    agents: live(AgentDirectory),
    sessions: live(Sessions),
  },

  setup(gateway) {
    const { clock, log, services } = gateway;
    const costs = new Costs(clock);
    const defaultAgent = () =>
      services.agents.get()?.defaultId ?? services.sessions.get()?.defaults().defaultAgentId ?? FALLBACK_AGENT_ID;

    gateway.serve(usage, {
      status: ({ signal }) => quotaStatus(services.quotas.get(), { clock, log }, signal),
      cost({ params }) {
        const records = services.records.get();
        if (!records) return unavailable("no running plugin keeps what was used: enable the plugin sessions");
        return costs.of(records, defaultAgent(), costRange(params, clock.now()));
      },
    });
  },
});
