/** Payloads and deliveries in the words of older clients. Pure. Spec: methods-cron.md §2. */
import { defined, type Fields, isBlank, isFields, trimmed, wordOf } from "../fields.ts";

const KINDS = ["systemEvent", "agentTurn"];
const MODES = ["none", "announce", "webhook"];
/** Keys that older clients write beside an agent turn instead of into it. */
const BESIDE = [
  "model",
  "thinking",
  "timeoutSeconds",
  "allowUnsafeExternalContent",
  "deliver",
  "channel",
  "to",
  "bestEffortDeliver",
  "provider",
] as const;
/** What only an agent turn has. */
const TURN_ONLY = ["model", "thinking", "timeoutSeconds", "allowUnsafeExternalContent"];

/** What to do with a text of nothing: a new job leaves it out, a change clears the field with it. */
export type Blanks = "left-out" | "kept";

/** The fields of a job with its payload put right, and without what belongs into it. */
export function withPlainPayload(job: Fields, blanks: Blanks): Fields {
  const { payload: given, ...beside } = payloadOutOf(job);
  if (!isFields(given)) return defined<Fields>({ ...beside, payload: given });
  const payload = { ...given, kind: kindOf(given) };
  if (payload.kind !== "agentTurn") return { ...beside, payload: plainPayload(payload, blanks) };
  const rest: Record<string, unknown> = { ...beside };
  const moved: Record<string, unknown> = {};
  for (const key of BESIDE) {
    if (rest[key] !== undefined) moved[key] = rest[key];
    delete rest[key];
  }
  return { ...rest, payload: plainPayload({ ...moved, ...payload }, blanks) };
}

/** A message or text that stands for the whole payload. */
function payloadOutOf(job: Fields): Fields {
  const { message, text, ...rest } = job;
  if (job["payload"] !== undefined) return job;
  if (!isBlank(message)) return defined<Fields>({ ...rest, text, payload: { kind: "agentTurn", message } });
  return isBlank(text) ? job : defined<Fields>({ ...rest, message, payload: { kind: "systemEvent", text } });
}

function kindOf({ kind, message, text, ...rest }: Fields): unknown {
  if (!isBlank(kind)) return wordOf(KINDS, kind);
  if (!isBlank(message)) return "agentTurn";
  if (!isBlank(text)) return "systemEvent";
  return TURN_ONLY.some((key) => rest[key] !== undefined) ? "agentTurn" : undefined;
}

function plainPayload(payload: Fields, blanks: Blanks): Fields {
  const { provider, ...rest } = payload;
  const channel = isBlank(rest["channel"]) ? (provider ?? rest["channel"]) : rest["channel"];
  return defined<Fields>({
    ...rest,
    text: trimmed(rest["text"]),
    message: trimmed(rest["message"]),
    model: filled(trimmed(rest["model"]), blanks),
    thinking: filled(trimmed(rest["thinking"]), blanks),
    channel: filled(plainChannel(channel), blanks),
    to: filled(trimmed(rest["to"]), blanks),
  });
}

/** A delivery put right. A mode nobody knows stays: so the refusal can name it. */
export function plainDelivery(given: unknown, blanks: Blanks): unknown {
  if (!isFields(given)) return given;
  const { mode, failureDestination } = given;
  return defined<Fields>({
    ...given,
    mode: wordOf(["deliver"], mode) === "deliver" ? "announce" : wordOf(MODES, mode),
    ...plainAddress(given, blanks),
    failureDestination: isFields(failureDestination)
      ? defined<Fields>({ ...failureDestination, ...plainAddress(failureDestination, blanks) })
      : failureDestination,
  });
}

/** Where a message goes, put right. */
export function plainAddress({ channel, to, accountId }: Fields, blanks: Blanks): Fields {
  return {
    channel: filled(plainChannel(channel), blanks),
    to: filled(trimmed(to), blanks),
    accountId: filled(trimmed(accountId), blanks),
  };
}

/**
 * The delivery that an agent turn of older clients asks for, and the payload without what asked for it.
 * @returns `undefined` when it asks for none, or not in words that are allowed
 */
export function deliveryOutOf(payload: Fields): { readonly delivery: Fields; readonly payload: Fields } | undefined {
  const { deliver, channel, to, bestEffortDeliver, ...rest } = payload;
  const texts = [channel, to];
  const flags = [deliver, bestEffortDeliver];
  if ([...texts, ...flags].every((hint) => hint === undefined)) return undefined;
  const isWrong =
    texts.some((text) => text !== undefined && typeof text !== "string") ||
    flags.some((flag) => flag !== undefined && typeof flag !== "boolean");
  if (isWrong) return undefined;
  const mode = deliver === false ? "none" : "announce";
  return { delivery: defined<Fields>({ mode, channel, to, bestEffort: bestEffortDeliver }), payload: rest };
}

function plainChannel(channel: unknown): unknown {
  return typeof channel === "string" ? channel.trim().toLowerCase() : channel;
}

function filled(value: unknown, blanks: Blanks): unknown {
  return blanks === "left-out" && isBlank(value) ? undefined : value;
}
