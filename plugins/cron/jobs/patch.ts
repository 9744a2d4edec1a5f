/** A job after `cron.update`. Pure. Spec: methods-cron.md §3. */
import { invalidRequest, unavailable } from "@svc/sdk";
import type {
  CronDelivery,
  CronFailureAlert,
  CronJob,
  CronJobPatch,
  CronJobState,
  CronPayload,
  CronSchedule,
} from "@svc/sdk/cron";
import { defined, type Gaps, isBlank } from "../fields.ts";
import { defaultStaggerMs } from "../schedule/calendar.ts";
import { parseMoment, refusedMoment } from "../schedule/moment.ts";

type PayloadPatch = NonNullable<CronJobPatch["payload"]>;
type DeliveryPatch = NonNullable<CronJobPatch["delivery"]>;
type Destination = NonNullable<CronDelivery["failureDestination"]>;
type AgentTurn = CronPayload & { kind: "agentTurn" };
type AlertTo = Exclude<CronFailureAlert, false>;

/**
 * Applies a change to a job. The caller computes `nextRunAtMs` again when `schedule` or `enabled` changes, and checks the
 * result with `checkJob`.
 * @param now epoch ms
 * @throws GatewayError `UNAVAILABLE` when a payload of another kind lacks its text, `INVALID_REQUEST` for a moment in
 * the past or too far ahead. Choice: an unchanged moment is accepted, so that the rest of an old job can change.
 */
export function patched(job: CronJob, patch: CronJobPatch, now: number): CronJob {
  const {
    agentId,
    sessionKey,
    displayName,
    description,
    schedule,
    payload,
    delivery,
    failureAlert,
    state,
    ...replaced
  } = patch;
  const sessionTarget = patch.sessionTarget ?? job.sessionTarget;
  const enabled = patch.enabled ?? job.enabled;
  const wanted = mergedDelivery(job.delivery, delivery ?? hintedDelivery(payload));
  const stops = !enabled && (patch.enabled !== undefined || schedule !== undefined);
  return withoutBlanks<CronJob>({
    ...job,
    ...replaced,
    agentId: agentId === undefined ? job.agentId : (agentId ?? undefined),
    sessionKey: sessionKey === undefined ? job.sessionKey : (sessionKey ?? undefined),
    displayName: displayName === undefined ? job.displayName : (displayName ?? undefined),
    description: description ?? job.description,
    schedule: schedule ? mergedSchedule(job.schedule, schedule, now) : job.schedule,
    payload: payload ? mergedPayload(job.payload, payload) : job.payload,
    delivery: sessionTarget === "main" && wanted?.mode !== "webhook" ? undefined : wanted,
    failureAlert: failureAlert === undefined ? job.failureAlert : mergedAlert(job.failureAlert, failureAlert),
    state: mergedState(job.state, state, stops),
    updatedAtMs: now,
  });
}

function mergedSchedule(former: CronSchedule, given: CronSchedule, now: number): CronSchedule {
  if (given.kind === "at") {
    const stays = former.kind === "at" && parseMoment(former.at) === parseMoment(given.at);
    const wrong = stays ? undefined : refusedMoment(given, now);
    return wrong === undefined ? given : invalidRequest(`invalid cron.update params: at /patch/schedule/at: ${wrong}`);
  }
  if (given.kind === "every") {
    const anchorMs = given.anchorMs ?? (former.kind === "every" ? former.anchorMs : undefined) ?? now;
    return { ...given, anchorMs };
  }
  const usual = former.kind === "cron" ? former.staggerMs : defaultStaggerMs(given.expr);
  return defined<CronSchedule & { kind: "cron" }>({ ...given, staggerMs: given.staggerMs ?? usual });
}

/** Given fields replace, blank texts clear. `fallbacks` are accepted and not merged. Spec: §3. */
function mergedPayload(former: CronPayload, given: PayloadPatch): CronPayload {
  if (given.kind === "systemEvent") {
    const kept = former.kind === "systemEvent" ? former.text : undefined;
    return { kind: "systemEvent", text: given.text ?? kept ?? needs("systemEvent", "text") };
  }
  if (former.kind !== "agentTurn") {
    return withoutBlanks<AgentTurn>({ ...given, message: given.message ?? needs("agentTurn", "message") });
  }
  const { fallbacks: _notMerged, ...fields } = given;
  return withoutBlanks<AgentTurn>({ ...former, ...fields, message: given.message ?? former.message });
}

/** The delivery that older clients write into an agent turn. Choice: a channel alone is enough. */
function hintedDelivery(payload: PayloadPatch | undefined): DeliveryPatch | undefined {
  if (payload?.kind !== "agentTurn") return undefined;
  const { deliver, channel, to, bestEffortDeliver } = payload;
  const isHinted = [deliver, channel, to, bestEffortDeliver].some((hint) => hint !== undefined);
  if (!isHinted) return undefined;
  const announces = deliver ?? (isBlank(channel) && isBlank(to) ? undefined : true);
  const mode = announces === undefined ? undefined : announces ? "announce" : "none";
  return defined<DeliveryPatch>({ mode, channel, to, bestEffort: bestEffortDeliver });
}

function mergedDelivery(former: CronDelivery | undefined, given: DeliveryPatch | undefined): CronDelivery | undefined {
  if (!given) return former;
  const isCleared = given.failureDestination === null;
  const destination = isCleared
    ? {}
    : withoutBlanks<Destination>({ ...former?.failureDestination, ...given.failureDestination });
  const failureDestination = Object.keys(destination).length === 0 ? undefined : destination;
  return withoutBlanks<CronDelivery>({ mode: "none", ...former, ...given, failureDestination });
}

function mergedAlert(
  former: CronFailureAlert | undefined,
  given: CronFailureAlert | null,
): CronFailureAlert | undefined {
  if (given === null) return undefined;
  return given === false ? false : withoutBlanks<AlertTo>({ ...(former === false ? {} : former), ...given });
}

function mergedState(former: CronJobState, given: Partial<CronJobState> | undefined, stops: boolean): CronJobState {
  const merged = { ...former, ...given };
  if (!stops) return merged;
  const { nextRunAtMs: _next, runningAtMs: _running, ...rest } = merged;
  return rest;
}

/** Blank texts clear their field. */
function withoutBlanks<T extends object>(fields: Gaps<T>): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => !isBlank(value))) as T; // only what may be absent
}

function needs(kind: string, field: string): never {
  return unavailable(`Error: a payload of kind "${kind}" needs ${field}; give it in patch.payload.${field}`);
}
