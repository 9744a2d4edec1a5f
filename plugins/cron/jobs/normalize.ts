/** Converts the params of old and new clients to those of the contract. Refuses almost nothing; the schema does. Pure. Spec: methods-cron.md §1-3. */
import { normalizeId } from "@svc/kit/agent-address";
import { invalidRequest } from "@svc/sdk";
import { defined, type Fields, isBlank, isFields } from "../fields.ts";
import { parseMoment } from "../schedule/moment.ts";

export type Method = "cron.add" | "cron.update";
/** Converts one field; `undefined` drops the field. */
type Rule = (value: unknown, method: Method) => unknown;
type Rules = Readonly<Record<string, Rule>>;

/** Keys of an agent turn that older clients put next to the payload instead of into it. */
const BESIDE: ReadonlySet<string> = new Set([
  "model",
  "thinking",
  "timeoutSeconds",
  "allowUnsafeExternalContent",
  "deliver",
  "channel",
  "to",
  "bestEffortDeliver",
  "provider",
]);
/** Keys that only an agent turn has. */
const TURN_ONLY = ["model", "thinking", "timeoutSeconds", "allowUnsafeExternalContent"];

const text: Rule = (value) => (typeof value === "string" ? value.trim() : value);
const filled: Rule = (value, method) => (isBlank(value) ? undefined : text(value, method));
/** A new job leaves a blank text out; a change keeps it, which clears the field, as null does. */
const clearable: Rule = (value, method) => {
  if (method === "cron.add") return filled(value, method);
  return value === null ? "" : text(value, method);
};
const channel: Rule = (value, method) => clearable(typeof value === "string" ? value.toLowerCase() : value, method);
/** One of `words`, in any case; anything else is passed on, so that the error can quote it. */
const word =
  (...words: string[]): Rule =>
  (value) =>
    (typeof value === "string" && words.find((one) => one.toLowerCase() === value.trim().toLowerCase())) || value;
const fields =
  (rules: Rules): Rule =>
  (value, method) =>
    isFields(value) ? normalized(value, rules, method) : value;

const enabled: Rule = (value, method) => {
  const flag = word("true", "false")(value, method);
  return flag === "true" || flag === "false" ? flag === "true" : value;
};
const knownWake = word("now", "next-heartbeat");
/** Spec: §2: a new job ignores a mode it does not know. */
const wakeMode: Rule = (value, method) => {
  const mode = knownWake(value, method);
  return method === "cron.add" && mode !== "now" && mode !== "next-heartbeat" ? undefined : mode;
};
const catchUpMode = word("none", "last", "all");
const catchUp: Rule = (value, method) => (typeof value === "string" ? { mode: catchUpMode(value, method) } : value);
/** Choice: an id without a letter or digit is refused. */
const agentId: Rule = (value, method) => {
  if (typeof value !== "string" || isBlank(value)) return filled(value, method);
  return (
    normalizeId(value, "") || invalidRequest(`invalid ${method} params: at /agentId: must have a letter or a digit`)
  );
};
const at: Rule = (value, method) => {
  const given = typeof value === "number" ? String(value) : value;
  const ms = typeof given === "string" ? parseMoment(given) : undefined;
  return ms === undefined ? text(given, method) : new Date(ms).toISOString();
};
const anyMode = word("none", "announce", "webhook", "deliver");
const mode: Rule = (value, method) => {
  const known = anyMode(value, method);
  return known === "deliver" ? "announce" : known;
};

const threadId: Rule = (value, method) => clearable(typeof value === "number" ? String(value) : value, method);
const address = { channel, to: clearable, accountId: clearable };
const schedule = fields({ kind: word("at", "every", "cron"), at, expr: text, tz: filled });
const job: Rules = {
  isolation: () => undefined, // sent by older clients, ignored
  name: clearable,
  displayName: filled,
  agentId,
  sessionKey: filled,
  enabled,
  sessionTarget: word("main", "isolated"),
  wakeMode,
  overlap: word("skip", "queue", "replace"),
  catchUp,
  schedule: (value, method) => schedule(withScheduleKind(value), method),
  payload: fields({ text, message: text, model: clearable, thinking: clearable, channel, to: clearable }),
  delivery: fields({ mode, ...address, threadId, failureDestination: fields(address) }),
  failureAlert: fields(address),
};

/** @throws GatewayError `INVALID_REQUEST` for an agent id without a letter or a digit */
export function normalizedJob(given: Fields, method: Method): Fields {
  return normalized(withPayload(given), job, method);
}

function normalized(given: Fields, rules: Rules, method: Method): Fields {
  const entries = Object.entries(given).map(([key, value]) => {
    const rule = Object.hasOwn(rules, key) ? rules[key] : undefined;
    return [key, rule ? rule(value, method) : value];
  });
  return defined<Fields>(Object.fromEntries(entries));
}

/** Adds the kind to a schedule of older clients, and renames its fields. */
function withScheduleKind(given: unknown): unknown {
  if (!isFields(given)) return given;
  const { atMs, cron, ...rest } = given;
  const at = isBlank(rest["at"]) ? (atMs ?? rest["at"]) : rest["at"];
  const expr = isBlank(rest["expr"]) ? (cron ?? rest["expr"]) : rest["expr"];
  const implied = Object.entries({ at, every: rest["everyMs"], cron: expr }).find(([, value]) => value !== undefined);
  return { ...rest, kind: isBlank(rest["kind"]) ? implied?.[0] : rest["kind"], at, expr };
}

/** The job with a complete payload: its kind, and the keys that older clients put next to it. */
export function withPayload(given: Fields): Fields {
  const { payload, ...rest } = payloadOf(given);
  if (!isFields(payload)) return defined<Fields>({ ...rest, payload });
  const kind = payloadKind(payload);
  const beside = Object.entries(rest).filter(([key, value]) => BESIDE.has(key) && value !== undefined);
  const moved = kind === "agentTurn" ? Object.fromEntries(beside) : {};
  const { provider, ...whole } = { ...moved, ...payload, kind } as Fields;
  const channel = isBlank(whole["channel"]) ? (provider ?? whole["channel"]) : whole["channel"];
  const others = Object.entries(rest).filter(([key]) => kind !== "agentTurn" || !BESIDE.has(key));
  return { ...Object.fromEntries(others), payload: defined<Fields>({ ...whole, channel }) };
}

/** A `message` or `text` of the job itself becomes the payload when there is none. */
function payloadOf(job: Fields): Fields {
  const { message, text, ...rest } = job;
  if (job["payload"] !== undefined) return job;
  if (!isBlank(message)) return defined<Fields>({ ...rest, text, payload: { message } });
  return isBlank(text) ? job : defined<Fields>({ ...rest, message, payload: { text } });
}

function payloadKind({ kind, message, text, ...rest }: Fields): unknown {
  if (!isBlank(kind)) return word("systemEvent", "agentTurn")(kind, "cron.add");
  if (!isBlank(message)) return "agentTurn";
  if (!isBlank(text)) return "systemEvent";
  return TURN_ONLY.some((key) => rest[key] !== undefined) ? "agentTurn" : undefined;
}
