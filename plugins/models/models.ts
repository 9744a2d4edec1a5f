/** The `Models` service: the catalogue of now, and questions to the provider that serves a model. */
import {
  type Contribution,
  type ExtensionView,
  type HookEmitter,
  type HOOKS,
  isGatewayError,
  unavailable,
} from "@svc/sdk";
import type { ModelEvent, ModelProvider, ModelRequest, Models, ProviderAccount } from "@svc/sdk/services";
import { buildCatalogue, choicesOf, pickModel, refOf } from "./catalogue.ts";
import type { ModelsConfig } from "./config.ts";
import { type Charge, untilFinish } from "./stream.ts";

export interface ModelsOptions {
  readonly config: ModelsConfig;
  readonly providers: ExtensionView<ModelProvider>;
  readonly requestHook: HookEmitter<typeof HOOKS.modelRequest>;
}

/** Contributions come and go with their plugins, so the catalogue is put together anew at each question. */
export function createModels({ config, providers, requestHook }: ModelsOptions): Models {
  const accounts = new Map(Object.entries(config.providers).map(([name, entry]) => [name, accountOf(name, entry)]));
  const catalogue = () =>
    buildCatalogue(
      config,
      providers.list().map(({ id, value }) => ({ id, builtin: value.builtin })),
    );

  async function* stream(asked: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent, void, void> {
    signal.throwIfAborted();
    const request = requestHook.isUsed() ? await requestHook.emit(asked) : asked;
    signal.throwIfAborted();
    const { provider, api } = request.model;
    const contribution = providers.get(api);
    if (!contribution) {
      unavailable(
        `model "${refOf(request.model)}" cannot be asked: no enabled plugin contributes the model provider "${api}"`,
      );
    }
    const account = accounts.get(provider) ?? { name: provider };
    const charge = chargeTo(providers, contribution, signal);
    const source = await charge(async () => contribution.value.stream(request, account, signal));
    yield* untilFinish(source, { name: provider, signal, charge });
  }

  return { list: () => choicesOf(catalogue()), resolve: (ref) => pickModel(catalogue(), ref), stream };
}

function accountOf(name: string, entry: ModelsConfig["providers"][string]): ProviderAccount {
  const { baseUrl, apiKey, headers } = entry;
  return { name, baseUrl, ...(apiKey === undefined ? {} : { apiKey }), ...(headers ? { headers } : {}) };
}

/**
 * Runs work in the contributor's name. Refusals and aborts pass by uncharged: a server that is down or a wrong key is
 * no fault of the plugin that says so.
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
