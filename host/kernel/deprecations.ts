/** Which parts of the plugin API a plugin uses that will go away. */
import { DEPRECATED_MEMBERS, type Deprecation, type PluginGateway } from "@svc/sdk";
import { tokenOf } from "./graph.ts";
import type { PluginFacts } from "./kind.ts";

/** Uses of one generation, by what is used, e.g. `hook message:inbound`. */
export type DeprecatedUses = Map<string, Deprecation>;

/** Adds a use where there is a mark. @returns whether it is a new one */
export function noteDeprecated(uses: DeprecatedUses, what: string, mark: Deprecation | undefined): boolean {
  if (mark === undefined || uses.has(what)) return false;
  uses.set(what, mark);
  return true;
}

/** Services a plugin requires are known before it is set up. */
export function noteRequirements(uses: DeprecatedUses, { requires = {} }: PluginFacts): void {
  for (const requirement of Object.values(requires)) {
    const { token } = tokenOf(requirement);
    noteDeprecated(uses, `service ${token.id}`, token.deprecated);
  }
}

/** The gateway with calls of its marked members noted. @param marks default: those of the plugin API */
export function noteMembers<G extends object>(
  gateway: G,
  uses: DeprecatedUses,
  marks: Readonly<Partial<Record<keyof PluginGateway, Deprecation>>> = DEPRECATED_MEMBERS,
): G {
  for (const [name, mark] of Object.entries(marks)) {
    const member = (gateway as Record<string, unknown>)[name];
    if (typeof member !== "function") continue;
    Object.defineProperty(gateway, name, {
      value: (...args: unknown[]) => {
        noteDeprecated(uses, `gateway.${name}`, mark);
        return Reflect.apply(member, gateway, args) as unknown;
      },
    });
  }
  return gateway;
}

/** One line each. Pure. */
export function describeDeprecated(uses: ReadonlyMap<string, Deprecation>): string[] {
  return [...uses].map(([what, { since, removedIn, instead }]) => {
    return `${what}: deprecated since ${since}, removed in ${removedIn}; instead: ${instead}`;
  });
}
