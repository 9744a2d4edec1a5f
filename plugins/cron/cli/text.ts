/** The output of `svc cron ...` for people. Pure, except for the zone of this machine when none is given. */
import type { ResultOf } from "@svc/sdk";
import { cut, table, visible } from "@svc/sdk/cli";
import type { cron, CronJob, CronRunEntry, CronSchedule } from "@svc/sdk/cron";
import { distanceText, localText, roughly, spanText } from "./times.ts";

/** The present time, and the zone to show times in. */
export interface Here {
  /** epoch ms */
  readonly now: number;
  /** IANA name; default: that of this machine. */
  readonly zone?: string;
}

const NAME_CHARS = 32;
const DETAIL_CHARS = 72;
/** Characters of an id in a table, enough to refer to the job. */
const ID_CHARS = 8;

/** A line per job: name, id, schedule, next run, last run. @param filtered the list is not of all jobs */
export function listLines(listed: ResultOf<typeof cron.list>, filtered: boolean, here: Here): string[] {
  const { jobs, total, offset, nextOffset } = listed;
  if (jobs.length === 0) {
    if (total > 0) return [`there are ${total} jobs, none from ${offset} on`, "Next: svc cron list --offset 0"];
    return filtered
      ? ["no matching jobs; to list all: svc cron list --all"]
      : ['no jobs; add one: svc cron add --every 1h --message "What is new?"'];
  }
  const rows = jobs.map((job) => [
    visible(cut(job.name, NAME_CHARS)),
    visible(job.id.slice(0, ID_CHARS)),
    visible(scheduleText(job.schedule, here)),
    nextText(job, here),
    visible(cut(lastText(job, here), DETAIL_CHARS)),
  ]);
  return [
    ...table([["NAME", "ID", "WHEN", "NEXT", "LAST"], ...rows]),
    ...(nextOffset === null ? [] : [`${total - nextOffset} more: svc cron list --offset ${nextOffset}`]),
  ];
}

/** `at Sat 2026-01-03 12:05 GMT+1`, `every 5m`, `cron 0 9 * * 1-5 (Europe/Berlin)`. */
export function scheduleText(schedule: CronSchedule, { zone }: Pick<Here, "zone">): string {
  if (schedule.kind === "every") return `every ${spanText(schedule.everyMs)}`;
  if (schedule.kind === "cron") return `cron ${schedule.expr}${schedule.tz === undefined ? "" : ` (${schedule.tz})`}`;
  const at = Date.parse(schedule.at);
  return `at ${Number.isNaN(at) ? schedule.at : localText(at, zone)}`;
}

function nextText({ enabled, state: { nextRunAtMs, runningAtMs } }: CronJob, { now, zone }: Here): string {
  if (runningAtMs !== undefined) return "running now";
  if (!enabled) return "off";
  if (nextRunAtMs === undefined) return "-";
  const due = nextRunAtMs <= now ? "due" : distanceText(nextRunAtMs, now);
  return `${localText(nextRunAtMs, zone)} (${due})`;
}

function lastText({ state }: CronJob, { now }: Here): string {
  const { lastRunAtMs, lastRunStatus, lastStatus = lastRunStatus, lastError, consecutiveErrors = 0 } = state;
  if (lastRunAtMs === undefined) return "-";
  const again = lastStatus === "error" && consecutiveErrors > 1 ? `, ${consecutiveErrors} in a row` : "";
  const why = lastStatus === "ok" || lastError === undefined ? "" : `: ${oneLine(lastError)}`;
  return `${lastStatus ?? "?"} ${distanceText(lastRunAtMs, now)}${again}${why}`;
}

export function statusLines(status: ResultOf<typeof cron.status>, { now, zone }: Here): string[] {
  const { enabled, jobs, nextWakeAtMs, storePath } = status;
  const next = nextWakeAtMs === null ? "none" : `${localText(nextWakeAtMs, zone)} (${distanceText(nextWakeAtMs, now)})`;
  return [
    `jobs run:  ${enabled ? "yes" : "no, the scheduler is off"}`,
    `jobs:      ${jobs}`,
    `next:      ${next}`,
    visible(`store:     ${storePath}`),
    ...(enabled ? [] : [OFF_STEP]),
  ];
}

const OFF_STEP = "Next: set cron.enabled to true in the configuration, and leave SVC_SKIP_CRON unset";

/** A job that was added or changed. @param done e.g. `added` @param isOn the scheduler is enabled */
export function jobLines(job: CronJob, done: string, isOn: boolean, here: Here): string[] {
  const { id, name, enabled, schedule, sessionTarget, payload, delivery } = job;
  const what = payload.kind === "systemEvent" ? payload.text : payload.message;
  return [
    visible(`${done} ${name} (${id})`),
    visible(`  when:     ${scheduleText(schedule, here)}`),
    `  next:     ${enabled ? nextText(job, here) : "off; turn it on: svc cron enable " + visible(id)}`,
    visible(`  does:     ${cut(what.split(/\r?\n/, 1)[0] ?? "", DETAIL_CHARS)} (${sessionTarget})`),
    ...(delivery ? [visible(`  delivery: ${deliveryText(delivery)}`)] : []),
    ...(isOn ? [] : ["jobs do not run: the scheduler is off", OFF_STEP]),
  ];
}

function deliveryText({ mode, channel = "last", to }: NonNullable<CronJob["delivery"]>): string {
  if (mode === "none") return "none";
  // The path of a webhook may be a secret.
  if (mode === "webhook") return `webhook${to !== undefined && URL.canParse(to) ? ` to ${new URL(to).host}` : ""}`;
  return `${channel}${to === undefined ? "" : ` to ${to}`}`;
}

/** A line per run: time, record, duration, details. @param ofAll with the name of the job */
export function runsLines(listed: ResultOf<typeof cron.runs>, ofAll: boolean, here: Here): string[] {
  const { entries, total, nextOffset } = listed;
  if (entries.length === 0) return ["no matching runs; to list the jobs: svc cron list --all"];
  const rows = entries.map((entry) => [
    localText(entry.dueAtMs ?? entry.runAtMs ?? entry.ts, here.zone),
    ...(ofAll ? [visible(cut(entry.jobName ?? entry.jobId.slice(0, ID_CHARS), NAME_CHARS))] : []),
    visible(recordText(entry, here)),
    entry.durationMs === undefined ? "-" : roughly(entry.durationMs),
    visible(cut(oneLine(detailText(entry)), DETAIL_CHARS)),
  ]);
  const head = ["WHEN", ...(ofAll ? ["JOB"] : []), "WHAT", "TOOK", "DETAILS"];
  const more = nextOffset === null ? [] : [`${total - nextOffset} more: add --offset ${nextOffset}`];
  return [...table([head, ...rows]), ...more];
}

/** `ran: ok`, `skipped (still running)`, `missed (gateway was down), 12 times until Sat 2026-01-03 12:05 GMT+1`. */
function recordText(
  { record = "ran", reason, status, slots = 1, throughAtMs, manual }: CronRunEntry,
  here: Here,
): string {
  const why = reason === undefined ? "" : ` (${reason})`;
  const until = throughAtMs === undefined ? "" : ` until ${localText(throughAtMs, here.zone)}`;
  const times = slots > 1 ? `, ${slots} times${until}` : "";
  const hand = manual === true ? ", by hand" : "";
  if (record === "ran" && status === "skipped") return `skipped${why}${hand}`;
  return record === "ran" ? `ran: ${status ?? "?"}${why}${hand}` : `${record}${why}${times}`;
}

function detailText({ error, summary, deliveryStatus, deliveryError }: CronRunEntry): string {
  const undelivered =
    deliveryStatus === "not-delivered" ? `not delivered${deliveryError ? `: ${deliveryError}` : ""}` : "";
  return [error, undelivered, summary].filter((part) => part !== undefined && part !== "").join("; ");
}

/** The result of `svc cron run`. @param entry the record of the run, if there is one */
export function ranLines(
  { name, id }: Pick<CronJob, "id" | "name">,
  { ran, reason }: ResultOf<typeof cron.run>,
  entry: CronRunEntry | undefined,
): string[] {
  const job = visible(name);
  if (!ran && reason === "already-running") return [`${job} is already running`, `Next: svc cron runs ${visible(id)}`];
  if (!ran) return [`${job} is not due`, `Next: svc cron run ${visible(id)}`];
  if (!entry) return [`${job} ran`, `Next: svc cron runs ${visible(id)}`];
  const { status = "?", durationMs } = entry;
  const took = durationMs === undefined ? "" : ` after ${roughly(durationMs)}`;
  const details = detailText(entry);
  return [
    `${job} ran: ${status}${took}`,
    ...details
      .split(/\r?\n/)
      .filter(Boolean)
      .map((line) => `  ${visible(line)}`),
  ];
}

function oneLine(text: string): string {
  return text.replace(/\s+/gu, " ").trim();
}
