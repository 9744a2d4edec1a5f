/** One look at an agent's workspace for all runs that begin within a moment. */
import type { Clock } from "@svc/sdk";

/** Milliseconds a look counts. Choice: an edit made by hand is seen by runs that begin this much later. */
const FRESH_MS = 1_000;

export interface SharedPrompt {
  of(agentId: string): Promise<string>;
  /** Files were written, or agents changed: the next run looks again. */
  forget(): void;
}

/** @param look reads the files */
export function shareLooks(look: (agentId: string) => Promise<string>, clock: Pick<Clock, "elapsed">): SharedPrompt {
  const looks = new Map<string, { readonly at: number; readonly prompt: Promise<string> }>();
  return {
    of(agentId) {
      const known = looks.get(agentId);
      const now = clock.elapsed();
      if (known && now - known.at < FRESH_MS) return known.prompt;
      const shared = { at: now, prompt: look(agentId) };
      looks.set(agentId, shared);
      // The next run tries again; this one is told by whoever awaits it.
      shared.prompt.catch(() => looks.get(agentId) === shared && looks.delete(agentId));
      return shared.prompt;
    },
    forget: () => looks.clear(),
  };
}
