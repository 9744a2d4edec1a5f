import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import {
  type KeptVersion,
  MAX_TOTAL_BYTES,
  MAX_VERSIONS,
  superfluous,
} from "../../../../plugins/agents/versions/limits.ts";

const MIB = 1024 * 1024;
/** Versions from 1 of these runs and sizes. */
const versions = (all: readonly { bytes?: number; runId?: string | undefined }[]): KeptVersion[] =>
  all.map(({ bytes = 1, runId }, at) => ({ version: at + 1, bytes, runId }));
const times = <T>(count: number, value: T) => Array.from({ length: count }, () => value);

describe("which versions go", () => {
  const cases: [what: string, all: KeptVersion[], gone: number[]][] = [
    ["none of as many as may be kept", versions(times(MAX_VERSIONS, {})), []],
    ["the oldest of one too many", versions(times(MAX_VERSIONS + 1, {})), [1]],
    ["the oldest beyond the bytes there are for all", versions(times(10, { bytes: MIB })), [1, 2]],
    ["what a run replaced itself, before the oldest", versions([{}, ...times(MAX_VERSIONS + 9, { runId: "r" })]), [2, 3, 4, 5, 6, 7, 8, 9, 10, 11]],
    ["never the newest, however large", versions([{ bytes: 1 }, { bytes: 2 * MAX_TOTAL_BYTES }]), [1]],
    ["the oldest of what different runs wrote", versions(Array.from({ length: MAX_VERSIONS + 2 }, (_, at) => ({ runId: `r${at}` }))), [1, 2]],
  ]; // prettier-ignore
  for (const [what, all, gone] of cases) it(what, () => assert.deepEqual(superfluous(all), gone));

  const version = fc.record({
    bytes: fc.integer({ min: 0, max: MIB }),
    runId: fc.option(fc.constantFrom("a", "b"), { nil: undefined }),
  });

  it("leaves any history within both limits, with its newest version, and drops no more than that takes", () => {
    fc.assert(
      fc.property(fc.array(version, { minLength: 1, maxLength: 80 }), (all) => {
        const rows = versions(all);
        const gone = superfluous(rows);
        const isWithin = (dropped: readonly number[]) => {
          const kept = rows.filter(({ version: number }) => !dropped.includes(number));
          const total = kept.reduce((sum, { bytes }) => sum + bytes, 0);
          return kept.length <= MAX_VERSIONS && total <= MAX_TOTAL_BYTES;
        };
        assert.ok(isWithin(gone));
        assert.ok(!gone.includes(rows.length));
        assert.ok(gone.length === 0 || !isWithin(gone.slice(0, -1)));
      }),
    );
  });
});
