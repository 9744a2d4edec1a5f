/** `sessions.resolve`: the session that a selector identifies. Spec: protocol/methods-sessions.md §4. */
import { invalidRequest, notFound, type ParamsOf } from "@svc/sdk";
import type { sessions } from "@svc/sdk/sessions";
import { parseKey } from "../keys-routing/keys.ts";
import type { SessionStore } from "../store/store.ts";

type ResolveParams = ParamsOf<typeof sessions.resolve>;

/** Keys listed in the error when several sessions match. */
const NAMED = 8;

/**
 * The canonical key of the session that `key`, `sessionId` or `label` identifies. All filters apply, but the key
 * `global` or `unknown` does not need `includeGlobal` or `includeUnknown`.
 * @throws GatewayError `INVALID_REQUEST` for none or several selectors, or several matches; `NOT_FOUND` for none
 */
export async function resolveSession(
  store: SessionStore,
  params: ResolveParams,
  canonicalKey: (key: string) => string,
): Promise<string> {
  const { key, sessionId, label } = params;
  const given = [key, sessionId, label].filter((selector) => selector !== undefined);
  if (given.length !== 1) invalidRequest("give exactly one of key, sessionId and label");
  if (key !== undefined) return resolveKey(store, params, canonicalKey(key));

  const { includeGlobal, includeUnknown, spawnedBy } = params;
  const agentId = params.agentId?.trim().toLowerCase();
  const filter = {
    agentId,
    spawnedBy,
    includeGlobal,
    includeUnknown,
    sessionId: sessionId?.trim(),
    label: label?.trim(),
  };
  const [first, ...others] = await store.page(filter, NAMED);
  const selector = sessionId === undefined ? `label "${label}"` : `session id "${sessionId}"`;
  if (!first) notFound(`no session with ${selector}; see sessions.list`);
  if (others.length === 0) return first.key;
  const keys = [first, ...others].map((session) => session.key).join(", ");
  return invalidRequest(`several sessions have ${selector}: ${keys}; use a key`);
}

async function resolveKey(store: SessionStore, params: ResolveParams, key: string): Promise<string> {
  const entry = await store.get(key);
  const isAgents = params.agentId === undefined || parseKey(key)?.agentId === params.agentId.trim().toLowerCase();
  const isSpawned = params.spawnedBy === undefined || entry?.spawnedBy === params.spawnedBy;
  return entry && isAgents && isSpawned ? key : notFound(`no session "${key}"; see sessions.list`);
}
