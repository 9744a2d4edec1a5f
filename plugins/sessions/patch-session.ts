/** Changes settings of a session: for `sessions.patch`, and for the tool that sets a model. */
import type { Clock } from "@svc/sdk";
import type { SessionEntry } from "@svc/sdk/sessions";
import type { Lifecycle } from "./lifecycle.ts";
import type { ModelSources } from "./model-choice.ts";
import { labelOf, patched, type PatchParams } from "./patching.ts";
import type { SessionStore } from "./store.ts";

export interface PatchOptions {
  readonly store: SessionStore;
  readonly lifecycle: Pick<Lifecycle, "announceStart">;
  readonly clock: Pick<Clock, "now">;
  /** The model catalogue and what may be used of it, as they are now. */
  readonly models: () => ModelSources;
}

/** @param params.key canonical. @returns the entry after it; made when there was none. @throws GatewayError as `patched` */
export type PatchSession = (params: PatchParams) => Promise<SessionEntry>;

export function createPatch({ store, lifecycle, clock, models }: PatchOptions): PatchSession {
  return async (params) => {
    const { key } = params;
    const context = { ...models(), key, now: clock.now(), sessionId: store.newSessionId() };
    const uniqueLabel = labelOf(params);
    const decide = (old: SessionEntry | undefined) => patched(old, params, context);
    const { old, entry } = await store.change(key, decide, uniqueLabel === undefined ? {} : { uniqueLabel });
    if (!old) lifecycle.announceStart(key, entry);
    return entry;
  };
}
