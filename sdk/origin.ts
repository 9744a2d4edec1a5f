/** Whose words a text is, and how far what a run does may go by them. Spec: design/security.md. Pure. */
import { coversScope, type Principal, SCOPES, type Scope } from "./principal.ts";
import { type Static, Type } from "./schema.ts";

/** Who can have written a text. `agent`: another agent, or a program that calls one; `gateway`: the gateway itself. */
export const ORIGIN_KINDS = [
  "person",
  "channel",
  "webhook",
  "node",
  "web",
  "file",
  "mcp",
  "tool",
  "agent",
  "gateway",
] as const;

/** Whose words a text is. A text without one is the owner's, or the gateway's own. */
export const Origin = Type.Object({
  kind: Type.Enum([...ORIGIN_KINDS]),
  id: Type.Optional(Type.String({ description: "who or what exactly, for people: an address, a URL, a name" })),
  scopes: Type.Array(Type.String(), { description: "what whoever wrote it may do in this gateway; empty: nothing" }),
});
export type Origin = Static<typeof Origin>;

/** Characters of an id; more are cut off. */
const MAX_ID_CHARS = 200;

/** What the gateway says itself, in the place of nothing: of a text that nobody else wrote. */
export const GATEWAY_WORDS: Origin = { kind: "gateway", scopes: ["operator.admin"] };

/** Words of somebody who may do nothing here. */
export function outsideOrigin(kind: Origin["kind"], id?: string): Origin {
  return { kind, ...(id ? { id: id.slice(0, MAX_ID_CHARS) } : {}), scopes: [] };
}

/** Words of whoever holds this principal. */
export function originOf({ id, provenance, scopes }: Pick<Principal, "id" | "provenance" | "scopes">): Origin {
  if (provenance === "webhook") return outsideOrigin("webhook", id);
  return { kind: provenance === "plugin" ? "gateway" : "person", id, scopes: [...scopes] };
}

/** An origin in words, e.g. `web (https://example.com)`. */
export function nameOfOrigin({ kind, id }: Origin): string {
  return id === undefined ? kind : `${kind} (${id})`;
}

/**
 * Whose words a model says that was shown words of `origin`: an agent's, with the same authority. They are not the words of
 * `origin` again: an address in them can be made up.
 */
export function saidAfter(origin: Origin): Origin {
  if (origin.kind === "agent") return origin;
  return { ...outsideOrigin("agent", `told by ${nameOfOrigin(origin)}`), scopes: origin.scopes };
}

/** Whether the words of `origin` suffice for what needs `scope`. */
export function mayAsk(origin: Origin | undefined, scope: Scope): boolean {
  return origin === undefined || coversScope(origin.scopes, scope);
}

/**
 * What all of them together may do: the scopes that each of them has, under the name of the one with the fewest.
 * @returns `undefined`: all are the owner's
 */
export function floorOf(origins: Iterable<Origin | undefined>): Origin | undefined {
  let least: Origin | undefined;
  let shared = allowed(undefined);
  let fewest = shared.length;
  for (const origin of origins) {
    const scopes = allowed(origin);
    shared = shared.filter((scope) => scopes.includes(scope));
    if (origin === undefined || scopes.length >= fewest) continue;
    fewest = scopes.length;
    least = origin;
  }
  return least && { ...least, scopes: [...shared] };
}

/** What an origin covers, spelled out. */
function allowed(origin: Origin | undefined): readonly Scope[] {
  return SCOPES.filter((scope) => mayAsk(origin, scope));
}
