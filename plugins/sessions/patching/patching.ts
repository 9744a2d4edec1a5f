/** The entry after a `sessions.patch`. Pure; `patch-session.ts` writes. Spec: protocol/methods-sessions.md §5. */
import { invalidRequest, isGatewayError, notFound, type ParamsOf } from "@svc/sdk";
import { refusal } from "@svc/sdk/errors";
import type { SessionEntry, sessions } from "@svc/sdk/sessions";
import { subagentDepth } from "../keys-routing/keys.ts";
import { thinkingOf, WORD_FIELDS, wordOf } from "./levels.ts";
import { applies, isMarksOnly, keptMarks, type MarkContext, markFields } from "./marks.ts";
import { chooseModel, type ChosenModel, defaultModel, isDefault, type ModelSources } from "./model-choice.ts";

export type PatchParams = ParamsOf<typeof sessions.patch>;
type Fields = Record<string, unknown>;

export interface PatchContext extends ModelSources, MarkContext {
  /** Id of the session, if it must be created. */
  readonly sessionId: string;
}

/** Fields of the last run about its model; outdated once another model is chosen. */
const RUNTIME_MODEL = [
  "model",
  "modelProvider",
  "contextTokens",
  "fallbackNoticeSelectedModel",
  "fallbackNoticeActiveModel",
  "fallbackNoticeReason",
];

/** The trimmed label of a patch. @throws GatewayError `INVALID_REQUEST` for a blank one */
export function labelOf({ label }: PatchParams): string | undefined {
  const text = label?.trim();
  if (text === "") invalidRequest("the label is blank; give 1 to 64 characters, or null to clear it");
  return text;
}

/**
 * The entry after the patch; a new one when there was none; `old` itself if nothing changes.
 * @throws GatewayError `INVALID_REQUEST`, `CONFLICT` or, for models, `UNAVAILABLE`; `NOT_FOUND` for marks of a missing session
 */
export function patched(old: SessionEntry | undefined, params: PatchParams, context: PatchContext): SessionEntry {
  const isMarked = isMarksOnly(params);
  if (isMarked && !old) notFound(`no session "${context.key}"; see sessions.list`);
  if (!applies(old, params, context.key) && old) return old;
  const marks = markFields(old, params, context);
  if (isMarked && old) return Object.keys(marks).length === 0 ? old : withoutAbsent({ ...old, ...marks });
  const fields: Fields = {
    ...old,
    ...keptMarks(old, context.now),
    ...marks,
    ...plainFields(params),
    ...wordFields(params),
    ...lineage(old, params, context.key),
    ...modelFields(params, context),
  };
  const entry = { ...fields, sessionId: old?.sessionId ?? context.sessionId, updatedAt: context.now };
  return withoutAbsent({ ...entry, ...thinkingField(entry, params, context) });
}

function plainFields(params: PatchParams): Fields {
  const { responseUsage, sendPolicy, groupActivation, execNode, category, icon, color } = params;
  return {
    ...("category" in params && { category: category?.trim() || null }),
    ...("icon" in params && { icon: icon?.trim() || null }),
    ...("color" in params && { color: color?.trim() || null }),
    ...("label" in params && { label: labelOf(params) }),
    ...("sendPolicy" in params && { sendPolicy }),
    ...("groupActivation" in params && { groupActivation }),
    ...("execNode" in params && { execNode: execNode?.trim() || null }),
    // `on` is the old name of `tokens`; `off` is stored as an absent field.
    ...("responseUsage" in params && {
      responseUsage: responseUsage === "on" ? "tokens" : responseUsage === "off" ? null : responseUsage,
    }),
  };
}

function wordFields(params: PatchParams): Fields {
  const given = WORD_FIELDS.filter((field) => params[field] !== undefined);
  return Object.fromEntries(
    given.map((field) => {
      const value = params[field];
      return [field, value === null || value === undefined ? null : wordOf(field, value)];
    }),
  );
}

/** The parent of a session can be set once. */
function lineage(old: SessionEntry | undefined, params: PatchParams, key: string): Fields {
  const fields: Fields = {};
  for (const field of ["spawnedBy", "spawnDepth"] as const) {
    const given = typeof params[field] === "string" ? params[field].trim() : params[field];
    const stored = old?.[field];
    if (given === undefined || (given === null && stored === undefined) || given === stored) continue;
    if (stored !== undefined) invalidRequest(`${field} of "${key}" is already set and cannot be changed; leave it out`);
    if (subagentDepth(key) === 0) invalidRequest(`${field} is for subagent sessions only, not for "${key}"`);
    if (given === "") invalidRequest("spawnedBy is blank; give the key of the session that started this one");
    fields[field] = given;
  }
  return fields;
}

function modelFields({ model }: PatchParams, context: PatchContext): Fields {
  if (model === undefined) return {};
  const cleared = Object.fromEntries(
    ["modelOverride", "providerOverride", ...RUNTIME_MODEL].map((field) => [field, null]),
  );
  if (model === null) return cleared;
  const chosen = chooseModel(model, context);
  if (isDefault(chosen, defaultModel(context))) return cleared;
  return { ...cleared, modelOverride: chosen.id, providerOverride: chosen.provider };
}

/** `xhigh` requires a model that supports it; it becomes `high` when the session changes to another model. */
function thinkingField(entry: Fields, params: PatchParams, context: PatchContext): Fields {
  const { thinkingLevel: given, model } = params;
  if (given === null) return { thinkingLevel: null };
  const level = given === undefined ? entry["thinkingLevel"] : thinkingOf(given);
  if (level !== "xhigh" || (given === undefined && model === undefined)) {
    return given === undefined ? {} : { thinkingLevel: level };
  }
  const used = modelInUse(entry, context);
  if (used?.xhigh) return { thinkingLevel: level };
  if (given === undefined) return { thinkingLevel: "high" };
  const name = used ? `"${used.provider}/${used.id}"` : "the session's model";
  const message = `${name} does not support the thinking level xhigh; use high, or choose another model first`;
  throw refusal("THINKING_NOT_SUPPORTED", message);
}

function modelInUse(entry: Fields, context: PatchContext): ChosenModel | undefined {
  const { modelOverride, providerOverride, model, modelProvider } = entry;
  const [provider, id] = modelOverride ? [providerOverride, modelOverride] : [modelProvider, model];
  if (typeof id !== "string" || id === "") return defaultModel(context);
  const ref = typeof provider === "string" && provider !== "" ? `${provider}/${id}` : id;
  try {
    return chooseModel(ref, { ...context, policy: undefined });
  } catch (error) {
    if (!isGatewayError(error)) throw error;
    return undefined; // a removed model supports no level
  }
}

function withoutAbsent(fields: Fields & Pick<SessionEntry, "sessionId" | "updatedAt">): SessionEntry {
  const present = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null);
  return { ...Object.fromEntries(present), sessionId: fields.sessionId, updatedAt: fields.updatedAt };
}
