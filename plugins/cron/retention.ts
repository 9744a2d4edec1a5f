/** Forgets the sessions of runs that ended long ago. */
import { parseDuration } from "@svc/kit/time";
import type { Clock, Logger } from "@svc/sdk";
import type { CronConfig } from "./config.ts";
import type { CronStore } from "./store.ts";

/** Choice: sessions forgotten at once. */
const BATCH = 20;

export interface RetentionSources {
  readonly store: Pick<CronStore, "oldRunKeys" | "forgetRunKey" | "write">;
  readonly clock: Pick<Clock, "now">;
  readonly log: Pick<Logger, "warn">;
  readonly config: Pick<CronConfig, "sessionRetention">;
  /** Its transcript is archived. */
  deleteSession(key: string): Promise<unknown>;
}

/** To be called after a job has run: without jobs nothing has to be forgotten. Never rejects. */
export async function forgetOldSessions({ store, clock, log, config, deleteSession }: RetentionSources): Promise<void> {
  const { sessionRetention } = config;
  if (sessionRetention === false) return;
  try {
    for (const key of await store.oldRunKeys(clock.now() - parseDuration(sessionRetention), BATCH)) {
      await deleteSession(key);
      await store.write([store.forgetRunKey(key)]); // afterwards: a crash in between deletes it once more
    }
  } catch (error) {
    log.warn({ err: error }, "sessions of old runs of cron jobs could not be deleted now");
  }
}
