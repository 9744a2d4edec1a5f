/** Checks that the settings of a job can be combined. Pure. Spec: methods-cron.md §2, table of errors. */
import { unavailable } from "@svc/sdk";
import type { CronJob, CronSchedule } from "@svc/sdk/cron";
import { parseThinkingLevel } from "@svc/sdk/models";

type Checked = Pick<CronJob, "schedule" | "sessionTarget" | "payload" | "delivery" | "failureAlert" | "agentId">;

export interface CheckContext {
  readonly defaultAgentId: string;
  /** Throws for an invalid expression or zone; `checkJob` passes the error on. */
  checkSchedule(schedule: CronSchedule): void;
}

/** The channel whose topics are `<chat>:topic:<id>`. It would read an id with a slash as a chat that does not exist. */
const TOPIC_CHANNEL = "telegram";
const SLASH_TOPIC = /^-?\d+\/\d+$/;

/** @throws GatewayError `UNAVAILABLE`, `Error: ...` with a fix, for settings that cannot be combined; errors of `checkSchedule` */
export function checkJob(job: Checked, { defaultAgentId, checkSchedule }: CheckContext): void {
  checkTarget(job, defaultAgentId);
  checkDelivery(job);
  checkAlert(job);
  checkSchedule(job.schedule);
  checkThinking(job);
}

function checkTarget({ sessionTarget, payload, agentId }: Checked, defaultAgentId: string): void {
  if (sessionTarget === "isolated") {
    if (payload.kind !== "agentTurn") {
      refuse('an isolated job needs a payload of kind "agentTurn"; for a system event set sessionTarget "main"');
    }
    return;
  }
  if (payload.kind !== "systemEvent") {
    refuse(
      'a job of the main session needs a payload of kind "systemEvent"; for an agent turn set sessionTarget "isolated"',
    );
  }
  if (agentId !== undefined && agentId.toLowerCase() !== defaultAgentId.toLowerCase()) {
    refuse(
      `a job of the main session belongs to the default agent "${defaultAgentId}", not to "${agentId}"; ` +
        'leave agentId out, or set sessionTarget "isolated"',
    );
  }
}

function checkDelivery({ sessionTarget, delivery }: Checked): void {
  if (!delivery) return;
  const { mode, channel, to, failureDestination } = delivery;
  if (sessionTarget === "main" && mode === "announce") {
    refuse('delivery.mode "announce" is for isolated jobs; leave delivery out, or set its mode to "webhook"');
  }
  if (mode === "webhook") checkUrl(to, "delivery.to");
  if (mode === "announce") checkTopic(channel, to, "delivery.to");
  if (!failureDestination) return;
  if (sessionTarget === "main" && mode !== "webhook") {
    refuse('delivery.failureDestination of a job of the main session needs delivery.mode "webhook"; leave it out');
  }
  checkFailureAddress(failureDestination, "delivery.failureDestination.to");
}

function checkAlert({ failureAlert }: Checked): void {
  if (failureAlert) checkFailureAddress(failureAlert, "failureAlert.to");
}

/** The recipient may be absent. Choice: the recipient of a failure follows the same rules as that of the delivery. */
function checkFailureAddress(
  { mode, channel, to }: { mode?: "announce" | "webhook"; channel?: string; to?: string },
  field: string,
): void {
  if (to === undefined) return;
  if (mode === "webhook") checkUrl(to, field);
  else checkTopic(channel, to, field);
}

function checkThinking({ payload }: Checked): void {
  if (payload.kind !== "agentTurn" || payload.thinking === undefined) return;
  if (parseThinkingLevel(payload.thinking) === undefined)
    refuse(`thinking "${payload.thinking}" is no level; see models.list`);
}

function checkUrl(to: string | undefined, field: string): void {
  const url = to !== undefined && URL.canParse(to) ? new URL(to) : undefined;
  const isHttp = url !== undefined && /^https?:$/.test(url.protocol);
  // The URL may hold a secret, so the error does not repeat it.
  if (!isHttp) refuse(`${field} of a webhook must be a URL that begins with http:// or https://`);
  // The gateway sends nothing to such a URL, and anyone who may list jobs could read the password.
  if (url.username !== "" || url.password !== "")
    refuse(
      `${field} may have no user name or password; leave them out, and set cron.webhookToken to the token that the webhook expects`,
    );
}

function checkTopic(channel: string | undefined, to: string | undefined, field: string): void {
  if (channel?.toLowerCase() !== TOPIC_CHANNEL || to === undefined || !SLASH_TOPIC.test(to.trim())) return;
  refuse(`${field} "${to.trim()}" names a topic with a slash; write it as ${to.trim().replace("/", ":topic:")}`);
}

function refuse(why: string): never {
  return unavailable(`Error: ${why}`);
}
