/** The `Models` service: the current catalogue, and requests to the provider of a model. */
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
import type { ModelAccounts, ModelEvent, ModelPolicy, ModelProvider, ModelRequest, Models } from "@svc/sdk/models";
import type { Secrets } from "@svc/sdk/secrets";
import type { ModelQuotas } from "@svc/sdk/usage";
import { accountsOf, type ConfiguredAccount, withHeaders } from "./accounts.ts";
import { buildCatalogue, type Catalogue, choicesOf, pickModel, refOf } from "./catalogue.ts";
import type { ModelsConfig } from "./config.ts";
import { Cooldowns } from "./cooldown.ts";
import { priced } from "./cost.ts";
import { askInTurn } from "./failover.ts";
import { AccountKeys } from "./keys.ts";
import { type Policy, policyOf } from "./policy.ts";
import { createQuotas } from "./quotas.ts";
import { type Charge, untilFinish } from "./stream.ts";

export interface ModelsOptions {
  readonly config: ModelsConfig;
  readonly providers: ExtensionView<ModelProvider>;
  readonly requestHook: HookEmitter<typeof HOOKS.modelRequest>;
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
  policy(): Policy | undefined;
  /** The configured accounts, in the order of the configuration. */
  accounts(provider: string): readonly ConfiguredAccount[];
}

/** Builds the catalogue for each request, since contributions change with their plugins. */
export function createModels(options: ModelsOptions): ModelDesk {
  const { providers, requestHook, clock } = options;
  const cooldowns = new Cooldowns(clock);
  const keys = new AccountKeys({ secrets: options.secrets ?? (() => undefined), cooldowns });
  let current = settle(options.config);

  const catalogue = () =>
    buildCatalogue(
      current.config,
      providers.list().map(({ id, value }) => ({ id, builtin: value.builtin })),
    );
  const policy = () => policyOf(options.policy?.());
  const accounts = (provider: string) => current.accounts.get(provider) ?? [{ name: provider }];

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
    const charge = chargeTo(providers, contribution, signal);
    const headers = current.headers.get(refOf(model));
    const once = async function* (account: ConfiguredAccount) {
      const full = withHeaders(await keys.open(account, signal), headers);
      const source = await charge(async () => contribution.value.stream(request, full, signal));
      yield* untilFinish(source, { ...request, name: account.name, signal, charge });
    };
    const own = accounts(model.provider);
    await keys.freshen(own, signal);
    const pieces = askInTurn(own, { cooldowns, clock, signal, ask: once, onAnswer });
    for await (const event of pieces) yield priced(event, model);
  }

  return {
    list: () => choicesOf(catalogue(), policy()),
    resolve: (ref, agentId) => pickModel(catalogue(), policy(), ref ?? options.policy?.()?.primary?.(agentId)),
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
        Object.entries(current.config.providers).flatMap(([name, { api }]) =>
          accounts(name).map((account) => ({ api, account })),
        ),
      open: (account, signal) => keys.open(account, signal),
    }),
    get config() {
      return current.config;
    },
    catalogue,
    policy,
    accounts,
  };
}

/** A configuration prepared for requests. */
interface Settled {
  readonly config: ModelsConfig;
  readonly accounts: ReadonlyMap<string, readonly ConfiguredAccount[]>;
  /** Additional headers, by `provider/id`. */
  readonly headers: ReadonlyMap<string, Readonly<Record<string, string>>>;
}

function settle(config: ModelsConfig): Settled {
  const entries = Object.entries(config.providers);
  return {
    config,
    accounts: new Map(entries.map(([name, entry]) => [name, accountsOf(name, entry)])),
    headers: new Map(
      entries.flatMap(([provider, { models }]) =>
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
