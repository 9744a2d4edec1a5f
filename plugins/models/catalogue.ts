/** Lists models and resolves references. No I/O; `models.ts` calls models. */
import { invalidRequest, notFound } from "@svc/sdk";
import { nearestName } from "@svc/sdk/errors";
import type { ModelChoice, ModelProvider, ResolvedModel } from "@svc/sdk/models";
import type { ModelsConfig, ProviderEntry } from "./config.ts";
import { aliasesOf, aliasTarget, type Policy, refuseOutside } from "./policy.ts";

/** A kind of model server that a plugin contributes. */
export interface Kind {
  /** Value of `models.providers.<name>.api`. */
  readonly id: string;
  readonly builtin?: ModelProvider["builtin"];
}

export interface Catalogue {
  /** `models.default` */
  readonly defaultRef: string | undefined;
  /** Configured models with a contributed `api`, in the order of the configuration. */
  readonly configured: readonly ResolvedModel[];
  /** Configured models whose `api` no plugin contributes. */
  readonly unservable: readonly ResolvedModel[];
  /** Built-in models, which need no configuration, in the order of their plugins. */
  readonly builtin: readonly ResolvedModel[];
  readonly kinds: readonly string[];
}

/** Combines configured models with those contributed by plugins. A configured model hides a built-in one of the same name. */
export function buildCatalogue(config: ModelsConfig, kinds: readonly Kind[]): Catalogue {
  const all = Object.entries(config.providers).flatMap(([name, provider]) => configuredModels(name, provider));
  const ids = kinds.map((kind) => kind.id);
  const taken = new Set(all.map(refOf));
  const builtin = kinds.flatMap(builtinModels);
  return {
    defaultRef: config.default,
    configured: all.filter((model) => ids.includes(model.api)),
    unservable: all.filter((model) => !ids.includes(model.api)),
    builtin: config.mode === "replace" ? [] : builtin.filter((model) => !taken.has(refOf(model))),
    kinds: ids,
  };
}

function configuredModels(provider: string, { api, models }: ProviderEntry): ResolvedModel[] {
  return models.map(({ id, name, headers: _headers, compat: _compat, ...facts }) => ({
    provider,
    api,
    id,
    name: name ?? id,
    ...facts,
  }));
}

function builtinModels({ id: kind, builtin = [] }: Kind): ResolvedModel[] {
  return builtin.map((choice) => ({ ...choice, provider: kind, api: kind }));
}

/** `<provider>/<id>` */
export function refOf(model: { readonly provider: string; readonly id: string }): string {
  return `${model.provider}/${model.id}`;
}

/**
 * The usable and allowed models, by provider, then name. If no usable model is allowed, all usable models, since an
 * empty list would not explain the reason. Spec: protocol/methods-models.md §1.
 */
export function choicesOf(catalogue: Catalogue, policy?: Policy): ModelChoice[] {
  const all = usable(catalogue);
  const allowed = policy ? all.filter((model) => policy.has(refOf(model))) : all;
  return (allowed.length > 0 ? allowed : all)
    .map(choiceOf)
    .sort(
      (a, b) =>
        a.provider.localeCompare(b.provider, "en") ||
        a.name.localeCompare(b.name, "en") ||
        a.id.localeCompare(b.id, "en"),
    );
}

function choiceOf({ provider, id, name, contextWindow, reasoning, input }: ResolvedModel): ModelChoice {
  const choice: ModelChoice = { id, name, provider };
  if (contextWindow !== undefined) choice.contextWindow = contextWindow;
  if (reasoning !== undefined) choice.reasoning = reasoning;
  if (input !== undefined) choice.input = [...input];
  return choice;
}

/**
 * Resolves `ref`: `<provider>/<id>` (split at the first slash, since ids may contain slashes), an alias in any case, or
 * a bare id that only one model has. Absent: `models.default`, else the first configured model, else the first built-in
 * model. Choice: refuses if no plugin contributes the `api` of any configured model; a built-in model would hide the
 * mistake.
 * @throws GatewayError `NOT_FOUND` when nothing matches, `INVALID_REQUEST` when a bare id matches several or the
 * policy does not allow the model.
 */
export function pickModel(
  catalogue: Catalogue,
  policy?: Policy,
  ref: string | undefined = catalogue.defaultRef,
): ResolvedModel {
  if (ref === undefined) return firstModel(catalogue, policy);
  const wanted = ref.trim();
  const target = find(catalogue, wanted) ? undefined : aliasTarget(policy, wanted);
  return permitted(policy, find(catalogue, target ?? wanted) ?? byBareId(catalogue, target ?? wanted, policy));
}

/** Finds a model by `<provider>/<id>`. */
function find(catalogue: Catalogue, ref: string): ResolvedModel | undefined {
  const blocked = catalogue.unservable.find((model) => refOf(model) === ref);
  return usable(catalogue).find((model) => refOf(model) === ref) ?? (blocked && refuseUnservable(catalogue, blocked));
}

function isAllowed(policy: Policy | undefined, model: ResolvedModel): boolean {
  return policy?.has(refOf(model)) ?? true;
}

/** @throws GatewayError `INVALID_REQUEST` when the policy does not allow it */
function permitted(policy: Policy | undefined, model: ResolvedModel): ResolvedModel {
  return policy && !isAllowed(policy, model) ? refuseOutside(policy, refOf(model)) : model;
}

/** Choice: a gateway with only a built-in model uses it even if it is not allowed, so that it can answer. */
function firstModel(catalogue: Catalogue, policy: Policy | undefined): ResolvedModel {
  const first = catalogue.configured.find((model) => isAllowed(policy, model));
  if (first) return first;
  const [outside] = catalogue.configured;
  if (outside) return permitted(policy, outside);
  const [blocked] = catalogue.unservable;
  if (blocked) return refuseUnservable(catalogue, blocked);
  return (
    catalogue.builtin[0] ??
    notFound("no model is available: add one under `models.providers.<name>`, or enable a plugin that provides one")
  );
}

/** Finds a model by its bare id. If several models have this id, only allowed models count. */
function byBareId(catalogue: Catalogue, id: string, policy: Policy | undefined): ResolvedModel {
  const all = usable(catalogue).filter((model) => model.id === id);
  const allowed = all.filter((model) => isAllowed(policy, model));
  const [found, ...others] = allowed.length > 0 ? allowed : all;
  if (found && others.length === 0) return found;
  if (found) {
    const candidates = [found, ...others].map(refOf);
    return invalidRequest(`model "${id}" is ambiguous; choose one of ${candidates.join(", ")}`, { candidates });
  }
  const blocked = catalogue.unservable.find((model) => model.id === id);
  if (blocked) return refuseUnservable(catalogue, blocked);
  const names = usable(catalogue).flatMap((model) => [refOf(model), model.id]);
  const meant = nearestName(id, [...names, ...aliasesOf(policy).map(({ alias }) => alias)]);
  const hint = meant === undefined ? "" : `. Did you mean ${meant}?`;
  return notFound(`no model "${id}"${configuredBy(catalogue, id)}; ${available(catalogue, policy)}${hint}`);
}

function usable({ configured, builtin }: Catalogue): ResolvedModel[] {
  return [...configured, ...builtin];
}

/** The text that names the setting `models.default`, if the reference comes from that setting. */
function configuredBy({ defaultRef }: Catalogue, id: string): string {
  return defaultRef?.trim() === id ? " (from `models.default`)" : "";
}

/** Maximum number of models named in a refusal. */
const NAMED = 10;

function available(catalogue: Catalogue, policy: Policy | undefined): string {
  const refs = choicesOf(catalogue, policy).map(refOf);
  if (refs.length === 0) return "no model is available: add one under `models.providers.<name>`";
  const more = refs.length > NAMED ? `, and ${refs.length - NAMED} more` : "";
  return `available: ${refs.slice(0, NAMED).join(", ")}${more}. See \`svc models list\``;
}

function refuseUnservable({ kinds }: Catalogue, model: ResolvedModel): never {
  const known = kinds.length > 0 ? `one of ${kinds.join(", ")}` : "a kind that a plugin contributes (currently none)";
  return notFound(
    `model "${refOf(model)}" cannot be used: no enabled plugin contributes the model provider "${model.api}"; ` +
      `enable that plugin, or set models.providers.${model.provider}.api to ${known}`,
  );
}
