/** Resolves the model reference of `sessions.patch`. Spec: protocol/methods-sessions.md §5 row `model`. */
import { isGatewayError, refusal, unavailable } from "@svc/sdk/errors";
import type { ModelPolicy, Models } from "@svc/sdk/models";

/** A chosen model, or the default one. */
export interface ChosenModel {
  readonly provider: string;
  readonly id: string;
  /** It supports the thinking level `xhigh`. */
  readonly xhigh: boolean;
}

export interface ModelSources {
  readonly models: Pick<Models, "resolve"> | undefined;
  readonly policy: ModelPolicy | undefined;
  /** Agent whose first model is the default. */
  readonly agentId: string;
}

/** The default model; `undefined` without one. @throws GatewayError `UNAVAILABLE` without a model catalogue */
export function defaultModel({ models, agentId }: ModelSources): ChosenModel | undefined {
  const known = catalogue(models);
  return found({ resolve: (ref) => known.resolve(ref, agentId) }, undefined);
}

/**
 * The model of `ref`. Without an enforced allowlist, unknown `provider/model` references are accepted, without `xhigh`.
 * @throws GatewayError `INVALID_REQUEST` for a model that is not allowed or unknown, `UNAVAILABLE` without a catalogue
 */
export function chooseModel(ref: string, sources: ModelSources): ChosenModel {
  const models = catalogue(sources.models);
  const allowed = sources.policy?.allowed();
  const wanted = aliased(ref.trim(), allowed);
  const model = found(models, wanted, allowed === undefined ? unknownModel(wanted) : undefined);
  if (!model) throw refusal("UNKNOWN_MODEL", `no model "${ref}"; see models.list`);
  const name = `${model.provider}/${model.id}`;
  if (!allowed || allowed.has(name) || isDefault(model, defaultModel(sources))) return model;
  const names = [...allowed.keys()].join(", ");
  throw refusal("MODEL_NOT_ALLOWED", `model "${name}" is not allowed; allowed models: ${names}; see models.list`);
}

export function isDefault(model: ChosenModel, other: ChosenModel | undefined): boolean {
  return model.provider === other?.provider && model.id === other.id;
}

function catalogue(models: ModelSources["models"]): Pick<Models, "resolve"> {
  return models ?? unavailable("there is no model catalogue; enable the plugin models, then try again");
}

function aliased(ref: string, allowed: ReturnType<ModelPolicy["allowed"]>): string {
  const short = ref.toLowerCase();
  const entry = [...(allowed ?? [])].find(([, { alias }]) => alias?.toLowerCase() === short);
  return entry?.[0] ?? ref;
}

function unknownModel(ref: string): ChosenModel | undefined {
  const [, provider, id] = /^([^/]+)\/(.+)$/.exec(ref) ?? [];
  return provider === undefined || id === undefined ? undefined : { provider, id, xhigh: false };
}

/** @throws GatewayError `INVALID_REQUEST` with the catalogue's message, for an unknown model without `otherwise` */
function found(
  models: Pick<Models, "resolve">,
  ref: string | undefined,
  otherwise?: ChosenModel,
): ChosenModel | undefined {
  try {
    const { provider, id, xhigh = false } = models.resolve(ref);
    return { provider, id, xhigh };
  } catch (thrown) {
    if (!isGatewayError(thrown) || thrown.code === "UNAVAILABLE") throw thrown;
    if (thrown.code === "NOT_FOUND" && otherwise) return otherwise;
    if (ref === undefined) return undefined;
    throw refusal("UNKNOWN_MODEL", thrown.message, Object(thrown.details) as object);
  }
}
