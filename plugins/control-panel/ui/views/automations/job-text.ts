/** Jobs and their runs in words. */
import type { CronJob, CronRunEntry, CronSchedule } from "@svc/sdk/cron";
import { t } from "../../core/text.ts";
import type { TemplateResult } from "lit";
import { badge, type Tone } from "../../parts/show.ts";
import { absolute, shortDuration } from "../../parts/time.ts";

/** `every 30 min`, `0 8 * * * (Europe/Berlin)`, `once, 31 Jan 2026, 09:00`. */
export function scheduleText(schedule: CronSchedule): string {
  const a = t.automations;
  if (schedule.kind === "every") return a.everyText(shortDuration(schedule.everyMs));
  if (schedule.kind === "at") {
    const at = /^\d+$/.test(schedule.at) ? Number(schedule.at) : Date.parse(schedule.at);
    return a.onceText(Number.isFinite(at) ? absolute(at) : schedule.at);
  }
  const known = a.editor.examples.find(([expr]) => expr === schedule.expr)?.[1];
  const text = known ?? schedule.expr;
  return schedule.tz === undefined ? text : `${text} (${schedule.tz})`;
}

/** What the job does, in one line. */
export function payloadText({ payload }: CronJob): string {
  return payload.kind === "systemEvent" ? payload.text : payload.message;
}

const TONES: Readonly<Record<string, Tone>> = {
  ok: "good",
  error: "bad",
  skipped: "neutral",
  missed: "warning",
  running: "accent",
};

/** Outcome of a run: how it ended, or that it did not take place. */
export function runBadge({ status, record }: Pick<CronRunEntry, "status" | "record">): TemplateResult {
  const outcome = record === "missed" || record === "skipped" ? record : (status ?? "ok");
  return badge(t.automations.outcomes[outcome], TONES[outcome]);
}

/** The state of a job: running, or how its last run ended; absent: it has not run. */
export function jobBadge({ state }: CronJob): TemplateResult | undefined {
  if (state.runningAtMs !== undefined) return badge(t.automations.outcomes.running, "accent");
  const status = state.lastRunStatus ?? state.lastStatus;
  return status === undefined ? undefined : badge(t.automations.outcomes[status], TONES[status]);
}
