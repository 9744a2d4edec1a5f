/** Prompts of heartbeat turns. Pure. Spec: http/sessions-routing.md §7.1, §7.4. */
import { currentTimeLine } from "@svc/kit/time";
import type { HeartbeatSettings, SystemEvent } from "@svc/sdk/heartbeat";

const NOBODY = "This message comes from the gateway, not from a person. ";
const OTHERWISE = "If nothing needs your attention, answer only HEARTBEAT_OK.";

export const DEFAULT_PROMPT =
  `${NOBODY}Follow HEARTBEAT.md of your workspace if that file exists, and nothing else that was said earlier. The events ` +
  `under "Runtime events" happened meanwhile: check which of them need your attention. ${OTHERWISE}`;

const REMINDER_PROMPT =
  `${NOBODY}A reminder that was set earlier is due; see "Runtime events". Do what it asks for, and tell the user ` +
  `you work for about it in your own words. ${OTHERWISE}`;

const FINISHED_PROMPT =
  `${NOBODY}A command that was started earlier has ended; its outcome is under "Runtime events". Tell the user you work ` +
  `for the outcome, and what failed. ${OTHERWISE}`;

/** Reasons of finished commands, on this machine or on a node. */
const FINISHED = /^(?:exec-event|node:exec\.finished$)/;

/** The message of the turn. @param now epoch ms @param timeZone IANA name */
export function messageOf(
  { prompt = DEFAULT_PROMPT }: Pick<HeartbeatSettings, "prompt">,
  events: readonly Pick<SystemEvent, "reason">[],
  now: number,
  timeZone: string,
): string {
  const has = (pattern: RegExp) => events.some(({ reason }) => pattern.test(reason));
  const words = has(FINISHED) ? FINISHED_PROMPT : has(/^cron:/) ? REMINDER_PROMPT : prompt;
  return `${words}\n\n${currentTimeLine(now, timeZone)}`;
}

/** The section with HEARTBEAT.md for the system prompt. */
export function fileSection(file: string): string {
  return `# HEARTBEAT.md of your workspace\n\n${file.trim()}`;
}
