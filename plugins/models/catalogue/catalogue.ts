/** Lists models and resolves references. No I/O; `models.ts` calls models. */
import { knownServer } from "@svc/kit/providers";
import { invalidRequest, notFound } from "@svc/sdk";
import { nearestName } from "@svc/sdk/errors";
import type { KnownModel, ModelChoice, ModelProvider, ResolvedModel } from "@svc/sdk/models";
import type { ModelsConfig } from "../config.ts";
import { createFactBook, type FactBook, withFacts } from "./facts.ts";
import { type Server, serversOf } from "./servers.ts";
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
  /** Models of local servers that need no configuration. */
  readonly found: readonly ResolvedModel[];
  /** Built-in models, which need no configuration, in the order of their plugins. */
  readonly builtin: readonly ResolvedModel[];
  readonly kinds: readonly string[];
  /** A model that no list contains, of a provider without a list; `undefined`: the provider has a list, or is unknown. */
  unlisted(ref: string): ResolvedModel | undefined;
}

type ModelFields = Pick<ResolvedModel, "id"> & Partial<ResolvedModel>;

/** What is known in addition to the configuration. */
export interface Knowledge {
  /** Default: no facts. */
  readonly facts?: FactBook;
  /** Servers that were found without being configured, by name. Default: none. */
  readonly local?: ReadonlyMap<string, Server>;
  /** Models read from local servers, by provider. Default: none. */
  readonly read?: ReadonlyMap<string, readonly ModelFields[]>;
  /** References to models that must be listed if they can be used. Default: none. */
  readonly named?: readonly string[];
}

/**
 * Combines configured models with those contributed by plugins, and those of local servers. A configured model hides a
 * built-in one of the same name.
 */
export function buildCatalogue(config: ModelsConfig, kinds: readonly Kind[], knowledge: Knowledge = {}): Catalogue {
  const {
    facts = createFactBook([]),
    local = new Map<string, Server>(),
    read = new Map<string, readonly ModelFields[]>(),
    named = [],
  } = knowledge;
  const servers = serversOf(config);
  const modelOf = (provider: string, { api, place }: Server, fields: ModelFields) =>
    withFacts({ name: fields.id, ...fields, provider, api: fields.api ?? api }, facts.find(place, fields.id));
  const modelsOf = (name: string, server: Server): readonly ResolvedModel[] => {
    const { entry, place } = server;
    if (entry.models) {
      return entry.models.map(({ headers: _headers, compat: _compat, ...fields }) =>
        complete(modelOf(name, server, fields)),
      );
    }
    const known = read.get(name) ?? facts.offered(place ?? name).map((id) => ({ id }));
    const listed = new Set(known.map(({ id }) => id));
    const wanted = named.flatMap((ref) => (ref.startsWith(`${name}/`) ? [ref.slice(name.length + 1)] : []));
    const more = wanted.filter((id) => id !== "" && !listed.has(id)).map((id) => ({ id }));
    return [...known, ...more].map((fields) => modelOf(name, server, fields));
  };
  const all = [...servers].flatMap(([name, server]) => modelsOf(name, server));
  const ids = kinds.map((kind) => kind.id);
  const taken = new Set(all.map(refOf));
  const isOpen = config.mode !== "replace";
  const other = isOpen ? [...local].filter(([name]) => !servers.has(name)) : [];
  const builtin = kinds.flatMap(builtinModels);
  return {
    defaultRef: config.default,
    configured: all.filter((model) => ids.includes(model.api)),
    unservable: all.filter((model) => !ids.includes(model.api)),
    found: other.flatMap(([name, server]) => modelsOf(name, server)).filter((model) => ids.includes(model.api)),
    builtin: isOpen ? builtin.filter((model) => !taken.has(refOf(model))) : [],
    kinds: ids,
    unlisted(ref) {
      const [, name = "", id = ""] = /^([^/]+)\/(.+)$/su.exec(ref) ?? [];
      const server = servers.get(name) ?? new Map(other).get(name);
      return server && !server.entry.models ? modelOf(name, server, { id }) : undefined;
    },
  };
}

/** With the defaults of a configured model, where neither the configuration nor the facts say more. */
function complete({ reasoning = false, input = ["text"], ...model }: ResolvedModel): ResolvedModel {
  return { ...model, reasoning, input };
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
  return allowedOf(catalogue, policy).map(choiceOf);
}

/** The models of `choicesOf`. */
export function allowedOf(catalogue: Catalogue, policy?: Policy): ResolvedModel[] {
  const all = usable(catalogue);
  const allowed = policy ? all.filter((model) => policy.has(refOf(model))) : all;
  return (allowed.length > 0 ? allowed : all).toSorted(byName);
}

type NamedModel = Pick<ModelChoice, "provider" | "name" | "id">;

/** By provider, then name. */
export function byName(a: NamedModel, b: NamedModel): number {
  return (
    a.provider.localeCompare(b.provider, "en") || a.name.localeCompare(b.name, "en") || a.id.localeCompare(b.id, "en")
  );
}

/** A model with what is known about it. */
export function knownOf(model: ResolvedModel): KnownModel {
  const { maxTokens, cost } = model;
  return {
    ...choiceOf(model),
    ...(maxTokens === undefined ? {} : { maxTokens }),
    ...(cost === undefined ? {} : { cost: { ...cost } }),
  };
}

export function choiceOf({ provider, id, name, contextWindow, reasoning, input }: ResolvedModel): ModelChoice {
  const choice: ModelChoice = { id, name, provider };
  if (contextWindow !== undefined) choice.contextWindow = contextWindow;
  if (reasoning !== undefined) choice.reasoning = reasoning;
  if (input !== undefined) choice.input = [...input];
  return choice;
}

/**
 * Resolves `ref`: `<provider>/<id>` (split at the first slash, since ids may contain slashes), an alias in any case, or
 * a bare id that only one model has. A provider without a list of models accepts any id. Absent: `models.default`, else the first configured model, else the first built-in
 * model. Choice: a model of a local server that nobody configured is only used where a reference names it, since any process may
 * listen there. Choice: refuses if no plugin contributes the `api` of any configured model; a built-in model would hide the
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

export function isAllowed(policy: Policy | undefined, model: ResolvedModel): boolean {
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
  const unlisted = catalogue.unlisted(id);
  if (unlisted && catalogue.kinds.includes(unlisted.api)) return unlisted;
  const blocked = catalogue.unservable.find((model) => model.id === id) ?? unlisted;
  if (blocked) return refuseUnservable(catalogue, blocked);
  const names = usable(catalogue).flatMap((model) => [refOf(model), model.id]);
  const meant = nearestName(id, [...names, ...aliasesOf(policy).map(({ alias }) => alias)]);
  const hint = meant === undefined ? connecting(catalogue, id) : `. Did you mean ${meant}?`;
  return notFound(`no model "${id}"${configuredBy(catalogue, id)}; ${available(catalogue, policy)}${hint}`);
}

/** How to connect the public server of a reference, if its provider is not configured. */
function connecting(catalogue: Catalogue, ref: string): string {
  const [, name = ""] = /^([^/]+)\//u.exec(ref) ?? [];
  const isConfigured = [...usable(catalogue), ...catalogue.unservable].some(({ provider }) => provider === name);
  const hasKey = (knownServer(name)?.env.length ?? 0) > 0;
  return hasKey && !isConfigured ? `. To connect ${name}: svc models auth ${name}` : "";
}

/** The models that can be used, allowed or not. */
export function usable({ configured, found, builtin }: Catalogue): ResolvedModel[] {
  return [...configured, ...found, ...builtin];
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
