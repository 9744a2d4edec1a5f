/** The job that an action receives for an accepted webhook. */
import { GatewayError, isGatewayError, type Principal } from "@svc/sdk";
import { suspiciousPatterns, wrapExternalContent } from "@svc/sdk/external-content";
import type {
  ServedWebhookAction,
  WebhookAction,
  WebhookFields,
  WebhookJob,
  WebhookResult,
  WebhookWork,
} from "@svc/sdk/webhooks";
import type { LiveContribution } from "../kernel/kinds/contributions.ts";
import { isExternal } from "./mapping.ts";

/** The job for an action, with external texts marked. Pure except for the random ids of the markers. */
export function toJob(work: WebhookWork, action: WebhookAction, principal: Principal): WebhookJob {
  const { runId, attempt, mapping, wrapped, acceptedAt } = work;
  const params = wrapped ? wrapTexts(work, action) : work.params;
  return { runId, attempt, mapping, params, wrapped, acceptedAt, principal };
}

/** Names of the suspicious patterns in the texts of a job: text that looks like instructions for its reader. For the log. */
export function suspicionsOf(
  { params, wrapped }: Pick<WebhookWork, "params" | "wrapped">,
  action: WebhookAction,
): readonly string[] {
  if (!wrapped) return []; // the operator trusts this sender
  const texts = Object.entries(params).flatMap(([key, value]) =>
    typeof value === "string" && isExternal(action, key) ? [value] : [],
  );
  return [...new Set(texts.flatMap(suspiciousPatterns))];
}

function wrapTexts({ params, contentSource }: WebhookWork, action: WebhookAction): WebhookFields {
  const wrapped = Object.entries(params).map(([key, value]) =>
    typeof value === "string" && isExternal(action, key)
      ? [key, wrapExternalContent(value, { source: contentSource })]
      : [key, value],
  );
  return Object.fromEntries(wrapped) as WebhookFields;
}

/** An action for the plugin that stores the records and decides when to run it. */
export function servedAction(
  { id, value, owner }: LiveContribution<WebhookAction>,
  principalFor: (mapping: string) => Principal,
): ServedWebhookAction {
  const { run } = value;
  return {
    get isServing() {
      return owner.ready && owner.hold === undefined && !owner.signal.aborted;
    },
    signal: owner.signal,
    async run(work, signal) {
      if (!run) throw new GatewayError("INTERNAL", "the action has nothing to run after the request was accepted");
      try {
        const job = toJob(work, value, principalFor(work.mapping));
        const result = (await owner.run(() => run(job, signal))) ?? {};
        return storable(result, (error) => owner.charge(error, `result of webhook.action ${id}`));
      } catch (error) {
        if (!isGatewayError(error) && !signal.aborted) owner.charge(error, `webhook.action ${id}`, "caller");
        throw error;
      }
    },
  };
}

/** The part of a result that can be stored: an unstorable result does not make the run a failure. */
function storable({ summary, details }: WebhookResult, charge: (error: unknown) => void): WebhookResult {
  try {
    JSON.stringify(details);
    return { ...(typeof summary === "string" ? { summary } : {}), ...(details ? { details } : {}) };
  } catch (error) {
    charge(error);
    return {};
  }
}
