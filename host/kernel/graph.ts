/** Computes the order in which plugins are set up and started. Pure. */
import type { Plugin, Requirement, ServiceToken } from "@svc/sdk";
import satisfies from "semver/functions/satisfies.js";

/** The fields that determine the order. */
type Ordered = Pick<Plugin, "requires" | "provides" | "after">;

export interface GraphNode {
  readonly id: string;
  readonly plugin: Ordered;
}

export interface Order {
  /** Ids of the plugins whose hard requirements are all met, by level, sorted within a level. */
  readonly levels: readonly (readonly string[])[];
  /** Why each other plugin has to wait: id -> reason. */
  readonly waiting: ReadonlyMap<string, string>;
}

/** The token of a requirement, whether the plugin cannot run without it (`hard`), and whether its provider comes first (`ordered`). */
export function tokenOf(requirement: Requirement): {
  readonly token: ServiceToken<unknown>;
  readonly hard: boolean;
  readonly ordered: boolean;
} {
  if (requirement.kind === "service") return { token: requirement, hard: true, ordered: true };
  return { token: requirement.token, hard: false, ordered: requirement.kind === "optional" };
}

/** Whether a setup of the plugin received one of these services directly, so that it must be restarted when the service changes. */
export function holdsService(plugin: Ordered, serviceIds: ReadonlySet<string>): boolean {
  return Object.values(plugin.requires ?? {})
    .map((requirement) => tokenOf(requirement))
    .some(({ token, ordered }) => ordered && serviceIds.has(token.id));
}

/** Same major version, and not older: `1.4.0` serves `1.0.0`, `1.0.0` does not serve `1.4.0`. */
export function serves(provided: ServiceToken<unknown>, wanted: ServiceToken<unknown>): boolean {
  return provided.id === wanted.id && satisfies(provided.version, `^${wanted.version}`);
}

/**
 * Orders plugins by their requirements and provided services. If two plugins provide one service, the first by id provides it and the other
 * waits.
 * @param available services already provided, by the host or by running plugins
 */
export function orderPlugins(nodes: readonly GraphNode[], available: readonly ServiceToken<unknown>[]): Order {
  const waiting = new Map<string, string>();
  const providers = new Map<string, string>();
  const provided = new Map<string, ServiceToken<unknown>>();
  for (const { id, plugin } of [...nodes].sort(byId)) {
    for (const token of plugin.provides ?? []) {
      const other =
        providers.get(token.id) ?? (available.some((there) => there.id === token.id) ? "a running plugin" : undefined);
      if (other === undefined) {
        providers.set(token.id, id);
        provided.set(token.id, token);
      } else waiting.set(id, `service ${token.id} is already provided by ${other}; disable one of them`);
    }
  }
  const remaining = new Map(nodes.filter(({ id }) => !waiting.has(id)).map((node) => [node.id, node]));

  // A plugin with an unmet hard requirement waits, and so does every plugin that requires its services.
  for (let changed = true; changed;) {
    changed = false;
    for (const [id, { plugin }] of remaining) {
      const missing = missingService(plugin, (token) => {
        if (available.some((there) => serves(there, token))) return true;
        const [provider, there] = [providers.get(token.id), provided.get(token.id)];
        return provider !== undefined && there !== undefined && remaining.has(provider) && serves(there, token);
      });
      if (missing === undefined) continue;
      waiting.set(id, missing);
      remaining.delete(id);
      changed = true;
    }
  }

  const levels: string[][] = [];
  const placed = new Set<string>();
  while (placed.size < remaining.size) {
    const level = [...remaining.values()]
      .filter(
        ({ id, plugin }) =>
          !placed.has(id) &&
          predecessors(plugin, id, providers).every((before) => placed.has(before) || !remaining.has(before)),
      )
      .map(({ id }) => id)
      .sort();
    if (level.length === 0) {
      const cycle = findCycle(
        [...remaining.values()].filter(({ id }) => !placed.has(id)),
        providers,
      );
      for (const id of cycle) {
        waiting.set(id, `requires itself: ${[...cycle, cycle[0]].join(" -> ")}; make one of these requirements live()`);
        remaining.delete(id);
      }
      continue;
    }
    for (const id of level) placed.add(id);
    levels.push(level);
  }
  return { levels, waiting };
}

function byId(left: GraphNode, right: GraphNode): number {
  return left.id < right.id ? -1 : 1;
}

function missingService(plugin: Ordered, isThere: (token: ServiceToken<unknown>) => boolean): string | undefined {
  for (const requirement of Object.values(plugin.requires ?? {})) {
    const { token, hard } = tokenOf(requirement);
    if (hard && !isThere(token))
      return `waits for the service ${token.id} ${token.version}, which no running plugin provides`;
  }
  return undefined;
}

function predecessors(plugin: Ordered, id: string, providers: ReadonlyMap<string, string>): string[] {
  const needed = Object.values(plugin.requires ?? {})
    .map((requirement) => tokenOf(requirement))
    .filter(({ ordered }) => ordered)
    .map(({ token }) => providers.get(token.id));
  return [...needed, ...(plugin.after ?? [])].filter(
    (before): before is string => before !== undefined && before !== id,
  );
}

/** Ids of one cycle among plugins that all have an unplaced predecessor. */
function findCycle(stuck: readonly GraphNode[], providers: ReadonlyMap<string, string>): string[] {
  const byName = new Map(stuck.map((node) => [node.id, node]));
  const path: string[] = [];
  let current = [...byName.keys()].sort()[0];
  while (current !== undefined && !path.includes(current)) {
    path.push(current);
    const node = byName.get(current);
    current = node && predecessors(node.plugin, node.id, providers).find((before) => byName.has(before));
  }
  return current === undefined ? path : path.slice(path.indexOf(current));
}
