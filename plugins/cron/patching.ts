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
import { defined, isBlank } from "./fields.ts";
import { defaultStaggerMs, parseMoment, refusedMoment } from "./schedule-words.ts";

type PayloadPatch = NonNullable<CronJobPatch["payload"]>;
type DeliveryPatch = NonNullable<CronJobPatch["delivery"]>;
type Destination = NonNullable<CronDelivery["failureDestination"]>;
type AlertTo = Exclude<CronFailureAlert, false>;

/**
 * The job with the change, `nextRunAtMs` aside: whoever calls this computes it anew where `schedule` or `enabled` is in
 * the change. Whether the result can work is for `checkJob`.
 * @param now epoch ms
 * @throws GatewayError `UNAVAILABLE` when a payload of another kind has nothing to say, `INVALID_REQUEST` for a moment
 * in the past or too far ahead. Choice: a moment that stays as it is is let through, so the rest of an old job can change.
 */
export function patched(job: CronJob, patch: CronJobPatch, now: number): CronJob {
  const { agentId, sessionKey, description, schedule, payload, delivery, failureAlert, state, ...replaced } = patch;
  const sessionTarget = patch.sessionTarget ?? job.sessionTarget;
  const enabled = patch.enabled ?? job.enabled;
  const wanted = mergedDelivery(job.delivery, delivery ?? hintedDelivery(payload));
  const stops = !enabled && (patch.enabled !== undefined || schedule !== undefined);
  return defined<CronJob>({
    ...job,
    ...replaced,
    agentId: agentId === undefined ? job.agentId : (agentId ?? undefined),
    sessionKey: sessionKey === undefined ? job.sessionKey : (sessionKey ?? undefined),
    description: filled(description ?? job.description),
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

/** Given fields replace; texts of nothing clear. `fallbacks` are accepted and not merged. Spec: §3. */
function mergedPayload(former: CronPayload, given: PayloadPatch): CronPayload {
  if (given.kind === "systemEvent") {
    const kept = former.kind === "systemEvent" ? former.text : undefined;
    return { kind: "systemEvent", text: given.text ?? kept ?? needs("systemEvent", "text") };
  }
  if (former.kind !== "agentTurn") {
    return withoutBlanks({ ...given, message: given.message ?? needs("agentTurn", "message") });
  }
  const { fallbacks: _notMerged, ...fields } = given;
  return withoutBlanks({ ...former, ...fields, message: given.message ?? former.message });
}

function withoutBlanks(turn: CronPayload & { kind: "agentTurn" }): CronPayload {
  return defined<CronPayload & { kind: "agentTurn" }>({
    ...turn,
    model: filled(turn.model),
    thinking: filled(turn.thinking),
    channel: filled(turn.channel),
    to: filled(turn.to),
  });
}

/** Where older clients write the delivery of an agent turn. Choice: a channel alone counts too. */
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
  const { failureDestination, ...rest } = given;
  const merged = { mode: "none" as const, ...former, ...rest };
  return defined<CronDelivery>({
    ...merged,
    channel: filled(merged.channel),
    to: filled(merged.to),
    accountId: filled(merged.accountId),
    failureDestination: mergedDestination(former?.failureDestination, failureDestination),
  });
}

/** @returns `undefined` when nothing is left of it */
function mergedDestination(former: Destination | undefined, given: Destination | undefined): Destination | undefined {
  const merged = withoutBlankAddress<Destination>({ ...former, ...given });
  return Object.keys(merged).length === 0 ? undefined : merged;
}

function mergedAlert(former: CronFailureAlert | undefined, given: CronFailureAlert): CronFailureAlert {
  return given === false ? false : withoutBlankAddress<AlertTo>({ ...(former === false ? {} : former), ...given });
}

function withoutBlankAddress<T extends Destination | AlertTo>(address: T): T {
  const { channel, to, accountId } = address;
  const filledIn = { ...address, channel: filled(channel), to: filled(to), accountId: filled(accountId) };
  return defined<Destination | AlertTo>(filledIn) as T; // the same keys, or fewer of those that may be absent
}

function mergedState(former: CronJobState, given: Partial<CronJobState> | undefined, stops: boolean): CronJobState {
  const merged = { ...former, ...given };
  if (!stops) return merged;
  const { nextRunAtMs: _next, runningAtMs: _running, ...rest } = merged;
  return rest;
}

function filled(text: string | undefined): string | undefined {
  return isBlank(text) ? undefined : text;
}

function needs(kind: string, field: string): never {
  return unavailable(`Error: a payload of kind "${kind}" needs ${field}; give it in patch.payload.${field}`);
}
