/** Explains why a plugin is not active, and what to do about it. Pure. */
import type { Plugin } from "@svc/sdk";
import { serves, tokenOf } from "@svc/host/local";

/** A plugin and its known state. */
export interface Candidate {
  readonly id: string;
  /** As reported, or `disabled`, `not in use`, `blocked`, `not started yet`. */
  readonly state: string;
  readonly reason?: string;
  /** epoch ms of the gateway's next automatic attempt */
  readonly retryAt?: number;
  /** The next step, if it is not that of the state. */
  readonly next?: string;
  /** Absent when its code cannot be imported. */
  readonly plugin: Plugin | undefined;
}

/** A missing service. */
export interface Lack {
  readonly service: string;
  /** Installed plugins that would provide it, and their state. */
  readonly providers: readonly { readonly id: string; readonly state: string }[];
}

/** States in which a provider provides its services, now or after the start. */
const PROVIDES = new Set(["active", "not started yet"]);

/**
 * Services that `one` requires and no plugin provides.
 * @param always ids of services the host itself provides
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
 * The next step, as a command if possible; `undefined` when the plugin is active.
 * @param used number of entries in `plugins.use`; `undefined`: not set, so the whole bundle is in use
 */
export function nextStep(one: Candidate, lacks: readonly Lack[], used: number | undefined): string | undefined {
  const [lack] = lacks;
  if (one.next !== undefined) return one.next;
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
      return "follow the reason, then: svc plugins list";
  }
  if (lack) {
    const [provider] = lack.providers;
    if (!provider)
      return `install a plugin that provides the service ${lack.service}, and name it in plugins.load.paths`;
    const off = provider.state === "disabled" || provider.state === "not in use";
    return (off && nextStep({ ...provider, plugin: undefined }, [], used)) || `svc plugins why ${provider.id}`;
  }
  if (one.state === "not started yet") return "svc gateway run";
  if (one.state === "not loaded") return "restart the gateway: it was started without this plugin";
  if (one.retryAt !== undefined)
    return `wait for the gateway's next attempt, or retry now: svc plugins reload ${one.id}`;
  return `fix the cause given in the reason, then: svc plugins reload ${one.id}`;
}
