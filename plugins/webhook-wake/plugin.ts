/** The webhook action `wake`: a request becomes a system event of the main session. Spec: §4.5, http/webhooks.md §4. */
import { definePlugin, invalidRequest, matches, outsideOrigin } from "@svc/sdk";
import { SystemEvents } from "@svc/sdk/heartbeat";
import { Sessions } from "@svc/sdk/sessions";
import { WebhookAction, type WebhookJob } from "@svc/sdk/webhooks";
import { mergeWake, WakeFields, WakeMapping } from "./fields.ts";
import { readWake, WakeParams } from "./preparation.ts";

/** Spec: http/webhooks.md §4. */
const REASON = "hook:wake";

export default definePlugin({
  id: "webhook-wake",
  api: "^1.0.0",
  requires: { sessions: Sessions, events: SystemEvents },

  sections: { "hooks.mappings[wake]": WakeMapping },

  setup(gateway) {
    const { sessions, events } = gateway.services;

    gateway.extend(WebhookAction, "wake", {
      summary: "Adds a system event to the main session, and wakes the session",
      fields: WakeFields,
      direct: true,
      mappingKeys: { text: "textTemplate", mode: "wakeMode" },
      mappingFields: WakeMapping,
      merge: mergeWake,

      prepare(fields, { source }) {
        const { mainSessionKey: sessionKey } = sessions.defaults();
        const params = readWake(fields, source, sessionKey);
        return { params, reply: { mode: params.mode }, sessionKey };
      },

      commit(job) {
        const { text, name, mode, sessionKey } = paramsOf(job);
        const words = name === undefined ? text : `${name}: ${text}`;
        const event = { id: job.runId, sessionKey, text: words, wake: mode, reason: REASON, at: job.acceptedAt };
        // The text is already wrapped, unless the mapping forbids it.
        return events.statements({ ...event, origin: outsideOrigin("webhook", name), isMarked: true });
      },

      committed(job) {
        const { sessionKey, mode } = paramsOf(job);
        events.stored({ sessionKey, wake: mode, reason: REASON });
      },
    });
  },
});

function paramsOf({ params }: WebhookJob): WakeParams {
  return matches(WakeParams, params) ? params : invalidRequest("the stored fields are not valid for the action wake");
}
