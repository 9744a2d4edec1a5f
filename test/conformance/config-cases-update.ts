/** Keys of the section `update`: their effects take time, and a gateway inside another program does not check for updates. */
import type { Given } from "./config-cases.ts";

export const UPDATE_GIVEN: Readonly<Record<string, Given>> = {
  "update.checkOnStart": { values: [false] },
};

export const UPDATE_SEEN_ELSEWHERE: Readonly<Record<string, string>> = {
  "update.channel": "plugins/update/npm-update.test.ts",
  "update.checkOnStart": "plugins/update/decisions.test.ts",
  "update.auto.": "plugins/update/decisions.test.ts",
};
