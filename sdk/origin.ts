/** Whose words a text is, and how far what a run does may go by them. Spec: design/security.md. Pure. */
import { hash } from "node:crypto";
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
  authors: Type.Optional(
    Type.Array(Type.String(), {
      description: "a digest of each author, where `kind` and `id` do not say it; see `authorsOf`",
    }),
  ),
});
export type Origin = Static<typeof Origin>;

/** Characters of an id; more are cut off. */
const MAX_ID_CHARS = 200;
/** Choice: authors that are told apart. */
const MAX_AUTHORS = 32;

/** What the gateway says itself, in the place of nothing: of a text that nobody else wrote. */
export const GATEWAY_WORDS: Origin = { kind: "gateway", scopes: ["operator.admin"] };

/** Words of somebody who may do nothing here. */
export function outsideOrigin(kind: Origin["kind"], id?: string): Origin {
  return { kind, ...(id ? { id: id.slice(0, MAX_ID_CHARS) } : {}), scopes: [] };
}

/** An origin in words, e.g. `web (https://example.com/)`. */
export function originName({ kind, id }: Pick<Origin, "kind" | "id">): string {
  return id === undefined ? kind : `${kind} (${id})`;
}

/** Words of whoever holds this principal. */
export function originOf({ id, provenance, scopes }: Pick<Principal, "id" | "provenance" | "scopes">): Origin {
  if (provenance === "webhook") return outsideOrigin("webhook", id);
  return { kind: provenance === "plugin" ? "gateway" : "person", id, scopes: [...scopes] };
}

/**
 * Whose words a model says that was shown words of `origin`: an agent's, with the same authority. They are not the words of
 * `origin` again: an address in them can be made up.
 */
export function saidAfter(origin: Origin): Origin {
  if (origin.kind === "agent") return origin;
  const authors = origin.authors ?? [authorDigest(origin)];
  return { ...outsideOrigin("agent", `told by ${originName(origin)}`), scopes: origin.scopes, authors };
}

/** Whether the words of `origin` suffice for what needs `scope`. */
export function mayAsk(origin: Origin | undefined, scope: Scope): boolean {
  return origin === undefined || coversScope(origin.scopes, scope);
}

/**
 * What all of them together may do: the scopes that each of them has, under the name of the one with the fewest, with
 * a digest of each that may do less than the owner.
 * @returns `undefined`: all are the owner's
 */
export function floorOf(origins: Iterable<Origin | undefined>): Origin | undefined {
  let least: Origin | undefined;
  let shared = allowed(undefined);
  let fewest = shared.length;
  const authors = new Set<string>();
  for (const origin of origins) {
    const scopes = allowed(origin);
    if (origin === undefined || scopes.length === SCOPES.length) continue;
    for (const author of origin.authors ?? [authorDigest(origin)]) authors.add(author);
    shared = shared.filter((scope) => scopes.includes(scope));
    if (scopes.length >= fewest) continue;
    fewest = scopes.length;
    least = origin;
  }
  if (!least) return undefined;
  const all = [...authors].toSorted().slice(0, MAX_AUTHORS + 1);
  return { ...least, scopes: [...shared], ...((all.length > 1 || least.authors) && { authors: all }) };
}

/**
 * A digest of each author whose words went into a text of `origin`, in a fixed order: another author is another list.
 * @returns `undefined`: there are too many to tell them apart
 */
export function authorsOf(origin: Origin): readonly string[] | undefined {
  const { authors = [authorDigest(origin)] } = origin;
  return authors.length > MAX_AUTHORS ? undefined : authors;
}

function authorDigest(origin: Origin): string {
  const { kind, id = null } = origin;
  const text = JSON.stringify([kind, id, allowed(origin)]);
  return hash("sha256", text, "base64url").slice(0, 22);
}

/** What an origin covers, spelled out. */
function allowed(origin: Origin | undefined): readonly Scope[] {
  return SCOPES.filter((scope) => mayAsk(origin, scope));
}
