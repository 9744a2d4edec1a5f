/** `sessions.resolve`: the session that a selector identifies. Spec: protocol/methods-sessions.md §4. */
import { invalidRequest, notFound, type ParamsOf, type ResultOf } from "@svc/sdk";
import { ownSessionKey, type sessions } from "@svc/sdk/sessions";
import { agentOf, canonicalKey, type KeyRules, parseKey } from "../keys-routing/keys.ts";
import type { StoredSession } from "../store/entries.ts";
import type { ListFilter } from "../store/statements.ts";
import type { SessionStore } from "../store/store.ts";
import { collect } from "./listing.ts";

type ResolveParams = ParamsOf<typeof sessions.resolve>;
type Resolved = ResultOf<typeof sessions.resolve>;

/** Keys listed in the error when several sessions match. */
const NAMED = 8;

/**
 * The session that `key`, `sessionId`, `label` or `shortId` identifies. All filters apply, but the key `global` or
 * `unknown` does not need `includeGlobal` or `includeUnknown`.
 * @throws GatewayError `INVALID_REQUEST` for none or several selectors; without `allowMissing` also for several matches, and
 *   `NOT_FOUND` for none
 */
export async function resolveSession(store: SessionStore, params: ResolveParams, rules: KeyRules): Promise<Resolved> {
  const { sessionId, label, shortId, allowMissing = false } = params;
  const key = keyOf(params, rules);
  const given = [key, sessionId, label, shortId].filter((selector) => selector !== undefined);
  if (given.length !== 1) invalidRequest("give exactly one of key, sessionId, label and shortId");
  const found = key === undefined ? await matching(store, params) : await withKey(store, params, key);
  const [first, ...others] = found;
  if (first && others.length === 0) return { ok: true, ...candidateOf(first, rules) };
  if (allowMissing) return { ok: false, ...(first && { candidates: found.map((one) => candidateOf(one, rules)) }) };
  const selector = selectorOf(params, key);
  if (!first) return notFound(`no session ${selector}; see sessions.list`);
  const keys = found.map((session) => session.key).join(", ");
  return invalidRequest(`several sessions ${selector}: ${keys}; use a key`);
}

function selectorOf({ sessionId, label, shortId }: ResolveParams, key: string | undefined): string {
  if (key !== undefined) return `"${key}"`;
  if (sessionId !== undefined) return `with session id "${sessionId}"`;
  return label === undefined ? `with short id "${shortId}"` : `with label "${label}"`;
}

function candidateOf({ key, entry }: StoredSession, rules: KeyRules) {
  const { displayName } = entry;
  return { key, agentId: agentOf(key, rules), ...(typeof displayName === "string" && { displayName }) };
}

async function matching(store: SessionStore, params: ResolveParams): Promise<StoredSession[]> {
  const { sessionId, label, shortId, includeGlobal, includeUnknown, spawnedBy } = params;
  const filter: ListFilter = {
    agentId: params.agentId?.trim().toLowerCase(),
    spawnedBy,
    includeGlobal,
    includeUnknown,
    sessionId: sessionId?.trim(),
    label: label?.trim(),
  };
  if (shortId === undefined) return store.page(filter, NAMED);
  const start = shortId.toLowerCase();
  return collect(store, filter, NAMED, { accept: ({ key }) => digitsOf(key).startsWith(start) });
}

/** The hexadecimal digits of the UUID at the end of a key; empty without one. */
function digitsOf(key: string): string {
  const uuid = /(?:^|[:-])([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/.exec(key)?.[1] ?? "";
  return uuid.replaceAll("-", "");
}

/** The canonical key, if one is given. Choice: without `agent:`, a `reference` is one of the agent, a `key` one of the default agent. */
function keyOf({ key, reference, agentId }: ResolveParams, rules: KeyRules): string | undefined {
  if (key !== undefined) return canonicalKey(key, rules);
  if (reference === undefined) return undefined;
  return canonicalKey(agentId === undefined ? reference.key : ownSessionKey(reference.key, agentId), rules);
}

async function withKey(store: SessionStore, params: ResolveParams, key: string): Promise<StoredSession[]> {
  const entry = await store.get(key);
  const isAgents = params.agentId === undefined || parseKey(key)?.agentId === params.agentId.trim().toLowerCase();
  const isSpawned = params.spawnedBy === undefined || entry?.spawnedBy === params.spawnedBy;
  return entry && isAgents && isSpawned ? [{ key, entry }] : [];
}
