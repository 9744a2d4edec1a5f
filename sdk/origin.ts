/** Origin of texts: who wrote them, and which actions of a run they may justify. Spec: design/security.md. Pure. */
import { hash } from "node:crypto";
import { coversScope, type Principal, SCOPES, type Scope } from "./principal.ts";
import { type Static, Type } from "./schema.ts";

/** Possible authors of a text. `agent`: another agent, or a program that calls one; `gateway`: the gateway itself. */
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

/** Author of a text and the author's authority. A text without an origin comes from the owner or the gateway. */
export const Origin = Type.Object({
  kind: Type.Enum([...ORIGIN_KINDS]),
  id: Type.Optional(Type.String({ description: "exact author, for people: an address, a URL, a name" })),
  scopes: Type.Array(Type.String(), { description: "scopes of the author in this gateway; empty: none" }),
  authors: Type.Optional(
    Type.Array(Type.String(), {
      description: "a digest per author, if `kind` and `id` do not identify them; see `authorsOf`",
    }),
  ),
});
export type Origin = Static<typeof Origin>;

/** Maximum characters of an id; longer ids are truncated. */
const MAX_ID_CHARS = 200;
/** Choice: maximum number of distinguished authors. */
const MAX_AUTHORS = 32;

/** Explicit origin of texts written by the gateway itself. */
export const GATEWAY_WORDS: Origin = { kind: "gateway", scopes: ["operator.admin"] };

/** Origin of an author without any authority in this gateway. */
export function outsideOrigin(kind: Origin["kind"], id?: string): Origin {
  return { kind, ...(id ? { id: id.slice(0, MAX_ID_CHARS) } : {}), scopes: [] };
}

/** Display name of an origin, e.g. `web (https://example.com/)`. */
export function originName({ kind, id }: Pick<Origin, "kind" | "id">): string {
  return id === undefined ? kind : `${kind} (${id})`;
}

/** Origin of texts written by a principal. */
export function originOf({ id, provenance, scopes }: Pick<Principal, "id" | "provenance" | "scopes">): Origin {
  if (provenance === "webhook") return outsideOrigin("webhook", id);
  return { kind: provenance === "plugin" ? "gateway" : "person", id, scopes: [...scopes] };
}

/**
 * Origin of the output of a model that saw text of `origin`: an agent with the same authority. It is not `origin`
 * itself, because the model may have invented an address in it.
 */
export function saidAfter(origin: Origin): Origin {
  if (origin.kind === "agent") return origin;
  const authors = origin.authors ?? [authorDigest(origin)];
  return { ...outsideOrigin("agent", `told by ${originName(origin)}`), scopes: origin.scopes, authors };
}

/** Whether `origin` has enough authority for an action that needs `scope`. */
export function mayAsk(origin: Origin | undefined, scope: Scope): boolean {
  return origin === undefined || coversScope(origin.scopes, scope);
}

/**
 * The combined authority of several origins: the scopes shared by all, under the name of the one with the fewest, plus
 * a digest of each author with less authority than the owner.
 * @returns `undefined` if all come from the owner
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
 * A digest of each author that contributed to a text, in a fixed order: a different author yields a different list.
 * @returns `undefined` if there are too many to distinguish
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

/** The scopes covered by an origin. */
function allowed(origin: Origin | undefined): readonly Scope[] {
  return SCOPES.filter((scope) => mayAsk(origin, scope));
}
