/** Why a plugin is not active, and what to do about it. Pure. */
import type { Plugin } from "@svc/sdk";
import { serves, tokenOf } from "@svc/host/local";

/** One plugin as it is known here. */
export interface Candidate {
  readonly id: string;
  /** As reported, or `disabled`, `not in use`, `blocked`, `not started yet`. */
  readonly state: string;
  readonly reason?: string;
  /** epoch ms of the gateway's own next attempt */
  readonly retryAt?: number;
  /** Absent when its code cannot be imported. */
  readonly plugin: Plugin | undefined;
}

/** A service that is not there. */
export interface Lack {
  readonly service: string;
  /** Installed plugins that would provide it, and what they are now. */
  readonly providers: readonly { readonly id: string; readonly state: string }[];
}

/** States in which a provider will provide by itself. */
const PROVIDES = new Set(["active", "not started yet"]);

/**
 * What `one` needs and nobody provides now.
 * @param always ids of services that are there without any plugin
 */
export function lacksOf(one: Candidate, all: readonly Candidate[], always: ReadonlySet<string>): Lack[] {
  return Object.values(one.plugin?.requires ?? {}).flatMap((requirement): Lack[] => {
    const { token, hard } = tokenOf(requirement);
    if (!hard || always.has(token.id)) return [];
    const providers = all.filter(
      ({ id, plugin }) => id !== one.id && plugin?.provides?.some((it) => serves(it, token)),
    );
    if (providers.some(({ state }) => PROVIDES.has(state))) return [];
    const service = `${token.id} ${token.version}`;
    return [{ service, providers: providers.map(({ id, state }) => ({ id, state })) }];
  });
}

/**
 * The next step, as a command where there is one; `undefined` when all is well.
 * @param used how many entries `plugins.use` has; `undefined`: it is not set, and the whole bundle is in use
 */
export function nextStep(one: Candidate, lacks: readonly Lack[], used: number | undefined): string | undefined {
  const [lack] = lacks;
  switch (one.state) {
    case "active":
      return undefined;
    case "disabled":
      return `svc config set plugins.entries.${one.id}.enabled true`;
    case "not in use":
      return used === undefined
        ? `svc config set plugins.load.paths '["${one.id}"]'`
        : `svc config set 'plugins.use[${used}]' ${one.id}`;
    case "blocked":
      return "do what the reason says, then: svc plugins list";
  }
  if (lack) {
    const [provider] = lack.providers;
    if (!provider)
      return `install a plugin that provides the service ${lack.service}, and name it in plugins.load.paths`;
    const off = provider.state === "disabled" || provider.state === "not in use";
    return (off && nextStep({ ...provider, plugin: undefined }, [], used)) || `svc plugins why ${provider.id}`;
  }
  if (one.state === "not started yet") return "svc gateway run";
  if (one.state === "not loaded") return "restart the gateway: it was started without it";
  if (one.retryAt !== undefined) return `wait: the gateway tries again; or at once: svc plugins reload ${one.id}`;
  return `correct what the reason says, then: svc plugins reload ${one.id}`;
}
