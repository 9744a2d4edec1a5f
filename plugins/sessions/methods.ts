/** Handlers of the contract `sessions`. */
import {
  type ConnectionInfo,
  GatewayError,
  type Handlers,
  invalidRequest,
  isGatewayError,
  type ParamsOf,
  unavailable,
} from "@svc/sdk";
import { WEB_PANEL_CLIENT_ID } from "@svc/sdk/protocol";
import type { SessionEntry, sessions } from "@svc/sdk/sessions";
import type { CreateSession } from "./creating/create-session.ts";
import { readFirstMessage, sendFirst, type SendOptions } from "./creating/first-message.ts";
import { listSessions, type ListSources } from "./finding/listing.ts";
import { previewSessions } from "./finding/previews.ts";
import { resolveSession } from "./finding/resolving.ts";
import { canonicalKey, keyOfAgent } from "./keys-routing/keys.ts";
import { archiveName, type Lifecycle } from "./lifecycle/lifecycle.ts";
import type { PatchSession } from "./patching/patch-session.ts";
import type { PatchParams } from "./patching/patching.ts";
import {
  refuseUnsupported,
  UNSUPPORTED_IN_CREATE,
  UNSUPPORTED_IN_DELETE,
  UNSUPPORTED_IN_PATCH,
} from "./patching/unsupported.ts";
import { checkSessionId, type DefaultsOf, isArchived, modelOf } from "./store/entries.ts";
import type { SessionStore } from "./store/store.ts";
import type { Transcripts } from "./transcripts/transcripts.ts";

/** Messages `sessions.compact` keeps. Spec: protocol/methods-sessions.md §8. */
const DEFAULT_KEPT = 400;

export interface MethodOptions {
  readonly store: SessionStore;
  readonly transcripts: Transcripts;
  readonly lifecycle: Lifecycle;
  readonly modelDefaults: DefaultsOf;
  readonly patch: PatchSession;
  readonly create: CreateSession;
  readonly sending: SendOptions;
  readonly listing: () => ListSources;
}

export function createHandlers(options: MethodOptions): Handlers<typeof sessions> {
  const { store, transcripts, lifecycle, modelDefaults, listing } = options;
  const keyOf = ({ key, agentId }: { readonly key: string; readonly agentId?: string }) =>
    keyOfAgent(key, agentId, listing().rules);

  async function patch(params: PatchParams) {
    refuseUnsupported("sessions.patch", params, UNSUPPORTED_IN_PATCH);
    const key = keyOf(params);
    const entry = await options.patch({ ...withoutFields(params, UNSUPPORTED_IN_PATCH), key });
    return { ok: true as const, path: store.location, key, entry, resolved: modelOf(entry, modelDefaults(key)) };
  }

  async function compact(key: string, keep: number) {
    const unchanged = { ok: true as const, key, compacted: false };
    if (!(await store.get(key))) return { ...unchanged, reason: "no sessionId" };
    const cutOff = await transcripts.cut(key, keep).catch((thrown: unknown) => {
      const isLate = isGatewayError(thrown) && thrown.code === "CONFLICT";
      if (isLate) return unavailable(`session "${key}" was reset meanwhile; try again`, { retryAfterMs: 1_000 });
      throw thrown;
    });
    if (!cutOff) return { ...unchanged, reason: "no transcript" };
    const { partId, at, kept } = cutOff;
    if (partId === undefined) return { ...unchanged, kept };
    return { ok: true as const, key, compacted: true, archived: archiveName(store.location, partId, "bak", at), kept };
  }

  return {
    list: ({ params }) => listSessions({ store, transcripts }, params, listing()),
    preview({ params }) {
      const { now, rules } = listing();
      return previewSessions(transcripts, params, { now, canonicalKey: (key) => canonicalKey(key, rules) });
    },
    resolve: ({ params }) => resolveSession(store, params, listing().rules),

    async describe({ params }) {
      const { agentId: _agentId, ...asked } = params;
      const { sessions } = await listSessions({ store, transcripts }, { ...asked, key: keyOf(params) }, listing());
      return { session: sessions[0] ?? null };
    },

    async create(call) {
      const { params, principal } = call;
      refuseUnsupported("sessions.create", params, UNSUPPORTED_IN_CREATE);
      const message = readFirstMessage(params);
      const session = await options.create(params, principal.id);
      const { key, entry } = session;
      const run = message ? await sendFirst(options.sending, session, message, call) : { runStarted: false };
      const resolved = modelOf(entry, modelDefaults(key));
      return { ok: true as const, key, sessionId: entry.sessionId, entry, resolved, ...run };
    },

    async reset({ params }) {
      const key = keyOf(params);
      const entry = await lifecycle.reset(key, params.reason ?? "reset", params.expectedSessionId);
      return { ok: true as const, key, entry };
    },

    async delete({ params, connection }) {
      refuseWebchat(connection, "delete");
      refuseUnsupported("sessions.delete", params, UNSUPPORTED_IN_DELETE);
      const key = keyOf(params);
      const entry = await store.get(key);
      if (entry) checkDeletion(key, entry, params);
      const { deleteTranscript = true, emitLifecycleHooks = true, expectedSessionId } = params;
      const { deleted, archived } = await lifecycle.delete(key, {
        archive: deleteTranscript,
        announce: emitLifecycleHooks,
        sessionId: expectedSessionId,
      });
      return { ok: true as const, key, deleted, archived };
    },

    patch({ params, connection }) {
      refuseWebchat(connection, "change");
      return patch(params);
    },

    compact: ({ params }) => compact(keyOf(params), params.maxLines ?? DEFAULT_KEPT),
  };
}

/** Choice: checked before the runs of the session are stopped, which is a use of it. */
function checkDeletion(key: string, entry: SessionEntry, params: ParamsOf<typeof sessions.delete>): void {
  const { archivedOnly = false, expectedSessionId, expectedSessionUpdatedAt: expected } = params;
  if (archivedOnly && !isArchived(entry))
    invalidRequest(`session "${key}" is not archived; archive it, then delete it`);
  checkSessionId(key, entry, expectedSessionId);
  if (expected !== undefined && entry.updatedAt !== expected)
    throw new GatewayError("CONFLICT", `session "${key}" was used meanwhile; read it again`);
}

function withoutFields<P extends object>(params: P, fields: readonly string[]): P {
  return Object.fromEntries(Object.entries(params).filter(([field]) => !fields.includes(field))) as P; // optional ones only
}

/** Web chats are for visitors; the control panel uses the same mode. Spec: methods-sessions.md §5, §7. */
function refuseWebchat(connection: ConnectionInfo | undefined, what: "change" | "delete"): void {
  const client = connection?.client;
  if (client?.mode !== "webchat" || client.id === WEB_PANEL_CLIENT_ID) return;
  invalidRequest(`webchat clients cannot ${what} sessions; use the control panel or the command line`);
}
