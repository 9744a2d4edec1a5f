/** The webhook action `agent`: a request becomes an isolated run of an agent. Spec: §4.5, http/webhooks.md §5. */
import { definePlugin, invalidRequest, live, matches } from "@svc/sdk";
import { AgentDirectory, AgentRuns } from "@svc/sdk/agents";
import { Delivery } from "@svc/sdk/channels";
import { SystemEvents } from "@svc/sdk/heartbeat";
import { ModelPolicy } from "@svc/sdk/models";
import { Sessions } from "@svc/sdk/sessions";
import { WebhookAction } from "@svc/sdk/webhooks";
import { Attempts } from "./attempts.ts";
import { AgentFields, AgentMapping, AgentParams, mergeAgent } from "./fields.ts";
import { HookRuns } from "./hook-runs.ts";
import { prepareAgent } from "./preparation.ts";
import { Report } from "./report.ts";

const ACTION = "agent";

export default definePlugin({
  id: "webhook-agent",
  api: "^1.0.0",
  requires: {
    agents: AgentDirectory,
    runs: AgentRuns,
    models: ModelPolicy,
    sessions: Sessions,
    events: SystemEvents,
    delivery: live(Delivery),
  },

  sections: { "hooks.mappings[agent]": AgentMapping },

  setup(gateway) {
    const { clock, log, services } = gateway;
    const { agents, runs, models, sessions, events } = services;
    const delivery = () => services.delivery.get();
    const attempts = new Attempts({ runs, sessions, agents, clock });
    const hookRuns = new HookRuns(attempts, new Report({ sessions, events, delivery, clock, log }));
    gateway.start(() => () => attempts.stop());

    gateway.extend(WebhookAction, ACTION, {
      summary: "Runs an agent in a separate session and reports the result to the main session",
      fields: AgentFields,
      direct: true,
      isDefault: true,
      mappingKeys: { message: "messageTemplate" },
      mappingFields: AgentMapping,
      merge: mergeAgent,
      prepare: (fields, context) =>
        prepareAgent(fields, context, { agents, sessions, delivery: delivery(), allowedModels: models.allowed() }),
      run(job, signal) {
        const { params } = job;
        if (!matches(AgentParams, params)) invalidRequest("the stored fields are not valid for the action agent");
        return hookRuns.run(job, params, signal);
      },
    });

    // Attempts that were exhausted or never started: only this hook reports them to the main session.
    gateway.hooks.webhookFinished.tap(async (run) => {
      if (run.action === ACTION && run.status === "failed") await hookRuns.failed(run);
    });
  },
});
