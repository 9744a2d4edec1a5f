/** Ends and restarts sessions: asks the gate, changes the store, tells who listens. Spec: protocol/methods-sessions.md §6, §7. */
import { type Clock, type HookEmitter, type HOOKS, invalidRequest, unavailable } from "@svc/sdk";
import type { SessionEntry } from "@svc/sdk/services";
import { freshEntry, type ModelDefaults } from "./entries.ts";
import type { SessionStore } from "./store.ts";

export interface LifecycleOptions {
  readonly store: SessionStore;
  readonly clock: Pick<Clock, "now">;
  readonly hooks: {
    readonly replacing: HookEmitter<typeof HOOKS.sessionReplacing>;
    readonly started: HookEmitter<typeof HOOKS.sessionStarted>;
    readonly ended: HookEmitter<typeof HOOKS.sessionEnded>;
  };
  readonly modelDefaults: () => ModelDefaults;
  /** Key of the session that cannot be deleted. */
  readonly mainSessionKey: () => string;
}

export interface DeleteOptions {
  /** Retire the transcript as well. */
  readonly archive: boolean;
  /** Tell `sessionEnded`. */
  readonly announce: boolean;
}

export interface Deleted {
  readonly deleted: boolean;
  /** Names under which archived transcripts can be found. */
  readonly archived: string[];
}

export interface Lifecycle {
  /** Tells that a session got a new id. */
  announceStart(key: string, entry: SessionEntry): void;
  reset(key: string, reason: "new" | "reset"): Promise<SessionEntry>;
  delete(key: string, options: DeleteOptions): Promise<Deleted>;
}

export function createLifecycle({ store, clock, hooks, modelDefaults, mainSessionKey }: LifecycleOptions): Lifecycle {
  function announceStart(key: string, entry: SessionEntry): void {
    if (hooks.started.isUsed()) void hooks.started.emit({ key, entry });
  }

  function announceEnd(key: string, entry: SessionEntry, reason: "new" | "reset" | "delete"): void {
    if (hooks.ended.isUsed()) void hooks.ended.emit({ key, entry, reason });
  }

  /** Whoever runs something in the session stops it here. @throws GatewayError `UNAVAILABLE` when denied */
  async function passGate(key: string, reason: "new" | "reset" | "delete"): Promise<void> {
    const denial = await hooks.replacing.emit({ key, reason });
    if (!denial) return;
    const { retryAfterMs } = denial;
    unavailable(denial.reason, retryAfterMs === undefined ? {} : { retryAfterMs });
  }

  return {
    announceStart,

    async reset(key, reason) {
      await passGate(key, reason);
      const defaults = modelDefaults();
      const sessionId = store.newSessionId();
      const { old, entry } = await store.restart(key, (old) =>
        freshEntry(old, { sessionId, now: clock.now(), defaults }),
      );
      if (old) announceEnd(key, old, reason);
      announceStart(key, entry);
      return entry;
    },

    async delete(key, { archive, announce }) {
      if (key === mainSessionKey()) {
        invalidRequest(`the main session "${key}" cannot be deleted; use sessions.reset to start it afresh`);
      }
      if (!(await store.get(key))) return { deleted: false, archived: [] };
      await passGate(key, "delete");
      const removed = await store.remove(key, { archive });
      if (!removed) return { deleted: false, archived: [] };
      if (announce) announceEnd(key, removed.old, "delete");
      const { old, archivedAt } = removed;
      return {
        deleted: true,
        archived: archivedAt === undefined ? [] : [archiveName(store.location, old.sessionId, archivedAt)],
      };
    },
  };
}

/**
 * `<location>#<sessionId>.deleted.<ISO time with ":" as "-">`.
 * Choice: transcripts are rows, so this says in which store and under which session id the messages stay.
 */
export function archiveName(location: string, sessionId: string, archivedAt: number): string {
  return `${location}#${sessionId}.deleted.${new Date(archivedAt).toISOString().replaceAll(":", "-")}`;
}
