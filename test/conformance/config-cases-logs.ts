/** Keys of the section `logging`. */
import type { Given } from "./config-cases.ts";

/** By the way its files are called, a picture of the log shows its level only. */
export const LOGS_GIVEN: Readonly<Record<string, Given>> = {
  "logging.level": { values: ["error"] }, // anything lower writes into the report of this test
  "logging.consoleLevel": { values: ["error"] },
  "logging.file": { values: ["own.log"] },
};

const SETTINGS = "host/logs/settings.test.ts";

export const LOGS_SEEN_ELSEWHERE: Readonly<Record<string, string>> = {
  "logging.consoleStyle": SETTINGS,
  "logging.file": SETTINGS,
  "logging.maxFileBytes": SETTINGS,
  "logging.maxTotalBytes": SETTINGS,
  "logging.retentionDays": SETTINGS,
  "logging.redactSensitive": SETTINGS,
  "logging.redactPatterns": SETTINGS,
};
