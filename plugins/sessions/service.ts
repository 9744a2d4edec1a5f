/** The `Sessions` service: the store, with keys, rules and hooks around it. */
import { invalidRequest } from "@svc/sdk";
import type { AgentDirectory } from "@svc/sdk/agents";
import type { Sessions } from "@svc/sdk/sessions";
import type { Settings } from "./config.ts";
import { listSessions, type ListSources } from "./finding/listing.ts";
import { agentOf, canonicalKey, type KeyRules, mainSessionKey } from "./keys-routing/keys.ts";
import { routeInbound } from "./keys-routing/routing.ts";
import { sendPolicyOf } from "./keys-routing/send-policy.ts";
import type { Lifecycle } from "./lifecycle/lifecycle.ts";
import type { SessionStore } from "./store/store.ts";
import type { Reaching } from "./tools/reaching.ts";
import type { Transcripts } from "./transcripts/transcripts.ts";

/** Spec: http/sessions-routing.md §1. */
const SESSION_ID = /^[a-z0-9][a-z0-9._-]{0,127}$/i;

export interface ServiceOptions {
  readonly store: SessionStore;
  readonly transcripts: Transcripts;
  readonly lifecycle: Lifecycle;
  readonly reaching: Pick<Reaching, "mayTouch">;
  /** Read at each use: the default agent and the configuration may change. */
  readonly rules: () => KeyRules;
  readonly settings: () => Settings;
  readonly agents: () => AgentDirectory | undefined;
  readonly listing: () => ListSources;
  readonly follow: Sessions["follow"];
}

export function createSessions(options: ServiceOptions): Sessions {
  const { store, transcripts, lifecycle, reaching, rules, settings, agents, listing, follow } = options;
  return {
    defaults() {
      const { defaultAgentId, mainKey, scope } = rules();
      return { defaultAgentId, mainKey, mainSessionKey: mainSessionKey(rules()), scope };
    },
    canonicalKey: (key) => canonicalKey(key, rules()),
    agentOf: (key) => agentOf(key, rules()),
    get: (key) => store.get(key),

    async row(key, parts) {
      const { sessions } = await listSessions({ store, transcripts }, { ...parts, key }, listing());
      return sessions[0];
    },

    async ensure(key, patch) {
      if (patch?.sessionId !== undefined) checkSessionId(patch.sessionId);
      const { entry, created } = await store.ensure(key, patch);
      if (created) lifecycle.announceStart(key, entry);
      return entry;
    },

    async begin(key, sessionId) {
      checkSessionId(sessionId);
      const { entry, created } = await store.begin(key, sessionId);
      if (created) lifecycle.announceStart(key, entry);
      return entry;
    },

    update: (key, patch) => store.update(key, patch),

    async append(key, messages, alongside) {
      const { ids, entry, created } = await store.append(key, messages, alongside);
      if (created) lifecycle.announceStart(key, entry);
      return ids;
    },

    withdraw: (key, ids, { unusedSince, alongside } = {}) => store.withdraw(key, ids, unusedSince, alongside),
    transcript: (key, limit) => transcripts.last(key, limit),
    page: (key, options) => transcripts.page(key, options),
    message: (key, id) => transcripts.message(key, id),
    rewind: (key, id) => transcripts.rewind(key, id),
    recent: ({ limit, agentId }) => store.page({ agentId, includeGlobal: true, includeUnknown: true }, limit),
    count: (agentId) => store.count(agentId),
    context: (key, limit) => transcripts.context(key, limit),
    addCompaction: (key, compaction) => transcripts.addCompaction(key, compaction),
    freshen: (key, context) => lifecycle.freshen(key, context),

    route(inbound) {
      const { session, bindings } = settings();
      const { dmScope, identityLinks } = session;
      return routeInbound(inbound, { ...rules(), dmScope, identityLinks, bindings, agents: agents() });
    },

    sendPolicy: (key, entry) => sendPolicyOf(settings().session.sendPolicy, key, entry),
    mayTouch: (from, target) => reaching.mayTouch(from, target),
    follow,
    reset: (key, reason) => lifecycle.reset(key, reason),
    get location() {
      return store.location;
    },
  };
}

function checkSessionId(sessionId: string): void {
  if (!SESSION_ID.test(sessionId))
    invalidRequest("malformed session id; at most 128 letters, digits, dots, dashes and underscores");
}
