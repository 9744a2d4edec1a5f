/** Ends and restarts sessions: asks the gate, changes the store, tells who listens. Spec: protocol/methods-sessions.md §6, §7. */
import { type Clock, type HookEmitter, type HOOKS, invalidRequest, unavailable } from "@svc/sdk";
import type { SessionEntry } from "@svc/sdk/sessions";
import type { SessionConfig } from "./config.ts";
import { expiredEntry, freshEntry, type ModelDefaults } from "./entries.ts";
import { channelOf, text } from "./keys.ts";
import { isStale, type ResetContext, resetPolicyOf, resetTypeOf } from "./reset-policy.ts";
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
  /** Asked at each use: reset policies may change while this runs. */
  readonly config: () => SessionConfig;
}

export interface DeleteOptions {
  /** Retire the transcript as well. */
  readonly archive: boolean;
  /** Tell `sessionEnded`. */
  readonly announce: boolean;
  /** epoch ms; delete only while it was last used at exactly this time */
  readonly unusedSince?: number;
}

export interface Deleted {
  readonly deleted: boolean;
  /** Names under which archived transcripts can be found. */
  readonly archived: string[];
}

/** What `freshen` came to. */
export interface Freshened {
  readonly entry: SessionEntry;
  /** It is a new conversation. */
  readonly restarted: boolean;
}

export interface Lifecycle {
  /** Tells that a session got a new id. */
  announceStart(key: string, entry: SessionEntry): void;
  reset(key: string, reason: "new" | "reset"): Promise<SessionEntry>;
  /**
   * Makes the session when it is missing, starts it afresh when its reset policy says so. A message that is appended
   * at the same time either goes to the old conversation and keeps it alive, or to the new one.
   * Choice: the gate is not asked. Its taps stop runs, and this is called for a run that begins.
   */
  freshen(key: string, context?: ResetContext): Promise<Freshened>;
  delete(key: string, options: DeleteOptions): Promise<Deleted>;
}

export function createLifecycle(options: LifecycleOptions): Lifecycle {
  const { store, clock, hooks, modelDefaults, mainSessionKey, config } = options;

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

  /** Choice: a session counts to the channel it was last used on before the one its key names. */
  function isExpired(key: string, entry: SessionEntry, context: ResetContext): boolean {
    const channel = context.channel ?? text(entry["channel"]) ?? text(entry["lastChannel"]) ?? channelOf(key);
    const policy = resetPolicyOf(config(), resetTypeOf(key, context), channel);
    return isStale(policy, entry.updatedAt, clock.now());
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

    async freshen(key, context = {}) {
      const sessionId = store.newSessionId();
      const next = (old: SessionEntry | undefined): SessionEntry | undefined => {
        const now = clock.now();
        if (!old) return { sessionId, updatedAt: now };
        return isExpired(key, old, context) ? expiredEntry(old, { sessionId, now }) : undefined;
      };
      const { old, entry, changed } = await store.change(key, next, { archive: true, unused: true });
      if (old && changed) announceEnd(key, old, "reset");
      if (changed) announceStart(key, entry);
      return { entry, restarted: changed };
    },

    async delete(key, { archive, announce, unusedSince }) {
      if (key === mainSessionKey()) {
        invalidRequest(`the main session "${key}" cannot be deleted; use sessions.reset to start it afresh`);
      }
      if (!(await store.get(key))) return { deleted: false, archived: [] };
      await passGate(key, "delete");
      const removed = await store.remove(key, { archive, ...(unusedSince !== undefined && { unusedSince }) });
      if (!removed) return { deleted: false, archived: [] };
      if (announce) announceEnd(key, removed.old, "delete");
      const { old, archivedAt } = removed;
      return {
        deleted: true,
        archived: archivedAt === undefined ? [] : [archiveName(store.location, old.sessionId, "deleted", archivedAt)],
      };
    },
  };
}

/**
 * `<location>#<sessionId>.deleted.<ISO time with ":" as "-">`.
 * Choice: transcripts are rows, so this says in which store and under which session id the messages stay.
 */
export function archiveName(
  location: string,
  sessionId: string,
  reason: "deleted" | "bak",
  archivedAt: number,
): string {
  const name = reason === "bak" ? sessionId : `${sessionId}.${reason}.${isoName(archivedAt)}`;
  return `${location}#${name}`;
}

function isoName(at: number): string {
  return new Date(at).toISOString().replaceAll(":", "-");
}
