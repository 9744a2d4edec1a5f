/** Changes settings of a session, for `sessions.patch` and for the tool `session_status`. */
import type { Clock } from "@svc/sdk";
import type { SessionEntry } from "@svc/sdk/sessions";
import type { Lifecycle } from "../lifecycle/lifecycle.ts";
import type { SessionStore } from "../store/store.ts";
import { isMarksOnly } from "./marks.ts";
import { labelOf, patched, type PatchContext, type PatchParams } from "./patching.ts";

export interface PatchOptions {
  readonly store: SessionStore;
  readonly lifecycle: Pick<Lifecycle, "announceStart">;
  readonly clock: Pick<Clock, "now">;
  /** What decides about a patch at present, for a canonical key. */
  readonly contextOf: (key: string) => Omit<PatchContext, "key" | "now" | "sessionId">;
}

/** Creates a missing session. @param params.key canonical. @returns the new entry. @throws GatewayError as `patched` */
export type PatchSession = (params: PatchParams) => Promise<SessionEntry>;

export function createPatch({ store, lifecycle, clock, contextOf }: PatchOptions): PatchSession {
  return async (params) => {
    const { key } = params;
    const context = { ...contextOf(key), key, now: clock.now(), sessionId: store.newSessionId() };
    const uniqueLabel = labelOf(params);
    const decide = (old: SessionEntry | undefined) => {
      const next = patched(old, params, context);
      return next === old ? undefined : next;
    };
    const { old, entry } = await store.change(key, decide, {
      unused: isMarksOnly(params), // the time of last use is written back
      ...(uniqueLabel !== undefined && { uniqueLabel }),
    });
    if (!old) lifecycle.announceStart(key, entry);
    return entry;
  };
}
