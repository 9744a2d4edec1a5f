/** A job that comes from another gateway, as it is stored here. Pure; the calendar must be loaded. */
import { invalidRequest } from "@svc/sdk";
import { CronJobState } from "@svc/sdk/cron";
import type { CronJobRecord } from "@svc/sdk/import";
import { picked } from "../fields.ts";
import { checkSchedule, defaultStaggerMs, nextSlot, slotsBetween, zoned } from "../schedule/calendar.ts";
import type { SlotDecision } from "../schedule/slots.ts";
import { type Definition, type Facts, shownJob, type StoredJob } from "../store/records.ts";
import { checkJob } from "./checks.ts";
import { importedFrom } from "./input.ts";

const MISSED = "it was due while the job was moved here";
const PASSED = "it is disabled, because its time has passed";

export interface ImportContext {
  /** epoch ms */
  readonly now: number;
  /** The zone of schedules without `tz`, IANA name. */
  readonly timeZone: string;
  readonly defaultAgentId: string;
}

export interface ImportedJob {
  readonly job: StoredJob;
  /** The scheduled run that nobody ran, because the job was moved. */
  readonly missed?: Exclude<SlotDecision, { decision: "run" }>;
  /** What differs from the record, for people; empty: nothing. */
  readonly changes: readonly string[];
}

/**
 * Next run: as the record plans it, e.g. after a back-off. If that time has passed, it is missed, and the next run is
 * the first one of the schedule after `now`.
 *
 * Choice: a job that runs once and whose time has passed is disabled, as after a run that did not take place.
 * @throws GatewayError `INVALID_REQUEST` or `UNAVAILABLE` with the reason for which `cron.add` refuses the job
 */
export function importedJob(record: CronJobRecord, { now, timeZone, defaultAgentId }: ImportContext): ImportedJob {
  const { id, createdAtMs, updatedAtMs, origin, state, ...settings } = record;
  if (/[/\\]/.test(id)) invalidRequest("its id has a slash, so that its runs could not be listed");
  const { agentId, sessionKey, ...draft } = importedFrom(settings, createdAtMs, now);
  const definition: Definition = {
    ...draft,
    id,
    ...(agentId ? { agentId } : {}),
    ...(sessionKey ? { sessionKey } : {}),
    ...(origin ? { origin } : {}),
    createdAtMs,
    updatedAtMs,
  };
  checkJob(definition, { defaultAgentId, checkSchedule });
  const schedule = zoned(definition.schedule, timeZone);
  const planned = definition.enabled ? state.nextRunAtMs : undefined;
  const next = planned !== undefined && planned > now ? planned : nextSlot(schedule, id, now);
  const hasPassed = definition.enabled && schedule.kind === "at" && next === undefined;
  const { nextRunAtMs: _next, runningAtMs: _running, ...rest } = state;
  const [facts, unknown] = picked<Facts>(rest, Object.keys(CronJobState.properties));
  return {
    job: {
      definition: hasPassed ? { ...definition, enabled: false } : definition,
      facts,
      nextAt: definition.enabled ? next : undefined,
      heldUntil: 0,
      runningAt: undefined,
      revision: 0,
    },
    ...(planned !== undefined && planned <= now ? { missed: missedFrom(schedule, id, planned, now) } : {}),
    changes: [
      ...(hasPassed ? [PASSED] : []),
      ...(unknown.length > 0 ? [`without state.${unknown.join(", state.")}`] : []),
    ],
  };
}

/** One record for all times from `dueAt` to `now`. */
function missedFrom(
  schedule: Definition["schedule"],
  id: string,
  dueAt: number,
  now: number,
): NonNullable<ImportedJob["missed"]> {
  const missed = { dueAt, decision: "missed", reason: MISSED } as const;
  const second = nextSlot(schedule, id, dueAt);
  if (second === undefined || second > now) return missed;
  const more = slotsBetween(schedule, second, now + 1);
  return { ...missed, throughAt: now, ...(more === undefined ? {} : { slots: more + 1 }) };
}

/** The job as another gateway can import it. */
export function givenJob(job: StoredJob): CronJobRecord {
  const { schedule, state, ...rest } = shownJob(job);
  const { runningAtMs: _running, ...facts } = state;
  // A job without `staggerMs` runs on the dot; an importer would add the default.
  const isExact = schedule.kind === "cron" && schedule.staggerMs === undefined && defaultStaggerMs(schedule.expr);
  return { ...rest, schedule: isExact ? { ...schedule, staggerMs: 0 } : schedule, state: facts };
}
