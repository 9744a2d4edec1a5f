/** Which models there are and which one a reference means. Decides only; asking a model is `stream.ts`. */
import { invalidRequest, notFound } from "@svc/sdk";
import type { ModelChoice, ModelProvider, ResolvedModel } from "@svc/sdk/services";
import type { ModelsConfig, ProviderEntry } from "./config.ts";

/** A kind of model server that a plugin contributes. */
export interface Kind {
  /** Value of `models.providers.<name>.api`. */
  readonly id: string;
  readonly builtin?: ModelProvider["builtin"];
}

export interface Catalogue {
  /** `models.default` */
  readonly defaultRef: string | undefined;
  /** Configured and servable, in the order of the configuration. */
  readonly configured: readonly ResolvedModel[];
  /** Configured, but no plugin contributes their `api`. */
  readonly unservable: readonly ResolvedModel[];
  /** Models of kinds that need no configuration, in plugin order. */
  readonly builtin: readonly ResolvedModel[];
  readonly kinds: readonly string[];
}

/** Puts the configuration and what plugins contribute together. A configured model hides a built-in one of the same name. */
export function buildCatalogue(config: ModelsConfig, kinds: readonly Kind[]): Catalogue {
  const all = Object.entries(config.providers).flatMap(([name, provider]) => configuredModels(name, provider));
  const ids = kinds.map((kind) => kind.id);
  const taken = new Set(all.map(refOf));
  return {
    defaultRef: config.default,
    configured: all.filter((model) => ids.includes(model.api)),
    unservable: all.filter((model) => !ids.includes(model.api)),
    builtin: kinds.flatMap(builtinModels).filter((model) => !taken.has(refOf(model))),
    kinds: ids,
  };
}

function configuredModels(provider: string, { api, models }: ProviderEntry): ResolvedModel[] {
  return models.map(({ id, name, cost: _cost, ...facts }) => ({ provider, api, id, name: name ?? id, ...facts }));
}

function builtinModels({ id: kind, builtin = [] }: Kind): ResolvedModel[] {
  return builtin.map((choice) => ({ ...choice, provider: kind, api: kind }));
}

/** `<provider>/<id>` */
export function refOf(model: { readonly provider: string; readonly id: string }): string {
  return `${model.provider}/${model.id}`;
}

/** The models that can be used, by provider, then name. Spec: protocol/methods-models.md §1. */
export function choicesOf(catalogue: Catalogue): ModelChoice[] {
  return usable(catalogue)
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
 * The model `ref` means: `<provider>/<id>` (split at the first slash, an id may hold more), else a bare id only one
 * model has. Absent: `models.default`, else the first configured model, else the first built-in one.
 * Choice: with only unservable models configured this refuses; falling back to a built-in one would hide the mistake.
 * @throws GatewayError `NOT_FOUND` when nothing matches, `INVALID_REQUEST` when a bare id matches several.
 */
export function pickModel(catalogue: Catalogue, ref: string | undefined = catalogue.defaultRef): ResolvedModel {
  if (ref === undefined) return firstModel(catalogue);
  const wanted = ref.trim();
  const exact = usable(catalogue).find((model) => refOf(model) === wanted);
  if (exact) return exact;
  const blocked = catalogue.unservable.find((model) => refOf(model) === wanted);
  if (blocked) return refuseUnservable(catalogue, blocked);
  return byBareId(catalogue, wanted);
}

function firstModel(catalogue: Catalogue): ResolvedModel {
  const [first] = catalogue.configured;
  if (first) return first;
  const [blocked] = catalogue.unservable;
  if (blocked) return refuseUnservable(catalogue, blocked);
  return (
    catalogue.builtin[0] ??
    notFound("there is no model: add one under `models.providers.<name>` or enable a plugin that brings one")
  );
}

function byBareId(catalogue: Catalogue, id: string): ResolvedModel {
  const [found, ...others] = usable(catalogue).filter((model) => model.id === id);
  if (found && others.length === 0) return found;
  if (found) {
    const candidates = [found, ...others].map(refOf);
    return invalidRequest(`model "${id}" is ambiguous; say which: ${candidates.join(", ")}`, { candidates });
  }
  const blocked = catalogue.unservable.find((model) => model.id === id);
  if (blocked) return refuseUnservable(catalogue, blocked);
  return notFound(`no model "${id}"${configuredBy(catalogue, id)}; ${available(catalogue)}`);
}

function usable({ configured, builtin }: Catalogue): ResolvedModel[] {
  return [...configured, ...builtin];
}

/** Says where a missing reference comes from when nobody typed it. */
function configuredBy({ defaultRef }: Catalogue, id: string): string {
  return defaultRef?.trim() === id ? " (from `models.default`)" : "";
}

/** At most this many models are named in a refusal. */
const NAMED = 10;

function available(catalogue: Catalogue): string {
  const refs = choicesOf(catalogue).map(refOf);
  if (refs.length === 0) return "there is none at all: add one under `models.providers.<name>`";
  const more = refs.length > NAMED ? `, and ${refs.length - NAMED} more` : "";
  return `available: ${refs.slice(0, NAMED).join(", ")}${more}. See \`svc gateway call models.list\``;
}

function refuseUnservable({ kinds }: Catalogue, model: ResolvedModel): never {
  const known = kinds.length > 0 ? `one of ${kinds.join(", ")}` : "a kind that a plugin contributes (none does now)";
  return notFound(
    `model "${refOf(model)}" cannot be used: no enabled plugin contributes the model provider "${model.api}"; ` +
      `enable the plugin that does, or set models.providers.${model.provider}.api to ${known}`,
  );
}

/** Where a provider lists one id twice: the path below the section, and the id. */
export function duplicateModel(config: ModelsConfig): { path: string; id: string } | undefined {
  for (const [name, { models }] of Object.entries(config.providers)) {
    const index = models.findIndex(({ id }, at) => models.findIndex((other) => other.id === id) < at);
    const twice = models[index];
    if (twice) return { path: `providers.${name}.models[${index}].id`, id: twice.id };
  }
  return undefined;
}
