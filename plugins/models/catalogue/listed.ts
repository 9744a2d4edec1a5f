/** Models as clients show them, and the state of the accounts of their providers. Pure. */
import { type ListedModel, type models, type ResolvedModel, thinkingLevelsOf } from "@svc/sdk/models";
import type { ResultOf } from "@svc/sdk";
import { type ConfiguredAccount, hasKey } from "../asking/accounts.ts";
import type { Cooldowns } from "../asking/cooldown.ts";
import { choiceOf, refOf } from "./catalogue.ts";
import type { Policy } from "./policy.ts";
import type { Server } from "./servers.ts";

/** What is known about the accounts. */
export interface AccountView {
  readonly server: (provider: string) => Server | undefined;
  readonly accounts: (provider: string) => readonly ConfiguredAccount[];
  readonly cooldowns: Pick<Cooldowns, "until" | "failureOf">;
}

/** @param first `provider/id` of the agent's first model */
export function listedOf(
  model: ResolvedModel,
  { first, policy, view }: { readonly first?: string; readonly policy?: Policy; readonly view: AccountView },
): ListedModel {
  const ref = refOf(model);
  const alias = policy?.get(ref)?.alias?.trim();
  return {
    ...choiceOf(model),
    ...(alias ? { alias } : {}),
    ...(ref === first ? { tags: ["default"] } : {}),
    ...availabilityOf(model.provider, view),
    thinkingLevels: thinkingLevelsOf(model),
  };
}

type Availability = Pick<ListedModel, "available" | "unavailableReason" | "unavailableUntil">;

/**
 * Choice: an account that cools down for another reason than its key counts as available, since the gateway uses it when no
 * other account is left.
 */
function availabilityOf(provider: string, view: AccountView): Availability {
  const states = view.accounts(provider).map((account) => ({ ...account, state: stateOf(provider, account, view) }));
  if (states.some(({ state }) => state === "static")) return { available: true };
  const untils = states.flatMap(({ name, state }) => (state === "expired" ? [view.cooldowns.until(name) ?? 0] : []));
  if (untils.length === 0) return { available: false, unavailableReason: "missing-auth" };
  return { available: false, unavailableReason: "auth-failed", unavailableUntil: Math.min(...untils) };
}

type AuthStatus = ResultOf<typeof models.authStatus>;
type AuthState = AuthStatus["providers"][number]["status"];

/** The state of a configured provider: the best one of its accounts. */
export function authOf(provider: string, view: AccountView): AuthStatus["providers"][number] {
  const accounts = view.accounts(provider);
  const profiles = accounts.map((account) => ({
    profileId: account.name,
    type: "api_key" as const,
    status: stateOf(provider, account, view),
    source: "config" as const,
  }));
  const status = (["static", "expired"] as const).find((state) => profiles.some((profile) => profile.status === state));
  return {
    provider,
    displayName: provider,
    status: status ?? "missing",
    profiles,
    ...(accounts.some(hasKey) ? { apiKey: { source: "config" as const } } : {}),
  };
}

function stateOf(provider: string, account: ConfiguredAccount, { server, cooldowns }: AccountView): AuthState {
  if (!hasKey(account) && needsKey(server(provider))) return "missing";
  const isCooling = cooldowns.until(account.name) !== undefined;
  return isCooling && cooldowns.failureOf(account.name)?.kind === "auth" ? "expired" : "static";
}

/** Public servers need a key; Bedrock also accepts the access key of the environment. Of other servers, it is unknown. */
function needsKey(server: Server | undefined): boolean {
  return server?.place !== undefined && server.place !== "amazon-bedrock";
}
