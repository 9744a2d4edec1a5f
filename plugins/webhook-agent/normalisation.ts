/** Validates the fields of a request one by one, before any policy check. Pure. Spec: http/webhooks.md §5.1. */
import { invalidRequest } from "@svc/sdk";
import type { Delivery } from "@svc/sdk/channels";
import { externalLine } from "@svc/sdk/external-content";
import { type ModelPolicy, parseThinkingLevel, THINKING_LEVELS } from "@svc/sdk/models";
import type { WebhookActionContext, WebhookFields } from "@svc/sdk/webhooks";
import { type AgentParams, WAKE_MODES } from "./fields.ts";

/** Choice: most characters of a name. */
const MAX_NAME_CHARS = 80;
/** Longest timer in seconds: more than 24 days. */
const MAX_SECONDS = 2_147_483;
/** Choice: most models listed in a refusal. */
const NAMED_MODELS = 10;

export interface NormalisationContext {
  readonly source: WebhookActionContext["source"];
  /** Absent: no plugin delivers to channels. */
  readonly delivery: Pick<Delivery, "channels" | "channelId"> | undefined;
  readonly allowedModels: ReturnType<ModelPolicy["allowed"]>;
}

/** Validated fields; `agentId` and `sessionKey` are still as requested. */
export interface Normalised extends Omit<AgentParams, "agentId" | "sessionKey"> {
  readonly agentId: string | undefined;
  readonly sessionKey: string | undefined;
}

/** @throws GatewayError `INVALID_REQUEST` that names the field */
export function normalise(
  fields: WebhookFields,
  { source, delivery, allowedModels }: NormalisationContext,
): Normalised {
  const isMapping = source === "mapping";
  const message = trimmed(fields["message"]);
  if (message === undefined) invalidRequest(isMapping ? "hook mapping requires message" : "message required");
  const wakeMode = wakeModeOf(fields["wakeMode"], isMapping);
  const channel = channelOf(fields["channel"], delivery);
  const model = modelOf(fields["model"], isMapping, allowedModels);
  const thinking = thinkingOf(fields["thinking"]);
  const to = trimmed(fields["to"]);
  const timeoutSeconds = secondsOf(fields["timeoutSeconds"]);
  return {
    message,
    name: nameOf(fields["name"]),
    agentId: trimmed(fields["agentId"]),
    sessionKey: trimmed(fields["sessionKey"]),
    wakeMode,
    deliver: fields["deliver"] !== false,
    channel,
    ...(to === undefined ? {} : { to }),
    ...(model === undefined ? {} : { model }),
    ...(thinking === undefined ? {} : { thinking }),
    ...(timeoutSeconds === undefined ? {} : { timeoutSeconds }),
  };
}

/** `undefined` for a blank text and for any other type. */
function trimmed(value: unknown): string | undefined {
  return (typeof value === "string" && value.trim()) || undefined;
}

/** One line, since the name is outside the markers of the message. */
function nameOf(value: unknown): string {
  return externalLine(typeof value === "string" ? value : "", MAX_NAME_CHARS) || "Hook";
}

/** Choice: an unknown mode is refused, although in the facts it means `now`. Spec: spec/README.md. */
function wakeModeOf(value: unknown, isMapping: boolean): AgentParams["wakeMode"] {
  if (value === undefined || value === null) return "now";
  const word = typeof value === "string" ? value.trim() : value;
  if (word === "" && isMapping) return "now"; // a template with an empty result
  return WAKE_MODES.find((mode) => mode === word) ?? invalidRequest(`wakeMode must be ${WAKE_MODES.join(" or ")}`);
}

function channelOf(value: unknown, delivery: NormalisationContext["delivery"]): string {
  if (value === undefined || value === null) return "last";
  const name = typeof value === "string" ? value.trim().toLowerCase() : "";
  if (name === "last") return "last";
  const channels = delivery?.channels() ?? [];
  const id = name === "" ? undefined : delivery?.channelId(name);
  if (id !== undefined && channels.includes(id)) return id;
  return invalidRequest(`channel must be ${["last", ...channels].join("|")}`);
}

function modelOf(
  value: unknown,
  isMapping: boolean,
  allowed: NormalisationContext["allowedModels"],
): string | undefined {
  if (value === undefined) return undefined;
  const model = trimmed(value);
  if (model === undefined) return isMapping && isBlank(value) ? undefined : invalidRequest("model required");
  if (!allowed || allowed.size === 0 || isAllowed(model, allowed)) return model;
  const names = [...allowed.keys()];
  const more = names.length > NAMED_MODELS ? `, and ${names.length - NAMED_MODELS} more` : "";
  return invalidRequest(
    `model "${model.slice(0, 200)}" is not allowed: add it to agents.defaults.models, or choose one of ` +
      `${names.slice(0, NAMED_MODELS).join(", ")}${more}`,
  );
}

/** Whether the model is listed: by full reference, by alias in any case, or by bare id. */
function isAllowed(model: string, allowed: NonNullable<NormalisationContext["allowedModels"]>): boolean {
  const alias = model.toLowerCase();
  return [...allowed].some(
    ([ref, entry]) =>
      ref === model || ref.slice(ref.indexOf("/") + 1) === model || entry.alias?.trim().toLowerCase() === alias,
  );
}

/** The value of a template with an empty result. */
function isBlank(value: unknown): boolean {
  return value === null || (typeof value === "string" && value.trim() === "");
}

/** Choice: an unknown level is refused. Spec: spec/README.md. */
function thinkingOf(value: unknown): AgentParams["thinking"] {
  if (value === undefined || isBlank(value)) return undefined;
  const level = typeof value === "string" ? parseThinkingLevel(value) : undefined;
  return level ?? invalidRequest(`thinking must be one of ${THINKING_LEVELS.join(", ")}`);
}

/** Choice: less than a second counts as one, since 0 would mean no limit. */
function secondsOf(value: unknown): number | undefined {
  if (typeof value !== "number" || !Number.isFinite(value) || value <= 0) return undefined;
  return Math.min(Math.max(1, Math.floor(value)), MAX_SECONDS);
}
