/** What an agent is told when its heart beats. Pure. Spec: http/sessions-routing.md §7.1, §7.4. */
import { currentTimeLine } from "@svc/kit/time";
import type { HeartbeatSettings, SystemEvent } from "@svc/sdk/heartbeat";

const NOBODY = "This is the gateway and no person. ";
const OTHERWISE = "If nothing needs you, answer only HEARTBEAT_OK.";

export const DEFAULT_PROMPT =
  `${NOBODY}Go by HEARTBEAT.md of your workspace if there is such a file, and by nothing else that was said earlier. What ` +
  `stands under "Runtime events" happened meanwhile: see what of it needs you. ${OTHERWISE}`;

const REMINDER_PROMPT =
  `${NOBODY}A reminder that was set earlier is due: it stands under "Runtime events". Do what it asks for, and say to the ` +
  `person you work for, in words of your own, what there is to say. ${OTHERWISE}`;

const FINISHED_PROMPT =
  `${NOBODY}A command that was started earlier has come to its end: what came of it stands under "Runtime events". Say to ` +
  `the person you work for what came of it, and what failed. ${OTHERWISE}`;

/** Here or on a node. */
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

/** HEARTBEAT.md, for the system prompt. */
export function fileSection(file: string): string {
  return `# HEARTBEAT.md of your workspace\n\n${file.trim()}`;
}
