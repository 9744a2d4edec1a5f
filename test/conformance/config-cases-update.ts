/** Keys of the section `update`: what they do takes time, and a gateway inside another program does not look. */
import type { Given } from "./config-cases.ts";

export const UPDATE_GIVEN: Readonly<Record<string, Given>> = {
  "update.checkOnStart": { values: [false] },
};

export const UPDATE_SEEN_ELSEWHERE: Readonly<Record<string, string>> = {
  "update.channel": "plugins/update/npm-update.test.ts",
  "update.checkOnStart": "plugins/update/decisions.test.ts",
  "update.auto.": "plugins/update/decisions.test.ts",
};
