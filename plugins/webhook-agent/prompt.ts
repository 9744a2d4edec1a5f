/** Prompts of webhook runs. Pure. Spec: http/webhooks.md §5.5, §8. */
import { currentTimeLine, localTime } from "@svc/kit/time";
import type { WebhookJob } from "@svc/sdk/webhooks";
import type { AgentParams } from "./fields.ts";

/** The message of the run. @param now epoch ms @param timeZone IANA name */
export function runMessage(job: WebhookJob, { name, message }: AgentParams, now: number, timeZone: string): string {
  const time = currentTimeLine(now, timeZone);
  if (!job.wrapped) return `[cron:${job.runId} ${name}] ${message}\n${time}`;
  const context = `Task: ${name} | Job ID: ${job.runId} | Received: ${localTime(job.acceptedAt, timeZone)}`;
  return `${context}\n\n${message}\n\n${time}`;
}

/** Added to the system prompt if the reply is delivered. */
export const DELIVERY_PROMPT =
  "Nobody reads along while you work. Your last message is sent to a chat unchanged: make it a short summary in plain " +
  "text, without markup, and do not send it yourself with a tool. If nobody needs to know about this, answer only NO_REPLY.";
