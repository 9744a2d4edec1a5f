/** Keys of the section `logging`. */
import type { Given } from "./config-cases.ts";

/** Apart from the names of its files, a picture of the log shows only its level. */
export const LOGS_GIVEN: Readonly<Record<string, Given>> = {
  "logging.level": { values: ["error"] }, // a lower level would write into the report of this test
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
