/** Changes settings of a session, for `sessions.patch` and for the tool `session_status`. */
import type { Clock } from "@svc/sdk";
import type { SessionEntry } from "@svc/sdk/sessions";
import type { Lifecycle } from "../lifecycle/lifecycle.ts";
import type { SessionStore } from "../store/store.ts";
import type { ModelSources } from "./model-choice.ts";
import { labelOf, patched, type PatchParams } from "./patching.ts";

export interface PatchOptions {
  readonly store: SessionStore;
  readonly lifecycle: Pick<Lifecycle, "announceStart">;
  readonly clock: Pick<Clock, "now">;
  /** The current model catalogue and policy, for a canonical key. */
  readonly models: (key: string) => ModelSources;
}

/** Creates a missing session. @param params.key canonical. @returns the new entry. @throws GatewayError as `patched` */
export type PatchSession = (params: PatchParams) => Promise<SessionEntry>;

export function createPatch({ store, lifecycle, clock, models }: PatchOptions): PatchSession {
  return async (params) => {
    const { key } = params;
    const context = { ...models(key), key, now: clock.now(), sessionId: store.newSessionId() };
    const uniqueLabel = labelOf(params);
    const decide = (old: SessionEntry | undefined) => patched(old, params, context);
    const { old, entry } = await store.change(key, decide, uniqueLabel === undefined ? {} : { uniqueLabel });
    if (!old) lifecycle.announceStart(key, entry);
    return entry;
  };
}
