/**
 * Marks that people put on a session: pinned, archived, read or unread. Pure. Choice: they are no use of the session, so that a patch
 * of marks alone leaves `updatedAt`, and with it the order of lists.
 */
import { invalidRequest, type ParamsOf, unavailable } from "@svc/sdk";
import { refusal } from "@svc/sdk/errors";
import type { SessionEntry, sessions } from "@svc/sdk/sessions";
import { checkSessionId, isArchived, isUnread } from "../store/entries.ts";

type PatchParams = ParamsOf<typeof sessions.patch>;

/** The session whose marks change. */
export interface MarkContext {
  /** Canonical. */
  readonly key: string;
  /** epoch ms */
  readonly now: number;
  /** It is the main session of its agent. */
  readonly isMain: boolean;
  /** It has a waiting or running run. */
  readonly isActive: boolean;
}

type Marks = { readonly [K in "pinnedAt" | "archivedAt" | "lastReadAt" | "markedUnreadAt"]?: number | null };

const MARKS: readonly string[] = ["pinned", "archived", "unread"];
/** Params that change nothing. */
const CONDITIONS: readonly string[] = ["key", "agentId", "expectedSessionId", "expectedMarkedUnreadAt"];

/** Whether the patch changes marks only. */
export function isMarksOnly(params: PatchParams): boolean {
  const given = Object.entries(params).filter(([field, value]) => value !== undefined && !CONDITIONS.includes(field));
  return given.length > 0 && given.every(([field]) => MARKS.includes(field));
}

/**
 * Whether the patch still applies: its author has seen the current session.
 * @returns false for a confirmation of reading that came after the session was marked as unread again
 * @throws GatewayError `CONFLICT` for another session id, `INVALID_REQUEST` for a wrong use of `expectedMarkedUnreadAt`
 */
export function applies(old: SessionEntry | undefined, params: PatchParams, key: string): boolean {
  checkSessionId(key, old, params.expectedSessionId);
  const { expectedMarkedUnreadAt: expected, unread, pinned, archived } = params;
  if (expected === undefined) return true;
  const isAlone = isMarksOnly(params) && unread === false && pinned === undefined && archived === undefined;
  if (!isAlone)
    invalidRequest("expectedMarkedUnreadAt is for `unread: false` alone; leave it out, or send the rest separately");
  return (old?.markedUnreadAt ?? null) === expected;
}

/**
 * The fields that the marks of a patch change; null removes a field.
 * @throws GatewayError `INVALID_REQUEST` for the archive of a main session, or a pin on an archived one; `UNAVAILABLE` for the archive
 * of a session with an active run
 */
export function markFields(old: SessionEntry | undefined, params: PatchParams, context: MarkContext): Marks {
  const { archived, pinned, unread } = params;
  const wasArchived = old !== undefined && isArchived(old);
  if (archived === true) refuseArchive(context);
  if (pinned === true && (archived ?? wasArchived))
    invalidRequest(`session "${context.key}" is archived; restore it, then pin it`);
  const at = Math.max(context.now, old?.updatedAt ?? 0); // also if the clock was set back
  return {
    ...(archived === true && { archivedAt: wasArchived ? (old.archivedAt ?? at) : at, pinnedAt: null }),
    ...(archived === false && { archivedAt: null }),
    ...(pinned !== undefined && { pinnedAt: pinned ? (old?.pinnedAt ?? at) : null }),
    ...(unread === true && { markedUnreadAt: Math.max(at, (old?.markedUnreadAt ?? 0) + 1) }),
    ...(unread === false && isNews(old) && { markedUnreadAt: null, lastReadAt: at }),
  };
}

/** A session that was read or archived before a change of its settings still is. */
export function keptMarks(old: SessionEntry | undefined, now: number): Marks {
  if (!old) return {};
  return {
    ...(isArchived(old) && { archivedAt: now }),
    ...(old.lastReadAt !== undefined && !isUnread(old) && { lastReadAt: now }),
  };
}

const isNews = (old: SessionEntry | undefined) => old?.lastReadAt === undefined || isUnread(old);

function refuseArchive({ key, isMain, isActive }: MarkContext): void {
  if (isMain)
    throw refusal(
      "MAIN_SESSION",
      `the main session "${key}" cannot be archived; use sessions.reset to start it afresh`,
    );
  if (isActive)
    unavailable(
      `a reply of session "${key}" is in progress; stop it with chat.abort, or archive the session after its end`,
      {
        retryAfterMs: 1_000,
      },
    );
}
