/** The `Models` service: the current catalogue, and requests to the provider of a model. */
import { AnySignal } from "@svc/kit/time";
import {
  type Clock,
  type Contribution,
  type ExtensionView,
  type HookEmitter,
  type HOOKS,
  isGatewayError,
  notFound,
  unavailable,
} from "@svc/sdk";
import type {
  ModelAccounts,
  ModelEvent,
  ModelFacts,
  ModelPolicy,
  ModelProvider,
  ModelRequest,
  Models,
  ProviderAccount,
  ResolvedModel,
} from "@svc/sdk/models";
import type { Secrets } from "@svc/sdk/secrets";
import type { ModelQuotas } from "@svc/sdk/usage";
import { accountsOf, type ConfiguredAccount, withHeaders } from "./asking/accounts.ts";
import { allowedOf, buildCatalogue, type Catalogue, choicesOf, pickModel, refOf } from "./catalogue/catalogue.ts";
import type { ModelsConfig } from "./config.ts";
import { Cooldowns } from "./asking/cooldown.ts";
import { priced } from "./asking/cost.ts";
import { askInTurn } from "./asking/failover.ts";
import { AccountKeys } from "./asking/keys.ts";
import { createFactBook, type FactBook } from "./catalogue/facts.ts";
import { type AccountView, listedOf } from "./catalogue/listed.ts";
import { type Server, serversOf } from "./catalogue/servers.ts";
import { type Policy, policyOf } from "./catalogue/policy.ts";
import type { Discovery } from "./discovery/discovery.ts";
import { createQuotas } from "./asking/quotas.ts";
import { type Charge, untilFinish } from "./asking/stream.ts";

export interface ModelsOptions {
  readonly config: ModelsConfig;
  readonly providers: ExtensionView<ModelProvider>;
  readonly requestHook: HookEmitter<typeof HOOKS.modelRequest>;
  /** Public facts about models. Default: none. */
  readonly facts?: ExtensionView<ModelFacts>;
  /** Finds the models of local servers. Default: none are looked for. */
  readonly discovery?: Discovery;
  /** The current policy. Default: all models are allowed. */
  readonly policy?: () => ModelPolicy | undefined;
  /** The current service that resolves key references. Default: none. */
  readonly secrets?: () => Pick<Secrets, "reveal"> | undefined;
  readonly clock: Pick<Clock, "now" | "setTimeout">;
}

/** The service, and the functions for this plugin's methods. */
export interface ModelDesk extends Models, ModelAccounts {
  /** Like `stream`, and also calls `onAnswer` with the answering account. */
  ask(
    request: ModelRequest,
    signal: AbortSignal,
    onAnswer?: (account: ConfiguredAccount) => void,
  ): AsyncIterable<ModelEvent>;
  /** Uses another configuration from the next request on; active requests are not affected. */
  reconfigure(config: ModelsConfig): void;
  readonly cooldowns: Cooldowns;
  readonly quotas: ModelQuotas;
  /** The current configuration. */
  readonly config: ModelsConfig;
  catalogue(): Catalogue;
  /** Public facts about models, parsed on first use. */
  facts(): FactBook;
  /** The configured providers and the local servers. */
  server(provider: string): Server | undefined;
  /** Looks for local servers; see `Discovery.refresh`. @param again even if it did a moment ago */
  discover(again?: boolean): Promise<void>;
  /** The models read from a local server; `undefined`: it is none, or has not answered. */
  readFrom(provider: string): readonly ResolvedModel[] | undefined;
  /** An account with its key. @throws GatewayError `UNAVAILABLE` without the key */
  open(account: ConfiguredAccount, signal: AbortSignal): Promise<ProviderAccount>;
  policy(): Policy | undefined;
  /** `provider/id` of the agent's first model; `undefined`: there is none, and `resolve` throws the reason. */
  first(agentId?: string): string | undefined;
  /** The configured accounts, in the order of the configuration. */
  accounts(provider: string): readonly ConfiguredAccount[];
}

/** Builds the catalogue for each request, since contributions change with their plugins. */
export function createModels(options: ModelsOptions): ModelDesk {
  const { providers, requestHook, clock } = options;
  const cooldowns = new Cooldowns(clock);
  const keys = new AccountKeys({ secrets: options.secrets ?? (() => undefined), cooldowns });
  let current = settle(options.config);

  const { discovery } = options;
  const facts = factsOf(options.facts);
  const local = () => discovery?.local(current.config) ?? new Map<string, Server>();
  const discover = async (again = false) => {
    if (again) discovery?.forget();
    await discovery?.refresh(current.config);
  };
  const policy = () => policyOf(options.policy?.());
  const catalogue = () => {
    const kinds = providers.list().map(({ id, value }) => ({ id, builtin: value.builtin }));
    const named = [
      ...(policy()?.keys() ?? []),
      ...(current.config.default === undefined ? [] : [current.config.default]),
    ];
    return buildCatalogue(current.config, kinds, {
      facts: facts(),
      local: local(),
      ...(discovery ? { read: discovery.read() } : {}),
      named,
    });
  };
  const server = (provider: string) => current.servers.get(provider) ?? local().get(provider);
  const accounts = (provider: string) => {
    const found = current.accounts.get(provider);
    if (found) return found;
    const { entry } = local().get(provider) ?? {};
    return entry ? accountsOf(provider, entry) : [{ name: provider }];
  };
  const resolve = (ref: string | undefined, agentId: string | undefined) => {
    try {
      return pickModel(catalogue(), policy(), ref ?? options.policy?.()?.primary?.(agentId));
    } catch (error) {
      void discover(); // the model may be at a local server: the next attempt finds it
      throw error;
    }
  };

  const first = (agentId?: string): string | undefined => {
    try {
      return refOf(resolve(undefined, agentId));
    } catch (error) {
      if (isGatewayError(error)) return undefined;
      throw error;
    }
  };
  const view: AccountView = { server, accounts, cooldowns };

  async function* ask(
    asked: ModelRequest,
    signal: AbortSignal,
    onAnswer?: (account: ConfiguredAccount) => void,
  ): AsyncGenerator<ModelEvent, void, void> {
    signal.throwIfAborted();
    const request = requestHook.isUsed() ? await requestHook.emit(asked) : asked;
    signal.throwIfAborted();
    const { model } = request;
    const contribution = providers.get(model.api);
    if (!contribution) {
      unavailable(
        `model "${refOf(model)}" cannot be used: no enabled plugin contributes the model provider "${model.api}"`,
      );
    }
    const headers = current.headers.get(refOf(model));
    const idleMs = current.config.idleTimeoutSeconds * 1_000;
    const once = async function* (account: ConfiguredAccount) {
      const full = withHeaders(await keys.open(account, signal), headers);
      const own = new AnySignal(signal); // also aborts if the server is silent
      const charge = chargeTo(providers, contribution, own.signal);
      try {
        const source = await charge(async () => contribution.value.stream(request, full, own.signal));
        yield* untilFinish(source, { ...request, name: account.name, ending: own, charge, clock, idleMs });
      } finally {
        own.release();
      }
    };
    const own = accounts(model.provider);
    await keys.freshen(own, signal);
    const pieces = askInTurn(own, { cooldowns, clock, signal, ask: once, onAnswer });
    for await (const event of pieces) yield priced(event, model);
  }

  return {
    list() {
      void discover();
      return choicesOf(catalogue(), policy());
    },
    choices(agentId, all = false) {
      void discover();
      const now = policy();
      const ref = first(agentId);
      const facts = { view, ...(ref === undefined ? {} : { first: ref }), ...(now ? { policy: now } : {}) };
      return allowedOf(catalogue(), all ? undefined : now).map((model) => listedOf(model, facts));
    },
    resolve,
    first,
    stream: (request, signal) => ask(request, signal),
    coolingUntil: ({ provider }) => {
      const [first] = cooldowns.inOrder(accounts(provider));
      return first && cooldowns.until(first.name);
    },
    async use(provider, work, signal) {
      const own = current.accounts.get(provider);
      if (!own) notFound(`no model provider "${provider}"; add it to models.providers`);
      signal.throwIfAborted();
      await keys.freshen(own, signal);
      const once = async function* (account: ConfiguredAccount) {
        yield { result: await work(await keys.open(account, signal)) };
      };
      for await (const { result } of askInTurn(own, { cooldowns, clock, signal, ask: once })) return result;
      return unavailable(`the model provider "${provider}" has no account; add one to models.providers.${provider}`);
    },
    ask,
    reconfigure(config) {
      const next = settle(config);
      cooldowns.keepOnly(unchanged(current, next));
      current = next;
    },
    cooldowns,
    quotas: createQuotas({
      providers,
      accounts: () =>
        [...current.servers].flatMap(([name, { api }]) => accounts(name).map((account) => ({ api, account }))),
      open: (account, signal) => keys.open(account, signal),
    }),
    get config() {
      return current.config;
    },
    catalogue,
    facts,
    server,
    discover,
    readFrom(provider) {
      const { configured, found } = catalogue();
      const isRead = discovery?.read().has(provider) ?? false;
      return isRead ? [...configured, ...found].filter((model) => model.provider === provider) : undefined;
    },
    open: (account, signal) => keys.open(account, signal),
    policy,
    accounts,
  };
}

/** The facts that plugins contribute; they are parsed again only if they have changed. */
function factsOf(view: ExtensionView<ModelFacts> | undefined): () => FactBook {
  let sources: readonly ModelFacts[] = [];
  let book: FactBook | undefined;
  return () => {
    const now = view?.list().map(({ value }) => value) ?? [];
    const isSame = now.length === sources.length && now.every((value, index) => value === sources[index]);
    if (book && isSame) return book;
    sources = now;
    return (book = createFactBook(now));
  };
}

/** A configuration prepared for requests. */
interface Settled {
  readonly config: ModelsConfig;
  readonly servers: ReadonlyMap<string, Server>;
  readonly accounts: ReadonlyMap<string, readonly ConfiguredAccount[]>;
  /** Additional headers, by `provider/id`. */
  readonly headers: ReadonlyMap<string, Readonly<Record<string, string>>>;
}

function settle(config: ModelsConfig): Settled {
  const servers = serversOf(config);
  const entries = [...servers].map(([name, { entry }]) => [name, entry] as const);
  return {
    config,
    servers,
    accounts: new Map(entries.map(([name, entry]) => [name, accountsOf(name, entry)])),
    headers: new Map(
      entries.flatMap(([provider, { models = [] }]) =>
        models.flatMap(({ id, headers }) => (headers ? [[refOf({ provider, id }), headers] as const] : [])),
      ),
    ),
  };
}

/** Names of unchanged accounts, whose cooldowns stay. An account with a new key counts as changed. */
function unchanged(before: Settled, after: Settled): Set<string> {
  const all = ({ accounts }: Settled) => [...accounts.values()].flat();
  const known = new Map(all(before).map((account) => [account.name, JSON.stringify(account)]));
  const same = all(after).filter((account) => known.get(account.name) === JSON.stringify(account));
  return new Set(same.map(({ name }) => name));
}

/**
 * Runs work and attributes failures to the plugin that contributed the provider. Refusals and aborts are not
 * attributed: an unavailable server or an invalid key is no fault of the plugin.
 */
function chargeTo<T>(view: ExtensionView<T>, contribution: Contribution<T>, signal: AbortSignal): Charge {
  return async (work) => {
    const outcome = await view.call(contribution, async () => {
      try {
        return { value: await work() };
      } catch (thrown) {
        if (isGatewayError(thrown) || signal.aborted) return { thrown };
        throw thrown;
      }
    });
    if ("thrown" in outcome) throw outcome.thrown;
    return outcome.value;
  };
}
