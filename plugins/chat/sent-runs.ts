/** Runs that `chat.send` started, from the request until their end, with the session key of the caller, who may abort them. */

import type { Peers } from "@svc/sdk/gateway";

/** Choice: far more than can run at once; above it the oldest is dropped, and its canonical key counts as the caller's key. */
const MAX_REMEMBERED = 10_000;

interface SentRun {
  /** Session key as the caller wrote it. */
  readonly rawKey: string;
  /** Resolves when the run is on disk or was refused. Never rejects. */
  readonly settled: Promise<unknown>;
}

export interface SentRuns {
  /** @param start resolves when the run is on disk. @returns false for a known run, which is left unchanged */
  add(runId: string, rawKey: string, start: Promise<unknown>): boolean;
  delete(runId: string): void;
  /** `undefined` for a run that `chat.send` did not start, or started before this plugin was loaded. */
  rawKey(runId: string): string | undefined;
  /** Waits for all pending starts under `rawKey`, so that an abort finds every run sent before it. */
  settled(rawKey: string): Promise<void>;
  readonly size: number;
}

/** Topic of the keys of the runs that were sent to each gateway. */
const SENT = "chat/sent";

export function createSentRuns(peers: Pick<Peers, "share" | "shared">): SentRuns {
  const runs = new Map<string, SentRun>();
  const drop = (runId: string) => {
    if (runs.delete(runId)) peers.share(SENT, runId, undefined);
  };
  const elsewhere = (runId: string) => peers.shared(SENT).find(({ key }) => key === runId)?.value as string | undefined; // shared below
  return {
    add(runId, rawKey, start) {
      const settled = start.catch(() => undefined);
      if (runs.has(runId)) return false;
      runs.set(runId, { rawKey, settled });
      peers.share(SENT, runId, rawKey);
      for (const oldest of runs.keys()) {
        if (runs.size <= MAX_REMEMBERED) break;
        drop(oldest);
      }
      return true;
    },
    delete: drop,
    rawKey: (runId) => runs.get(runId)?.rawKey ?? elsewhere(runId),
    async settled(rawKey) {
      await Promise.all([...runs.values()].filter((run) => run.rawKey === rawKey).map((run) => run.settled));
    },
    get size() {
      return runs.size;
    },
  };
}
