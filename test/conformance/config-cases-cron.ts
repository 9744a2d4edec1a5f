/** Keys of the section `cron`. */
import type { Given } from "./config-cases.ts";

const AT = { source: "env", id: "SAMPLE" };
const token = (webhookToken: object) => ({ cron: { webhookToken } });
const tokens = (after: object): Given => ({ between: [token(AT), token({ ...AT, ...after })] });

export const CRON_GIVEN: Readonly<Record<string, Given>> = {
  "cron.webhookToken.source": tokens({ source: "file" }),
  "cron.webhookToken.id": tokens({ id: "OTHER" }),
  "cron.webhookToken.provider": tokens({ provider: "other" }),
  "cron.retry.backoffMs": { values: [[1_000], [2_000, 4_000]] },
  "cron.retry.retryOn": { values: [["network"], ["timeout", "rate_limit"]] },
  "cron.sessionRetention": { values: ["12h", false] },
};

export const CRON_SEEN_ELSEWHERE: Readonly<Record<string, string>> = {
  "cron.enabled": "plugins/cron/config.test.ts",
  "cron.maxConcurrentRuns": "plugins/cron/config.test.ts",
  "cron.retry.maxAttempts": "plugins/cron/cron.test.ts",
  "cron.retry.backoffMs": "plugins/cron/cron.test.ts",
  "cron.retry.retryOn": "plugins/cron/runs/verdict.test.ts",
  "cron.webhookToken": "plugins/cron/cron.test.ts",
  "cron.webhookToken.": "plugins/cron/runs/notifications.test.ts",
  "cron.sessionRetention": "plugins/cron/cron.test.ts",
  "cron.runLog.keepLines": "plugins/cron/config.test.ts",
  "cron.failureAlert.": "plugins/cron/config.test.ts",
  "cron.failureDestination.": "plugins/cron/config.test.ts",
};
