/** From the words of clients, old and new, to jobs and changes of jobs. Pure. Spec: methods-cron.md §2, §3. */
import {
  closedSchema,
  describeViolations,
  invalidRequest,
  matches,
  NonEmpty,
  Strict,
  type TSchema,
  Type,
} from "@svc/sdk";
import { CronJobDraft, CronJobPatch, CronJobState } from "@svc/sdk/cron";
import { boundKeys, defined, type Fields, isBlank, isFields, trimmed, wordOf } from "./fields.ts";
import { type Blanks, deliveryOutOf, plainAddress, plainDelivery, withPlainPayload } from "./payload-words.ts";
import { plainSchedule, refusedMoment, withScheduleDefaults } from "./schedule-words.ts";

const TARGETS = ["main", "isolated"];
const WAKE_MODES = ["now", "next-heartbeat"];
const CATCH_UP_MODES = ["none", "last", "all"];
const OVERLAPS = ["skip", "queue", "replace"];
/** UTF-16 units of a name that nobody gave. Spec: §2. */
const NAME_CHARS = 60;
const AGENT_ID_CHARS = 64;

/** Keys of a job's state that nobody knows are refused as well. */
const Patch = Strict({
  ...CronJobPatch.properties,
  state: Type.Optional(closedSchema(Type.Partial(CronJobState))),
});
const idOfJob = { id: Type.Optional(NonEmpty), jobId: Type.Optional(NonEmpty) };
const Change = Strict({ ...idOfJob, patch: Patch });

/**
 * What `cron.add` is given, as a job. A text of nothing counts as absent; a schedule of kind `every` has its anchor.
 * @param now epoch ms
 * @throws GatewayError `INVALID_REQUEST` naming the place and what is wrong there
 */
export function draftFrom(raw: Fields, now: number): CronJobDraft {
  const method = "cron.add";
  boundKeys(raw, method);
  const draft = withJobDefaults(plainJob(unwrapped(raw), "left-out", method), now);
  if (!matches(CronJobDraft, draft)) {
    return refuse(method, describeViolations(byKind(CronJobDraft.properties, draft), draft));
  }
  const wrong = refusedMoment(draft.schedule, now);
  if (wrong !== undefined) return refuse(method, `at /schedule/at: ${wrong}`);
  if (draft.delivery?.mode === "webhook" && draft.delivery.to === undefined) {
    return refuse(method, "at /delivery/to: must be the URL the webhook is posted to");
  }
  return draft;
}

/**
 * What `cron.update` is given, as a change. A text of nothing stays where the change clears something with it.
 * Whether a moment lies in the past is for who knows the job: see `patched`.
 * @throws GatewayError `INVALID_REQUEST` naming the place and what is wrong there
 */
export function changeFrom(raw: Fields): { readonly id: string; readonly patch: CronJobPatch } {
  const method = "cron.update";
  boundKeys(raw, method);
  const given = raw["patch"];
  const patch = isFields(given) ? plainJob(unwrapped(given), "kept", method) : given;
  const change = defined<Fields>({ ...raw, patch });
  if (!matches(Change, change)) {
    const narrowed = Strict({ ...idOfJob, patch: byKind(Patch.properties, patch) });
    return refuse(method, describeViolations(narrowed, change));
  }
  const wrong = refusedMoment(change.patch.schedule);
  if (wrong !== undefined) return refuse(method, `at /patch/schedule/at: ${wrong}`);
  const { id, jobId } = change;
  if (id !== undefined && jobId !== undefined) return refuse(method, "id and jobId exclude each other; give one");
  return { id: id ?? jobId ?? refuse(method, "id is missing"), patch: change.patch };
}

/** The job itself, where some clients put it into `data` or `job`. Beside other keys it stays, to be refused. */
export function unwrapped(raw: Fields): Fields {
  const [key, ...others] = Object.keys(raw);
  const inner = others.length === 0 && (key === "data" || key === "job") ? raw[key] : undefined;
  return isFields(inner) ? inner : raw;
}

/** Each field put right as far as it can be; only what a job has, or may have had. */
function plainJob(given: Fields, blanks: Blanks, method: string): Fields {
  const { isolation: _former, ...job } = withPlainPayload(given, blanks);
  const { enabled, sessionKey, failureAlert, catchUp } = job;
  const isOn = wordOf(["true", "false"], enabled);
  return defined<Fields>({
    ...job,
    name: blanks === "left-out" && isBlank(job["name"]) ? undefined : trimmed(job["name"]),
    agentId: plainAgentId(job["agentId"], method),
    sessionKey: isBlank(sessionKey) ? undefined : trimmed(sessionKey),
    enabled: isOn === "true" || isOn === "false" ? isOn === "true" : enabled,
    sessionTarget: wordOf(TARGETS, job["sessionTarget"]),
    wakeMode: wordOf(WAKE_MODES, job["wakeMode"]),
    overlap: wordOf(OVERLAPS, job["overlap"]),
    catchUp: typeof catchUp === "string" ? { mode: wordOf(CATCH_UP_MODES, catchUp) } : catchUp,
    schedule: plainSchedule(job["schedule"]),
    delivery: plainDelivery(job["delivery"], blanks),
    failureAlert: isFields(failureAlert)
      ? defined<Fields>({ ...failureAlert, ...plainAddress(failureAlert, blanks) })
      : failureAlert,
  });
}

/** Lower case, other characters as `-`. Spec: http/sessions-routing.md §1. Choice: what has none of an id is refused. */
function plainAgentId(agentId: unknown, method: string): unknown {
  if (typeof agentId !== "string" || agentId.trim() === "") return isBlank(agentId) ? undefined : agentId;
  const id = agentId
    .trim()
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, "-")
    .replace(/^[-_]+|-+$/g, "")
    .slice(0, AGENT_ID_CHARS);
  return id === "" ? refuse(method, "at /agentId: must have a letter or a digit") : id;
}

function withJobDefaults(job: Fields, now: number): Fields {
  const schedule = withScheduleDefaults(job["schedule"], now);
  const { payload } = job;
  const kind = isFields(payload) ? payload["kind"] : undefined;
  const target = kind === "systemEvent" ? "main" : kind === "agentTurn" ? "isolated" : undefined;
  const isOnce = isFields(schedule) && schedule["kind"] === "at";
  const {
    name = impliedName(schedule, payload),
    enabled = true,
    sessionTarget = target,
    deleteAfterRun = isOnce ? true : undefined,
    delivery,
  } = job;
  const isTurn = sessionTarget === "isolated" && kind === "agentTurn";
  const wakeMode = WAKE_MODES.some((mode) => mode === job["wakeMode"]) ? job["wakeMode"] : "now";
  return defined<Fields>({
    ...job,
    name,
    enabled,
    schedule,
    sessionTarget,
    wakeMode,
    deleteAfterRun,
    ...(isTurn && isFields(payload) && delivery === undefined ? impliedDelivery(payload) : {}),
  });
}

function impliedDelivery(payload: Fields): Fields {
  return deliveryOutOf(payload) ?? { delivery: { mode: "announce" } };
}

function impliedName(schedule: unknown, payload: unknown): string {
  const { text, message } = isFields(payload) ? payload : {};
  const said = [text, message].find((words) => typeof words === "string" && words !== "");
  const line = typeof said === "string" ? said.trim().split(/\r?\n/, 1)[0]?.trim() : undefined;
  if (line)
    return line.length <= NAME_CHARS ? line : `${line.slice(0, NAME_CHARS - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
  const { kind, expr, everyMs } = isFields(schedule) ? schedule : {};
  if (kind === "cron" && typeof expr === "string") return `Cron: ${expr}`;
  if (kind === "every" && typeof everyMs === "number") return `Every: ${everyMs}ms`;
  return kind === "at" ? "One-shot" : "Cron job";
}

/** The schema with only the one schedule and payload that is meant: so nothing is said of those that are not. */
function byKind(properties: Readonly<Record<string, TSchema>>, value: unknown): TSchema {
  const { schedule, payload } = isFields(value) ? value : {};
  const { schedule: schedules, payload: payloads } = properties;
  return Strict({
    ...properties,
    ...(schedules && isFields(schedule) ? { schedule: oneKind(schedules, schedule) } : {}),
    ...(payloads && isFields(payload) ? { payload: oneKind(payloads, payload) } : {}),
  });
}

/** A member of a union of objects that differ by `kind`. */
interface OneKind {
  readonly properties: { readonly kind: { readonly const: string } };
}

/** @param union of objects that differ by `kind` */
function oneKind(union: TSchema, { kind }: Fields): TSchema {
  const { anyOf } = union as { readonly anyOf?: readonly OneKind[] }; // as the contract has them
  const meant = anyOf?.find(({ properties }) => properties.kind.const === kind);
  return meant ?? Type.Object({ kind: Type.Enum((anyOf ?? []).map(({ properties }) => properties.kind.const)) });
}

function refuse(method: string, why: string): never {
  return invalidRequest(`invalid ${method} params: ${why}`);
}
