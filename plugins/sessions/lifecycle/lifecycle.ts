/** Ends and restarts sessions: calls the gate, changes the store, emits hooks. Spec: protocol/methods-sessions.md §6, §7. */
import { type Clock, type HookEmitter, type HOOKS, unavailable } from "@svc/sdk";
import { refusal } from "@svc/sdk/errors";
import type { SessionEntry } from "@svc/sdk/sessions";
import type { SessionConfig } from "../config.ts";
import { channelOf, text } from "../keys-routing/keys.ts";
import { checkSessionId, type DefaultsOf, expiredEntry, freshEntry } from "../store/entries.ts";
import type { RemoveIf } from "../store/statements.ts";
import type { SessionStore } from "../store/store.ts";
import { isStale, type ResetContext, resetPolicyOf, resetTypeOf } from "./reset-policy.ts";

export interface LifecycleOptions {
  readonly store: SessionStore;
  readonly clock: Pick<Clock, "now">;
  readonly hooks: {
    readonly replacing: HookEmitter<typeof HOOKS.sessionReplacing>;
    readonly started: HookEmitter<typeof HOOKS.sessionStarted>;
    readonly ended: HookEmitter<typeof HOOKS.sessionEnded>;
  };
  readonly modelDefaults: DefaultsOf;
  /** Key of the session that cannot be deleted. */
  readonly mainSessionKey: () => string;
  /** Read at each use: reset policies may change. */
  readonly config: () => SessionConfig;
  /** IANA name of the zone whose days count. */
  readonly timeZone: () => string;
}

export interface DeleteOptions extends RemoveIf {
  /** Retire the transcript as well. */
  readonly archive: boolean;
  /** Emit `sessionEnded`. */
  readonly announce: boolean;
}

export interface Deleted {
  readonly deleted: boolean;
  /** Names of archived transcripts. */
  readonly archived: string[];
}

/** Result of `freshen`. */
export interface Freshened {
  readonly entry: SessionEntry;
  /** The conversation is new. */
  readonly restarted: boolean;
}

export interface Lifecycle {
  /** Emits `sessionStarted`. */
  announceStart(key: string, entry: SessionEntry): void;
  /** @param expectedSessionId the caller has seen this id. @throws GatewayError `CONFLICT` for another one */
  reset(key: string, reason: "new" | "reset", expectedSessionId?: string): Promise<SessionEntry>;
  /**
   * Creates a missing session, and restarts an expired one. A message that is appended
   * at the same time either goes into the old conversation, which then does not expire, or into the new one.
   * Choice: does not call the gate, whose taps stop runs: a run is about to begin.
   */
  freshen(key: string, context?: ResetContext): Promise<Freshened>;
  delete(key: string, options: DeleteOptions): Promise<Deleted>;
}

export function createLifecycle(options: LifecycleOptions): Lifecycle {
  const { store, clock, hooks, modelDefaults, mainSessionKey, config, timeZone } = options;

  function announceStart(key: string, entry: SessionEntry): void {
    if (hooks.started.isUsed()) void hooks.started.emit({ key, entry });
  }

  function announceEnd(key: string, entry: SessionEntry, reason: "new" | "reset" | "delete"): void {
    if (hooks.ended.isUsed()) void hooks.ended.emit({ key, entry, reason });
  }

  /** Taps of the gate stop the runs of the session. @throws GatewayError `UNAVAILABLE` when denied */
  async function passGate(key: string, reason: "new" | "reset" | "delete"): Promise<void> {
    const denial = await hooks.replacing.emit({ key, reason });
    if (!denial) return;
    const { retryAfterMs } = denial;
    unavailable(denial.reason, retryAfterMs === undefined ? {} : { retryAfterMs });
  }

  /** Choice: the channel of last use takes precedence over the channel of the key. */
  function isExpired(key: string, entry: SessionEntry, context: ResetContext): boolean {
    const channel = context.channel ?? text(entry["channel"]) ?? text(entry["lastChannel"]) ?? channelOf(key);
    const policy = resetPolicyOf(config(), resetTypeOf(key, context), channel);
    return isStale(policy, entry.updatedAt, clock.now(), timeZone());
  }

  return {
    announceStart,

    async reset(key, reason, expectedSessionId) {
      if (expectedSessionId !== undefined) checkSessionId(key, await store.get(key), expectedSessionId); // before runs are stopped
      await passGate(key, reason);
      const defaults = modelDefaults(key);
      const sessionId = store.newSessionId();
      const { old, entry } = await store.restart(key, (old) => {
        checkSessionId(key, old, expectedSessionId);
        return freshEntry(old, { sessionId, now: clock.now(), defaults });
      });
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

    async delete(key, { announce, ...removal }) {
      if (key === mainSessionKey()) {
        const message = `the main session "${key}" cannot be deleted; use sessions.reset to start it afresh`;
        throw refusal("MAIN_SESSION", message);
      }
      if (!(await store.get(key))) return { deleted: false, archived: [] };
      await passGate(key, "delete");
      const removed = await store.remove(key, removal);
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
 * Choice: transcripts are rows, so the name consists of the store and the session id of the messages.
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
