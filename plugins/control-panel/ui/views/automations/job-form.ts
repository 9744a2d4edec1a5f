/** What the editor of a job holds, and what `cron.add` and `cron.update` get. No drawing. */
import type { CronJob, CronSchedule } from "@svc/sdk/cron";

/** Values as the form has them. */
export interface JobForm {
  name: string;
  description: string;
  enabled: boolean;
  kind: CronSchedule["kind"];
  every: string;
  /** Milliseconds of the unit of `every`. */
  unit: string;
  /** Local time of the browser, as `<input type="datetime-local">` has it; so is `at`. */
  anchor: string;
  at: string;
  expr: string;
  tz: string;
  /** Minutes; empty: the gateway decides. */
  stagger: string;
  deleteAfterRun: boolean;
  payload: "agentTurn" | "systemEvent";
  message: string;
  text: string;
  wakeMode: string;
  agentId: string;
  sessionKey: string;
  model: string;
  fallbacks: string;
  thinking: string;
  /** Minutes; empty: the default. */
  timeout: string;
  lightContext: boolean;
  delivery: string;
  channel: string;
  to: string;
  accountId: string;
  bestEffort: boolean;
  failureMode: string;
  failureChannel: string;
  failureTo: string;
  failureAccountId: string;
  alert: "default" | "off" | "own";
  alertAfter: string;
  /** Minutes. */
  alertCooldown: string;
  alertMode: string;
  alertChannel: string;
  alertTo: string;
  alertAccountId: string;
  overlap: string;
  catchUp: string;
  /** Hours; for `all`. */
  catchUpHours: string;
}

const MINUTE = 60_000;
const HOUR = 3_600_000;
/** Units of an interval in milliseconds, largest first. */
export const UNITS = [86_400_000, HOUR, MINUTE, 1_000] as const;
/** Seconds a run may take if the job says nothing. Spec: protocol/methods-cron.md. */
const DEFAULT_TIMEOUT_SECONDS = 3_600;

export const NEW_JOB: JobForm = {
  name: "",
  description: "",
  enabled: true,
  kind: "cron",
  every: "30",
  unit: String(MINUTE),
  anchor: "",
  at: "",
  expr: "0 8 * * *",
  tz: "",
  stagger: "",
  deleteAfterRun: false,
  payload: "agentTurn",
  message: "",
  text: "",
  wakeMode: "now",
  agentId: "",
  sessionKey: "",
  model: "",
  fallbacks: "",
  thinking: "",
  timeout: "",
  lightContext: false,
  delivery: "announce",
  channel: "",
  to: "",
  accountId: "",
  bestEffort: false,
  failureMode: "",
  failureChannel: "",
  failureTo: "",
  failureAccountId: "",
  alert: "default",
  alertAfter: "2",
  alertCooldown: "60",
  alertMode: "announce",
  alertChannel: "",
  alertTo: "",
  alertAccountId: "",
  overlap: "skip",
  catchUp: "last",
  catchUpHours: "24",
};

/** `2026-01-31T09:00` in the zone of the browser. @param at epoch ms */
export function localInput(at: number): string {
  const shifted = new Date(at - new Date(at).getTimezoneOffset() * MINUTE);
  return shifted.toISOString().slice(0, 16);
}

/** Name of the time zone of the browser. */
export function browserZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

export function formOf(job: CronJob): JobForm {
  const { schedule, payload, delivery, failureAlert, catchUp } = job;
  const failure = delivery?.failureDestination;
  return {
    ...NEW_JOB,
    name: job.name,
    description: job.description ?? "",
    enabled: job.enabled,
    agentId: job.agentId ?? "",
    sessionKey: job.sessionKey ?? "",
    deleteAfterRun: job.deleteAfterRun ?? false,
    wakeMode: job.wakeMode,
    overlap: job.overlap ?? "skip",
    catchUp: catchUp?.mode ?? "last",
    catchUpHours: catchUp?.windowMs === undefined ? "24" : String(catchUp.windowMs / HOUR),
    ...scheduleForm(schedule),
    payload: payload.kind,
    ...(payload.kind === "systemEvent"
      ? { text: payload.text }
      : {
          message: payload.message,
          model: payload.model ?? "",
          fallbacks: (payload.fallbacks ?? []).join(", "),
          thinking: payload.thinking ?? "",
          timeout: payload.timeoutSeconds === undefined ? "" : String(payload.timeoutSeconds / 60),
          lightContext: payload.lightContext ?? false,
        }),
    delivery: delivery?.mode ?? "none",
    channel: delivery?.channel ?? "",
    to: delivery?.to ?? "",
    accountId: delivery?.accountId ?? "",
    bestEffort: delivery?.bestEffort ?? false,
    failureMode: failure ? (failure.mode ?? "announce") : "",
    failureChannel: failure?.channel ?? "",
    failureTo: failure?.to ?? "",
    failureAccountId: failure?.accountId ?? "",
    alert: failureAlert === undefined ? "default" : failureAlert === false ? "off" : "own",
    ...(failureAlert
      ? {
          alertAfter: String(failureAlert.after ?? 2),
          alertCooldown: String((failureAlert.cooldownMs ?? HOUR) / MINUTE),
          alertMode: failureAlert.mode ?? "announce",
          alertChannel: failureAlert.channel ?? "",
          alertTo: failureAlert.to ?? "",
          alertAccountId: failureAlert.accountId ?? "",
        }
      : {}),
  };
}

function scheduleForm(schedule: CronSchedule): Partial<JobForm> {
  if (schedule.kind === "every") {
    const { everyMs, anchorMs } = schedule;
    const unit = UNITS.find((ms) => everyMs % ms === 0) ?? 1_000;
    return {
      kind: "every",
      every: String(everyMs / unit),
      unit: String(unit),
      anchor: anchorMs === undefined ? "" : localInput(anchorMs),
    };
  }
  if (schedule.kind === "at") {
    const at = /^\d+$/.test(schedule.at) ? Number(schedule.at) : Date.parse(schedule.at);
    return { kind: "at", at: Number.isFinite(at) ? localInput(at) : "" };
  }
  const { expr, tz = "", staggerMs } = schedule;
  return { kind: "cron", expr, tz, stagger: staggerMs === undefined ? "" : String(staggerMs / MINUTE) };
}

const number = (text: string) => (text.trim() === "" ? undefined : Number(text));
const scaled = (text: string, factor: number) => {
  const value = number(text);
  return value === undefined ? undefined : Math.round(value * factor);
};
const moment = (local: string) => (local === "" ? undefined : new Date(local));

/**
 * The schedule that the form describes; `undefined`: a needed field is empty.
 * @param former schedule of the job that is edited; its anchor stays to the millisecond unless people change it
 */
export function scheduleOf(form: JobForm, former?: CronSchedule): CronSchedule | undefined {
  if (form.kind === "every") {
    const everyMs = scaled(form.every, Number(form.unit));
    if (everyMs === undefined || !(everyMs > 0)) return undefined;
    const kept = former?.kind === "every" ? former.anchorMs : undefined;
    const isKept = kept !== undefined && localInput(kept) === form.anchor;
    const anchorMs = isKept ? kept : moment(form.anchor)?.getTime();
    return { kind: "every", everyMs, ...(anchorMs === undefined ? {} : { anchorMs }) };
  }
  if (form.kind === "at") {
    const kept = former?.kind === "at" && scheduleForm(former).at === form.at ? former.at : undefined;
    const at = kept ?? moment(form.at)?.toISOString();
    return at === undefined ? undefined : { kind: "at", at };
  }
  const expr = form.expr.trim();
  if (expr === "") return undefined;
  const staggerMs = scaled(form.stagger, MINUTE);
  const tz = form.tz.trim();
  return { kind: "cron", expr, ...(tz === "" ? {} : { tz }), ...(staggerMs === undefined ? {} : { staggerMs }) };
}

/** Without the entries whose text is empty, for a new job; a change keeps them, which clears the field. */
function given<T extends object>(fields: T, isNew: boolean): Partial<T> {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined && (!isNew || value !== ""));
  return Object.fromEntries(entries) as Partial<T>;
}

/** Params of `cron.add`; with `former`: the patch of `cron.update`. */
export function paramsOf(form: JobForm, former?: CronJob): Record<string, unknown> {
  const isNew = former === undefined;
  const isTurn = form.payload === "agentTurn";
  const timeout = scaled(form.timeout, 60);
  const fallbacks = form.fallbacks.split(",").flatMap((name) => name.trim() || []);
  const isChannel = form.delivery === "announce";
  const payload = isTurn
    ? {
        kind: "agentTurn",
        message: form.message,
        ...given({ model: form.model.trim(), thinking: form.thinking }, isNew),
        ...(isNew && fallbacks.length > 0 ? { fallbacks } : {}),
        // A change cannot take the limit away, so it sets the usual one.
        ...(timeout === undefined && isNew ? {} : { timeoutSeconds: timeout ?? DEFAULT_TIMEOUT_SECONDS }),
        lightContext: form.lightContext,
      }
    : { kind: "systemEvent", text: form.text };
  const failure = {
    channel: form.failureChannel.trim(),
    to: form.failureTo.trim(),
    accountId: form.failureAccountId.trim(),
  };
  const failureDestination =
    form.failureMode === "" ? {} : { failureDestination: { mode: form.failureMode, ...given(failure, isNew) } };
  const address = {
    channel: isChannel ? form.channel.trim() : "",
    to: form.to.trim(),
    accountId: isChannel ? form.accountId.trim() : "",
  };
  const delivery =
    form.delivery === "none"
      ? { mode: "none" }
      : { mode: form.delivery, ...given(address, isNew), bestEffort: form.bestEffort, ...failureDestination };
  const alert =
    form.alert === "default"
      ? {}
      : form.alert === "off"
        ? { failureAlert: false }
        : {
            failureAlert: {
              after: number(form.alertAfter) ?? 2,
              cooldownMs: scaled(form.alertCooldown, MINUTE) ?? HOUR,
              mode: form.alertMode,
              ...given(
                { channel: form.alertChannel.trim(), to: form.alertTo.trim(), accountId: form.alertAccountId.trim() },
                isNew,
              ),
            },
          };
  const hours = scaled(form.catchUpHours, HOUR);
  return {
    ...given({ name: form.name.trim() }, true),
    ...given({ description: form.description.trim() }, isNew),
    enabled: form.enabled,
    schedule: scheduleOf(form, former?.schedule),
    sessionTarget: isTurn ? "isolated" : "main",
    wakeMode: form.wakeMode,
    payload,
    ...(isTurn || form.delivery === "webhook" ? { delivery } : {}),
    ...(isTurn
      ? { agentId: form.agentId || null, sessionKey: form.sessionKey.trim() || null }
      : former
        ? { agentId: null }
        : {}),
    deleteAfterRun: form.deleteAfterRun,
    overlap: form.overlap,
    catchUp: { mode: form.catchUp, ...(form.catchUp === "all" && hours !== undefined ? { windowMs: hours } : {}) },
    ...alert,
  };
}
