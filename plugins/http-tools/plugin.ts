/** POST /tools/invoke: scripts call one tool of the svc gateway. Spec: http/tools-invoke.md. */
import { definePlugin, live } from "@svc/sdk";
import { AgentDirectory } from "@svc/sdk/agents";
import { Delivery } from "@svc/sdk/channels";
import { Sessions } from "@svc/sdk/sessions";
import { Tools } from "@svc/sdk/tools";
import { createInvoke } from "./invoke.ts";

/** Spec: §1. */
const MAX_BODY_BYTES = 2_097_152;

export default definePlugin({
  id: "http-tools",
  api: "^1.0.0",
  requires: { tools: Tools, sessions: Sessions, agents: live(AgentDirectory), delivery: live(Delivery) },

  setup(gateway) {
    const { clock, log, services } = gateway;
    gateway.route({
      method: "POST",
      path: "/tools/invoke",
      auth: "gateway",
      scope: "operator.write",
      summary: "Calls one tool and returns its result",
      maxBodyBytes: MAX_BODY_BYTES,
      handler: createInvoke({ services, clock, log }),
    });
  },
});
