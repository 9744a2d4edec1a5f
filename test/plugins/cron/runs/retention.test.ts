/** Sessions of old runs are deleted, even if earlier ones cannot be deleted. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { forgetOldSessions, type RetentionSources } from "../../../../plugins/cron/runs/retention.ts";

const cases: [what: string, stuck: number, keys: number, left: number][] = [
  ["one that stays", 1, 4, 1],
  ["more of them than are deleted at once", 45, 50, 45],
  ["none", 0, 30, 10],
];
for (const [what, stuck, count, left] of cases) {
  it(`later sessions are deleted although earlier ones cannot be: ${what}`, async () => {
    const keys = Array.from({ length: count }, (_, index) => `k${index}`);
    const warned: unknown[] = [];
    const sources = {
      store: {
        oldRunKeys: async (_before: number, limit: number, skipped: number) => keys.slice(skipped, skipped + limit),
        forgetRunKey: (key: string) => key,
        write: async ([key = ""]: string[]) => void keys.splice(keys.indexOf(key), 1),
      },
      clock: { now: () => 0 },
      config: { sessionRetention: "1h" },
      log: { warn: (about: unknown) => void warned.push(about) },
      deleteSession: async (key: string) =>
        Number(key.slice(1)) < stuck ? Promise.reject(new Error("no")) : undefined,
    } as unknown as RetentionSources; // only these parts are used
    await forgetOldSessions(sources);
    assert.equal(keys.length, left);
    assert.equal(warned.length, stuck);
  });
}
