/** What an action is handed of an accepted webhook. Pure but for the random ids of the markers. */
import type { Principal } from "@svc/sdk";
import { suspiciousPatterns, wrapExternalContent } from "@svc/sdk/external-content";
import type { WebhookAction, WebhookFields, WebhookJob } from "@svc/sdk/webhooks";
import { isExternal } from "./mapping.ts";
import type { RunRecord, StoredJob } from "./run-records.ts";

/** A job as an action gets it: texts from outside marked. */
export function toJob(
  record: Pick<RunRecord, "run">,
  job: StoredJob,
  action: WebhookAction,
  attempt: number,
  principal: Principal,
): WebhookJob {
  const { runId, mapping, acceptedAt } = record.run;
  const params = job.wrapped ? wrapTexts(job, action) : job.params;
  return { runId, attempt, mapping, params, wrapped: job.wrapped, acceptedAt, principal };
}

/** What in the texts of a job looks like instructions for whoever reads them, by name; for the log. */
export function suspicionsOf({ params, wrapped }: StoredJob, action: WebhookAction): readonly string[] {
  if (!wrapped) return []; // the operator trusts this sender
  const texts = Object.entries(params).flatMap(([key, value]) =>
    typeof value === "string" && isExternal(action, key) ? [value] : [],
  );
  return [...new Set(texts.flatMap(suspiciousPatterns))];
}

function wrapTexts({ params, contentSource }: StoredJob, action: WebhookAction): WebhookFields {
  const wrapped = Object.entries(params).map(([key, value]) =>
    typeof value === "string" && isExternal(action, key)
      ? [key, wrapExternalContent(value, { source: contentSource })]
      : [key, value],
  );
  return Object.fromEntries(wrapped) as WebhookFields;
}
