/** The params of `cron.add` and `cron.update`, as a job or a change of one. Pure. Spec: methods-cron.md §2, §3. */
import {
  closedSchema,
  describeViolations,
  invalidRequest,
  matches,
  NonEmpty,
  type Static,
  Strict,
  type TSchema,
  Type,
} from "@svc/sdk";
import { cut } from "@svc/sdk/cli";
import { CronJobDraft, CronJobPatch, CronJobState } from "@svc/sdk/cron";
import { defined, type Fields, isFields } from "../fields.ts";
import { atOf, completed } from "../schedule/calendar.ts";
import { refusedMoment } from "../schedule/moment.ts";
import { type Method, normalizedJob } from "./normalize.ts";

/** UTF-16 units of a name taken from the payload. Spec: §2. */
const NAME_CHARS = 60;
/** Most keys of an object in `cron.*`. Choice: more than any client sends, and few enough to check quickly. */
const MOST_KEYS = 100;

const { name, enabled, sessionTarget, wakeMode } = CronJobPatch.properties;
/** A new job, where the fields with a default may be absent. */
const Draft = Strict({ ...CronJobDraft.properties, name, enabled, sessionTarget, wakeMode });
type Draft = Static<typeof Draft>;

/** Unknown keys of a job's state are refused as well. */
const Patch = Strict({
  ...CronJobPatch.properties,
  state: Type.Optional(closedSchema(Type.Partial(CronJobState))),
});
const idOfJob = { id: Type.Optional(NonEmpty), jobId: Type.Optional(NonEmpty) };
const Change = Strict({ ...idOfJob, patch: Patch });

/**
 * The job that the params of `cron.add` describe, with its defaults.
 * @param now epoch ms
 * @throws GatewayError `INVALID_REQUEST` naming the field and its error
 */
export function draftFrom(raw: Fields, now: number): CronJobDraft {
  const draft = parsed(raw);
  const wrong = refusedMoment(draft.schedule, now);
  if (wrong !== undefined) return refuse("cron.add", `at /schedule/at: ${wrong}`);
  return withDefaults(draft, now);
}

/**
 * The settings of a job that comes from another gateway, given as the params of `cron.add`. Its moment may have passed.
 * @param createdAt epoch ms; the anchor of an interval without one
 * @param now epoch ms
 * @throws GatewayError `INVALID_REQUEST` naming the field and its error
 */
export function importedFrom(raw: Fields, createdAt: number, now: number): CronJobDraft {
  const draft = parsed(raw);
  const { schedule, delivery, payload } = draft;
  const hasPassed = schedule.kind === "at" && (atOf(schedule) ?? now) < now;
  const wrong = refusedMoment(schedule, hasPassed ? undefined : now);
  if (wrong !== undefined) return refuse("cron.add", `at /schedule/at: ${wrong}`);
  const named = withNames(draft);
  return {
    ...named,
    schedule: completed(schedule, Math.max(0, createdAt)),
    // Without a hint, an absent delivery means none; a new job would announce.
    ...(named.sessionTarget === "isolated" && delivery === undefined && hasHints(payload) ? deliveryFrom(payload) : {}),
  };
}

/** A job in the shape of the contract, without its defaults. */
function parsed(raw: Fields): Draft {
  const method = "cron.add";
  boundKeys(raw, method);
  const draft = normalizedJob(unwrapped(raw), method);
  if (!matches(Draft, draft)) return refuse(method, describeViolations(byKind(Draft.properties, draft), draft));
  if (draft.delivery?.mode === "webhook" && draft.delivery.to === undefined)
    return refuse(method, "at /delivery/to: must be the URL the webhook is posted to");
  return draft;
}

/**
 * The change that the params of `cron.update` describe. A moment in the past is refused later, by `patched`.
 * @throws GatewayError `INVALID_REQUEST` naming the field and its error
 */
export function changeFrom(raw: Fields): { readonly id: string; readonly patch: CronJobPatch } {
  const method = "cron.update";
  boundKeys(raw, method);
  const given = raw["patch"];
  const patch = isFields(given) ? normalizedJob(unwrapped(given), method) : given;
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

/** Unwraps a job that a client sends in `data` or `job`. A wrapper with other keys stays as it is, and is refused later. */
export function unwrapped(raw: Fields): Fields {
  const [key, ...others] = Object.keys(raw);
  const inner = others.length === 0 && (key === "data" || key === "job") ? raw[key] : undefined;
  return isFields(inner) ? inner : raw;
}

function withDefaults(draft: Draft, now: number): CronJobDraft {
  const { payload, schedule, deleteAfterRun = schedule.kind === "at" ? true : undefined } = draft;
  const named = withNames(draft);
  return defined<CronJobDraft>({
    ...named,
    deleteAfterRun,
    schedule: completed(schedule, now),
    ...(named.sessionTarget === "isolated" && draft.delivery === undefined ? deliveryFrom(payload) : {}),
  });
}

/** With the defaults of what every job has. */
function withNames(draft: Draft): CronJobDraft {
  const { payload, name = nameFrom(payload), sessionTarget } = draft;
  const target = sessionTarget ?? (payload.kind === "systemEvent" ? "main" : "isolated");
  return { enabled: true, wakeMode: "now", ...draft, name, sessionTarget: target };
}

/** Whether older clients put a delivery into the payload. */
function hasHints(payload: Draft["payload"]): boolean {
  if (payload.kind !== "agentTurn") return false;
  const { deliver, channel, to, bestEffortDeliver } = payload;
  return [deliver, channel, to, bestEffortDeliver].some((hint) => hint !== undefined);
}

/** An agent turn is announced by default; older clients put the delivery into its payload. */
function deliveryFrom(payload: Draft["payload"]): Pick<CronJobDraft, "delivery" | "payload"> {
  if (payload.kind !== "agentTurn") return { payload };
  const { deliver, channel, to, bestEffortDeliver, ...turn } = payload;
  const mode = deliver === false ? "none" : "announce";
  const delivery = defined<NonNullable<Draft["delivery"]>>({ mode, channel, to, bestEffort: bestEffortDeliver });
  return { delivery, payload: turn };
}

/** The first line of the job's text or message. */
function nameFrom(payload: Draft["payload"]): string {
  const [line = ""] = (payload.kind === "systemEvent" ? payload.text : payload.message).split(/\r?\n/, 1);
  return cut(line.trim(), NAME_CHARS);
}

/** The schema with only the given kind of schedule and payload, so that errors do not mention the other kinds. */
function byKind(properties: Readonly<Record<string, TSchema>>, value: unknown): TSchema {
  const given = isFields(value) ? value : {};
  const narrowed = Object.entries(properties).map(([key, schema]) => {
    const field = given[key];
    return [key, (key === "schedule" || key === "payload") && isFields(field) ? oneKind(schema, field) : schema];
  });
  return Strict(Object.fromEntries(narrowed) as Record<string, TSchema>);
}

/** A member of a union of objects that differ by `kind`. */
interface OneKind {
  readonly properties: { readonly kind: { readonly const: string } };
}

/** @param union of objects that differ by `kind` */
function oneKind(union: TSchema, { kind }: Fields): TSchema {
  const { anyOf = [] } = union as { readonly anyOf?: readonly OneKind[] }; // as the contract has them
  const kinds = anyOf.map(({ properties }) => properties.kind.const);
  return (
    (anyOf[kinds.findIndex((one) => one === kind)] as TSchema | undefined) ?? Type.Object({ kind: Type.Enum(kinds) })
  );
}

/** Refuses objects with too many keys, which are slow to validate. @throws GatewayError `INVALID_REQUEST` */
function boundKeys(value: unknown, method: Method, levels = 4): void {
  if (!isFields(value) || levels === 0) return;
  const children = Object.values(value);
  if (children.length > MOST_KEYS)
    refuse(method, `an object has ${children.length} properties; at most ${MOST_KEYS} are allowed`);
  for (const child of children) boundKeys(child, method, levels - 1);
}

function refuse(method: Method, why: string): never {
  return invalidRequest(`invalid ${method} params: ${why}`);
}
