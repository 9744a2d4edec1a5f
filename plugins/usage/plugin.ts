/** Usage: reports on conversations, cost of the default agent, quotas of model providers, and `svc usage`. */
import { machineZone } from "@svc/kit/time";
import { definePlugin, live, unavailable } from "@svc/sdk";
import { AgentDirectory } from "@svc/sdk/agents";
import { Sessions } from "@svc/sdk/sessions";
import { ModelQuotas, sessionsUsage, usage, UsageRecords } from "@svc/sdk/usage";
import { costRange } from "./cost-range.ts";
import { Costs } from "./cost.ts";
import { reportUsage, usageLogs, usageTimeseries } from "./session-reports.ts";
import { quotaStatus } from "./status.ts";

/** Default agent when no plugin provides agents or sessions. */
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
    const timeZone = () => services.agents.get()?.timeZone ?? machineZone();
    const records = () =>
      services.records.get() ?? unavailable("no running plugin records usage: enable the plugin sessions");

    gateway.serve(sessionsUsage, {
      report: ({ params }) => reportUsage(records(), params, { now: clock.now(), timeZone: timeZone() }),
      timeseries: ({ params }) => usageTimeseries(records(), params),
      logs: ({ params }) => usageLogs(records(), params),
    });
    gateway.serve(usage, {
      status: ({ signal }) => quotaStatus(services.quotas.get(), { clock, log }, signal),
      cost({ params }) {
        const zone = timeZone();
        return costs.of(records(), defaultAgent(), { ...costRange(params, clock.now(), zone), zone });
      },
    });
  },
});
