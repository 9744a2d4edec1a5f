/** The handlers of the namespace `models`. */
import {
  type Clock,
  type ExtensionView,
  type Handlers,
  isGatewayError,
  lazy,
  type Logger,
  unavailable,
} from "@svc/sdk";
import type { ModelProvider, ModelRequest, models, ResolvedModel, Usage } from "@svc/sdk/models";
import { hasKey } from "./asking/accounts.ts";
import { byName, isAllowed, knownOf, refOf, usable } from "./catalogue/catalogue.ts";
import { KNOWN_SERVERS } from "@svc/kit/providers";
import type { FailedAccount } from "./asking/cooldown.ts";
import type { ModelDesk } from "./models.ts";
import { authOf } from "./catalogue/listed.ts";
import { aliasesOf } from "./catalogue/policy.ts";

type Contract = typeof models;
type Status = Awaited<ReturnType<Handlers<Contract>["status"]>>;

export interface MethodsOptions {
  readonly desk: ModelDesk;
  readonly providers: ExtensionView<ModelProvider>;
  readonly clock: Pick<Clock, "now" | "elapsed" | "setTimeout">;
  readonly log: Logger;
  /** The environment of the gateway. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

const scanning = lazy(() => import("./discovery/scan.ts"));

export function createHandlers({ desk, providers, clock, log, env }: MethodsOptions): Handlers<Contract> {
  return {
    async list({ params: { agentId, view } }) {
      await desk.discover();
      try {
        return { models: [...desk.choices(agentId, view === "all")] };
      } catch (error) {
        if (isGatewayError(error)) throw error;
        log.error({ err: error }, "models.list failed");
        return unavailable("the models cannot be listed; see the log for the reason");
      }
    },

    authStatus() {
      const { providers: named } = desk.config;
      return { ts: clock.now(), providers: Object.keys(named).map((name) => authOf(name, desk)) };
    },

    status({ params }) {
      const resolved = params.model === undefined ? {} : { resolved: refOf(desk.resolve(params.model)) };
      return { ...statusOf(desk), ...resolved };
    },

    async known() {
      await desk.discover();
      return knownModels(desk);
    },

    async scan({ params, signal }) {
      const { scan } = await scanning();
      return scan(params, { desk, providers, clock, env }, signal);
    },

    async test({ params, signal }) {
      const request = testRequest(desk.resolve(params.model), clock.now());
      const startedAt = clock.elapsed();
      let account = "";
      let firstAt: number | undefined;
      let text = "";
      let usage: Usage | undefined;
      for await (const event of desk.ask(request, signal, ({ name }) => (account = name))) {
        firstAt ??= clock.elapsed();
        if (event.type === "text") text += event.delta;
        if (event.type === "finish") usage = event.usage;
      }
      const endedAt = clock.elapsed();
      const { cost, ...tokens } = usage ?? {};
      return {
        model: refOf(request.model),
        account,
        text,
        firstTokenMs: Math.round((firstAt ?? endedAt) - startedAt),
        durationMs: Math.round(endedAt - startedAt),
        ...(usage ? { usage: tokens as Omit<Usage, "cost"> } : {}),
        ...(cost ? { cost: cost.total } : {}),
      };
    },
  };
}

/** A request with a short answer. Choice: no thinking and no tools, to keep it cheap. */
function testRequest(model: ResolvedModel, timestamp: number): ModelRequest {
  const content = [{ type: "text", text: "Reply with the single word: ok" }] as const;
  return { model, system: "", messages: [{ role: "user", content, timestamp }], tools: [], thinking: "off" };
}

function knownModels(desk: ModelDesk): Awaited<ReturnType<Handlers<Contract>["known"]>> {
  const catalogue = desk.catalogue();
  const policy = desk.policy();
  const facts = desk.facts();
  const restricted = (model: ResolvedModel) => (isAllowed(policy, model) ? "usable" : "restricted");
  const others = facts.places
    .filter((place) => Object.hasOwn(KNOWN_SERVERS, place) && !desk.server(place))
    .flatMap((place) =>
      facts.offered(place).map((id) => ({ id, name: id, api: "", ...facts.find(place, id), provider: place })),
    );
  const all = [
    ...usable(catalogue).map((model) => ({ ...knownOf(model), state: restricted(model) }) as const),
    ...catalogue.unservable.map((model) => ({ ...knownOf(model), state: "unsupported" }) as const),
    ...others.map((model) => ({ ...knownOf(model), state: "unconfigured" }) as const),
  ];
  return { asOf: [...facts.days], models: all.sort(byName) };
}

function statusOf(desk: ModelDesk): Status {
  const catalogue = desk.catalogue();
  const policy = desk.policy();
  const fallback = desk.first();
  const all = [...usable(catalogue), ...catalogue.unservable];
  const names = new Set([...Object.keys(desk.config.providers), ...all.map(({ provider }) => provider)]);
  return {
    ...(fallback === undefined ? {} : { default: fallback }),
    restricted: policy !== undefined,
    aliases: aliasesOf(policy),
    providers: [...names].sort().map((name) => {
      const own = all.filter(({ provider }) => provider === name);
      const api = desk.server(name)?.api ?? own[0]?.api ?? name;
      return {
        name,
        api,
        usable: catalogue.kinds.includes(api),
        models: own.length,
        accounts: desk.accounts(name).map((account) => ({
          name: account.name,
          hasKey: hasKey(account),
          ...coolingOf(desk, account.name),
        })),
      };
    }),
  };
}

function coolingOf({ cooldowns }: ModelDesk, account: string) {
  const until = cooldowns.until(account);
  const failure = cooldowns.failureOf(account);
  return {
    ...(until === undefined ? {} : { coolingUntil: until }),
    ...(failure ? { lastFailure: failureOf(failure) } : {}),
  };
}

function failureOf({ kind, status, at, count }: FailedAccount) {
  return { kind, at, count, ...(status === undefined ? {} : { status }) };
}
