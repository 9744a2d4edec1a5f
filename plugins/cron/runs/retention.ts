/** Deletes the sessions of old runs. */
import { parseDuration } from "@svc/kit/time";
import type { Clock, Logger } from "@svc/sdk";
import type { CronConfig } from "../config.ts";
import type { CronStore } from "../store/store.ts";

/** Choice: sessions deleted at once. */
const BATCH = 20;

export interface RetentionSources {
  readonly store: Pick<CronStore, "oldRunKeys" | "forgetRunKey" | "write">;
  readonly clock: Pick<Clock, "now">;
  readonly log: Pick<Logger, "warn">;
  readonly config: Pick<CronConfig, "sessionRetention">;
  /** The transcript is archived. */
  deleteSession(key: string): Promise<unknown>;
}

/** Call this after each run; without runs there is nothing to delete. Never rejects. */
export async function forgetOldSessions({ store, clock, log, config, deleteSession }: RetentionSources): Promise<void> {
  const { sessionRetention } = config;
  if (sessionRetention === false) return;
  const before = clock.now() - parseDuration(sessionRetention);
  try {
    for (let failed = 0, isMore = true; isMore;) {
      const keys = await store.oldRunKeys(before, BATCH, failed);
      const failedBefore = failed;
      for (const key of keys) {
        try {
          await deleteSession(key);
        } catch (error) {
          failed += 1;
          log.warn(
            { err: error, sessionKey: key },
            "the session of an old run of a cron job could not be deleted; retrying after the next run",
          );
          continue;
        }
        await store.write([store.forgetRunKey(key)]); // after the deletion: a crash in between only repeats the deletion
      }
      isMore = keys.length === BATCH && failed > failedBefore; // sessions that could not be deleted do not block later ones
    }
  } catch (error) {
    log.warn({ err: error }, "sessions of old runs of cron jobs could not be deleted; retrying after the next run");
  }
}
