/** Answers under way: each ends with its caller, and all of them with this plugin. */
import type { AskedRuns } from "@svc/sdk/services";

export interface LiveAnswers {
  /** @returns aborts when the caller is gone or the plugin stops */
  open(runId: string, caller: AbortSignal): AbortSignal;
  close(runId: string): void;
  /** Ends all of them, since nobody will hear of their runs any more. */
  stop(): void;
}

/** @param now epoch ms */
export function createLiveAnswers(asked: Pick<AskedRuns, "take">, now: () => number): LiveAnswers {
  const open = new Map<string, AbortController>();
  return {
    open(runId, caller) {
      const gone = new AbortController();
      open.set(runId, gone);
      if (caller.aborted) gone.abort();
      else caller.addEventListener("abort", () => gone.abort(), { once: true });
      return gone.signal;
    },
    close: (runId) => void open.delete(runId),
    stop() {
      for (const [runId, gone] of open) {
        gone.abort();
        const ended = {
          runId,
          sessionKey: "",
          status: "aborted",
          abortReason: "restart",
          endedAt: now(),
          text: "",
        } as const;
        const event = { runId, seq: 0, stream: "lifecycle", ts: ended.endedAt, data: {}, sessionKey: "" } as const;
        asked.take({ ...event, outcome: ended });
      }
      open.clear();
    },
  };
}
