/** The handlers of the namespace `models`. */
import { type Clock, type Handlers, isGatewayError, type Logger, unavailable } from "@svc/sdk";
import type { ModelRequest, models, ResolvedModel, Usage } from "@svc/sdk/models";
import { hasKey } from "./accounts.ts";
import { refOf } from "./catalogue.ts";
import type { FailedAccount } from "./cooldown.ts";
import type { ModelDesk } from "./models.ts";
import { aliasesOf } from "./policy.ts";

type Contract = typeof models;
type Status = Awaited<ReturnType<Handlers<Contract>["status"]>>;

export interface MethodsOptions {
  readonly desk: ModelDesk;
  readonly clock: Pick<Clock, "now" | "elapsed">;
  readonly log: Logger;
}

export function createHandlers({ desk, clock, log }: MethodsOptions): Handlers<Contract> {
  return {
    list() {
      try {
        return { models: desk.list() };
      } catch (error) {
        if (isGatewayError(error)) throw error;
        log.error({ err: error }, "models.list failed");
        return unavailable("the models cannot be listed; see the log for the reason");
      }
    },

    status({ params }) {
      const resolved = params.model === undefined ? {} : { resolved: refOf(desk.resolve(params.model)) };
      return { ...statusOf(desk), ...resolved };
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

function statusOf(desk: ModelDesk): Status {
  const catalogue = desk.catalogue();
  const policy = desk.policy();
  const fallback = defaultOf(desk);
  const all = [...catalogue.configured, ...catalogue.unservable, ...catalogue.builtin];
  const names = new Set([...Object.keys(desk.config.providers), ...all.map(({ provider }) => provider)]);
  return {
    ...(fallback === undefined ? {} : { default: fallback }),
    restricted: policy !== undefined,
    aliases: aliasesOf(policy),
    providers: [...names].sort().map((name) => {
      const own = all.filter(({ provider }) => provider === name);
      const api = desk.config.providers[name]?.api ?? own[0]?.api ?? name;
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

/** The default model; `undefined`: there is no model, and `resolve` throws the reason. */
function defaultOf(desk: ModelDesk): string | undefined {
  try {
    return refOf(desk.resolve());
  } catch (error) {
    if (isGatewayError(error)) return undefined;
    throw error;
  }
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
