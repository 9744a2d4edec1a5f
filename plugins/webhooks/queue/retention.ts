/** When records of webhooks are deleted. */
import type { ExpiringRows, Retention } from "@svc/sdk/storage";

const DAY_MS = 86_400_000;
const RUNS: Pick<ExpiringRows, "table" | "key" | "at"> = {
  table: "webhook_runs",
  key: ["run_id"],
  at: "accepted_at",
};

/** Choice: the periods and the count. */
export const WEBHOOK_RETENTION: Retention = {
  tables: ["webhook_runs", "webhook_keys"],
  holds: "accepted webhooks and their outcome; idempotency keys",
  rule: "done: 7 days; failed: 30 days; newest 50,000 of both; keys: 24 hours; queued and running ones are never deleted",
  rows: [
    { table: "webhook_keys", key: ["key"], at: "expires_at", olderThanMs: 0 },
    { ...RUNS, only: "status = 'done'", olderThanMs: 7 * DAY_MS },
    { ...RUNS, only: "status = 'failed'", olderThanMs: 30 * DAY_MS },
    { ...RUNS, only: "status IN ('done', 'failed')", most: 50_000 },
  ],
};
