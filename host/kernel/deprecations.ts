/** Tracks which deprecated parts of the plugin API a plugin uses. */
import { DEPRECATED_MEMBERS, type Deprecation, type PluginGateway } from "@svc/sdk";
import { tokenOf } from "./graph.ts";
import type { PluginFacts } from "./kind.ts";

/** Deprecated uses of one generation, by the part used, e.g. `hook message:inbound`. */
export type DeprecatedUses = Map<string, Deprecation>;

/** Records a use of a part with a deprecation. @returns whether it was not recorded before */
export function noteDeprecated(uses: DeprecatedUses, what: string, mark: Deprecation | undefined): boolean {
  if (mark === undefined || uses.has(what)) return false;
  uses.set(what, mark);
  return true;
}

/** Records deprecated services a plugin requires; they are known before its setup. */
export function noteRequirements(uses: DeprecatedUses, { requires = {} }: PluginFacts): void {
  for (const requirement of Object.values(requires)) {
    const { token } = tokenOf(requirement);
    noteDeprecated(uses, `service ${token.id}`, token.deprecated);
  }
}

/** Wraps the deprecated members of `gateway` to record their calls. @param marks default: those of the plugin API */
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

/** One line per use. Pure. */
export function describeDeprecated(uses: ReadonlyMap<string, Deprecation>): string[] {
  return [...uses].map(([what, { since, removedIn, instead }]) => {
    return `${what}: deprecated since ${since}, removed in ${removedIn}; instead: ${instead}`;
  });
}
