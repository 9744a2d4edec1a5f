/** The `Sessions` service: the store, with keys and hooks around it. */
import { invalidRequest } from "@svc/sdk";
import type { Sessions } from "@svc/sdk/services";
import { agentOf, canonicalKey, type KeyRules, mainSessionKey } from "./keys.ts";
import type { Lifecycle } from "./lifecycle.ts";
import type { SessionStore } from "./store.ts";

/** Spec: http/sessions-routing.md §1. */
const SESSION_ID = /^[a-z0-9][a-z0-9._-]{0,127}$/i;

/** @param rules asked at each use: the default agent may change while this runs */
export function createSessions(store: SessionStore, lifecycle: Lifecycle, rules: () => KeyRules): Sessions {
  return {
    defaults() {
      const { defaultAgentId, mainKey, scope } = rules();
      return { defaultAgentId, mainKey, mainSessionKey: mainSessionKey(rules()), scope };
    },
    canonicalKey: (key) => canonicalKey(key, rules()),
    agentOf: (key) => agentOf(key, rules()),
    get: (key) => store.get(key),

    async ensure(key, patch) {
      const { sessionId } = patch ?? {};
      if (sessionId !== undefined && !SESSION_ID.test(sessionId)) {
        invalidRequest("malformed session id; at most 128 letters, digits, dots, dashes and underscores");
      }
      const { entry, created } = await store.ensure(key, patch);
      if (created) lifecycle.announceStart(key, entry);
      return entry;
    },

    update: (key, patch) => store.update(key, patch),

    async append(key, messages, alongside) {
      const { ids, entry, created } = await store.append(key, messages, alongside);
      if (created) lifecycle.announceStart(key, entry);
      return ids;
    },

    transcript: (key, limit) => store.transcript(key, limit),
    recent: ({ limit, agentId }) => store.page({ agentId, includeGlobal: true, includeUnknown: true }, limit),
    count: (agentId) => store.count(agentId),
    reset: (key, reason) => lifecycle.reset(key, reason),
    get location() {
      return store.location;
    },
  };
}
