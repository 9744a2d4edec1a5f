/** Output of the commands. Pure. */
import type { ResultOf } from "@svc/sdk";
import { type DoctorFinding, visible } from "@svc/sdk/cli";
import type { KnownModel, models } from "@svc/sdk/models";

type Listed = ResultOf<typeof models.list>;
type Status = ResultOf<typeof models.status>;
type Account = Status["providers"][number]["accounts"][number];
type Tested = ResultOf<typeof models.test>;

export function listLines({ models: all }: Listed): string[] {
  if (all.length === 0)
    return [
      "No models. Connect a server with svc models add <url>, or add models.providers.<name> to the configuration file.",
    ];
  const width = Math.max(...all.map((model) => refOf(model).length));
  return all.map((model) => [refOf(model).padEnd(width), model.name, ...factsOf(model)].join("  "));
}

const STATES = { usable: "", restricted: "not allowed", unsupported: "no plugin", unconfigured: "no key" } as const;

/** All known models, each with the reason why it cannot be used. */
export function knownLines({ models: all, asOf }: ResultOf<typeof models.known>): string[] {
  const width = Math.max(0, ...all.map((model) => refOf(model).length));
  return [
    ...all.map((model) =>
      [refOf(model).padEnd(width), STATES[model.state].padEnd(11), ...factsOf(model)].join("  ").trimEnd(),
    ),
    ...(asOf.length > 0 ? [`Public facts of ${asOf.join(", ")}; prices in US dollars per million tokens.`] : []),
  ];
}

/** One line for each tested model. */
export function allTestedLines(results: readonly TestedModel[]): string[] {
  return results.map(({ model, error, durationMs, cost }) =>
    error === undefined
      ? `${model}: ok, ${durationMs} ms${cost === undefined ? "" : `, $${cost.toFixed(6)}`}`
      : `${model}: failed: ${visible(error)}`,
  );
}

/** The outcome of a test of one of several models. */
export interface TestedModel {
  readonly model: string;
  readonly error?: string;
  readonly durationMs?: number;
  readonly cost?: number;
}

function refOf({ provider, id }: Pick<KnownModel, "provider" | "id">): string {
  return `${provider}/${id}`;
}

/** The facts in brackets; none without facts. */
export function factsOf({ contextWindow, reasoning, input = [], cost }: Partial<KnownModel>): string[] {
  const facts = [
    ...(contextWindow === undefined ? [] : [`${contextWindow} tokens`]),
    ...(reasoning ? ["thinks"] : []),
    ...(input.includes("image") ? ["images"] : []),
    ...(cost ? [`$${cost.input} in, $${cost.output} out`] : []),
  ];
  return facts.length > 0 ? [`(${facts.join(", ")})`] : [];
}

/** @param now epoch ms */
export function statusLines(status: Status, now: number): string[] {
  return [
    `Default: ${status.default ?? "none; choose one with `svc models set <provider/id>`"}`,
    ...(status.restricted ? ["Restricted: only models in agents.defaults.models are allowed"] : []),
    ...status.aliases.map(({ alias, model }) => `Alias: ${alias} -> ${model}`),
    ...status.providers.flatMap((provider) => [
      `Provider ${provider.name} (${provider.api}): ${provider.models} ${provider.models === 1 ? "model" : "models"}`,
      ...(provider.usable
        ? []
        : [`  cannot be used: no enabled plugin supports ${provider.api}; see \`svc plugins list\``]),
      ...provider.accounts.map((account) => `  ${account.name}: ${accountText(account, now)}`),
    ]),
  ];
}

function accountText({ hasKey, coolingUntil, lastFailure }: Account, now: number): string {
  const key = hasKey ? "" : ", no key";
  if (!lastFailure) return `ready${key}`;
  const { kind, status, count } = lastFailure;
  const why = `${kind}${status === undefined ? "" : ` (${status})`}, ${count} in a row`;
  if (coolingUntil === undefined) return `ready again after ${why}${key}`;
  return `cooling down for ${Math.ceil((coolingUntil - now) / 1000)} s after ${why}${key}`;
}

/**
 * Problems for `svc doctor`: accounts with a rejected key or without credit until their next success, and cooling
 * accounts.
 * @param now epoch ms
 */
export function findingsOf({ providers }: Status, now: number): DoctorFinding[] {
  return providers.flatMap(({ name, accounts }) =>
    accounts.flatMap((account): DoctorFinding[] => {
      const { coolingUntil, lastFailure } = account;
      const isRefused = lastFailure?.kind === "auth" || lastFailure?.kind === "billing";
      if (!lastFailure || (!isRefused && coolingUntil === undefined)) return [];
      const why = lastFailure.kind === "auth" ? "its key was rejected" : "it has no credit";
      return [
        {
          severity: isRefused ? "error" : "warning",
          check: "models",
          about: `provider ${name}, account ${account.name}`,
          message: `${isRefused ? `${why}; ` : ""}${accountText(account, now)}`,
          next: isRefused
            ? `set another key below models.providers.${name}, then: svc models test`
            : "svc models status",
        },
      ];
    }),
  );
}

export function aliasLines({ aliases }: Pick<Status, "aliases">): string[] {
  if (aliases.length === 0) {
    return ['No aliases. Add one: agents.defaults.models["<provider/id>"].alias in the configuration file.'];
  }
  const width = Math.max(...aliases.map(({ alias }) => alias.length));
  return aliases.map(({ alias, model }) => `${alias.padEnd(width)}  ${model}`);
}

export function testLines({ model, account, text, firstTokenMs, durationMs, usage, cost }: Tested): string[] {
  const cached = usage && usage.cacheRead + usage.cacheWrite > 0;
  return [
    `Model: ${model} (account ${account})`,
    `Answer: ${text.trim() || "none"}`,
    `First token: ${firstTokenMs} ms, total: ${durationMs} ms`,
    usage
      ? `Tokens: ${usage.input} in, ${usage.output} out${cached ? `, ${usage.cacheRead} read from and ${usage.cacheWrite} written to the cache` : ""}`
      : "Tokens: not reported by the server",
    cost === undefined ? "Cost: unknown; no price is configured for this model" : `Cost: $${cost.toFixed(6)}`,
  ];
}
