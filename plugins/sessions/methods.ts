/** Handlers of the contract `sessions`. */
import { type Clock, type ConnectionInfo, type Handlers, invalidRequest, isGatewayError, unavailable } from "@svc/sdk";
import { WEB_PANEL_CLIENT_ID } from "@svc/sdk/protocol";
import type { sessions } from "@svc/sdk/sessions";
import { listSessions } from "./finding/listing.ts";
import { previewSessions } from "./finding/previews.ts";
import { resolveSession } from "./finding/resolving.ts";
import { archiveName, type Lifecycle } from "./lifecycle/lifecycle.ts";
import type { PatchSession } from "./patching/patch-session.ts";
import type { PatchParams } from "./patching/patching.ts";
import { type DefaultsOf, modelOf } from "./store/entries.ts";
import type { SessionStore } from "./store/store.ts";
import type { Transcripts } from "./transcripts/transcripts.ts";

/** Messages `sessions.compact` keeps. Spec: protocol/methods-sessions.md §8. */
const DEFAULT_KEPT = 400;

export interface MethodOptions {
  readonly store: SessionStore;
  readonly transcripts: Transcripts;
  readonly lifecycle: Lifecycle;
  readonly clock: Pick<Clock, "now">;
  readonly canonicalKey: (key: string) => string;
  readonly modelDefaults: DefaultsOf;
  readonly patch: PatchSession;
  /** Whether a session has an active run. */
  readonly isActive: (key: string) => boolean;
}

export function createHandlers(options: MethodOptions): Handlers<typeof sessions> {
  const { store, transcripts, lifecycle, clock, canonicalKey, modelDefaults, isActive } = options;

  async function patch(params: PatchParams) {
    const key = canonicalKey(params.key);
    const entry = await options.patch({ ...params, key });
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
    list: ({ params }) => listSessions({ store, transcripts }, params, { now: clock.now(), modelDefaults, isActive }),
    preview: ({ params }) => previewSessions(transcripts, params, { now: clock.now(), canonicalKey }),
    resolve: async ({ params }) => ({ ok: true as const, key: await resolveSession(store, params, canonicalKey) }),

    async reset({ params }) {
      const key = canonicalKey(params.key);
      return { ok: true as const, key, entry: await lifecycle.reset(key, params.reason ?? "reset") };
    },

    async delete({ params, connection }) {
      refuseWebchat(connection, "delete");
      const key = canonicalKey(params.key);
      const { deleteTranscript = true, emitLifecycleHooks = true } = params;
      const { deleted, archived } = await lifecycle.delete(key, {
        archive: deleteTranscript,
        announce: emitLifecycleHooks,
      });
      return { ok: true as const, key, deleted, archived };
    },

    patch({ params, connection }) {
      refuseWebchat(connection, "change");
      return patch(params);
    },

    compact: ({ params }) => compact(canonicalKey(params.key), params.maxLines ?? DEFAULT_KEPT),
  };
}

/** Web chats are for visitors; the control panel uses the same mode. Spec: methods-sessions.md §5, §7. */
function refuseWebchat(connection: ConnectionInfo | undefined, what: "change" | "delete"): void {
  const client = connection?.client;
  if (client?.mode !== "webchat" || client.id === WEB_PANEL_CLIENT_ID) return;
  invalidRequest(`webchat clients cannot ${what} sessions; use the control panel or the command line`);
}
