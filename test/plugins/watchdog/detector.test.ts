import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { blockLine, describeBlock } from "../../../plugins/watchdog/block-report.ts";
import { AGAIN_MS, BlockDetector, type Finding, LOOK_MS } from "../../../plugins/watchdog/detector.ts";

/** A sequence of equal samples. */
interface Stretch {
  readonly looks: number;
  /** Interval of the samples. Default: that of the thread. */
  readonly everyMs?: number;
  /** Whether the loop runs between the samples. */
  readonly beats?: boolean;
  readonly mark?: number;
  readonly excused?: boolean;
}

function detect(...stretches: readonly Stretch[]): Finding[] {
  const detector = new BlockDetector();
  let now = 5_000;
  let beat = 0;
  const looks = stretches.flatMap(({ looks: count, everyMs = LOOK_MS, beats = false, mark = 0, excused = false }) =>
    Array.from({ length: count }, () => {
      if (beats) beat++;
      return { now: (now += everyMs), beat, mark, excused };
    }),
  );
  return looks.flatMap((look) => detector.look(look) ?? []);
}

const rounds = (looks: number): Stretch => ({ looks, beats: true });
const blocked = (ms: number, mark: number) => ({ kind: "blocked", ms, mark });
const over = (ms: number, mark: number) => ({ kind: "over", ms, mark });

describe("the detector", () => {
  const rows: [what: string, stretches: Stretch[], findings: object[]][] = [
    ["a loop that runs", [rounds(50)], []],
    ["a loop blocked for less than a second", [rounds(5), { looks: 4, mark: 3 }, rounds(5)], []],
    ["a loop blocked for a second", [rounds(5), { looks: 5, mark: 3 }, rounds(5)], [blocked(1_000, 3), over(1_000, 3)]],
    [
      "the plugin seen most often",
      [rounds(2), { looks: 1, mark: 1 }, { looks: 3, mark: 2 }, { looks: 2, mark: 1 }, rounds(1)],
      [blocked(1_000, 2), over(1_200, 1)],
    ],
    [
      "two blocks by two plugins",
      [rounds(1), { looks: 5, mark: 1 }, rounds(1), { looks: 5, mark: 2 }, rounds(1)],
      [blocked(1_000, 1), over(1_000, 1), blocked(1_000, 2), over(1_000, 2)],
    ],
    ["code of no plugin", [rounds(1), { looks: 5 }, rounds(1)], [blocked(1_000, 0), over(1_000, 0)]],
    ["a process that was suspended for a minute", [rounds(3), { looks: 1, everyMs: 60_000, mark: 3 }, rounds(3)], []],
    [
      "a process that is suspended repeatedly",
      Array.from({ length: 9 }, () => [{ looks: 1, everyMs: 9_000, mark: 3 }, rounds(1)]).flat(),
      [],
    ],
    [
      "a block with a suspension, which does not count",
      [rounds(1), { looks: 5, mark: 3 }, { looks: 1, everyMs: 60_000, mark: 3 }, rounds(1)],
      [blocked(1_000, 3), over(1_400, 3)],
    ],
    ["a debugger that stopped it", [rounds(1), { looks: 99, mark: 3, excused: true }, rounds(1)], []],
  ];
  for (const [what, stretches, findings] of rows)
    it(`of ${what}`, () => assert.deepEqual(detect(...stretches), findings));

  it("of a loop that never runs again: repeated reports at a low rate", () => {
    const findings = detect(rounds(1), { looks: 60_000 / LOOK_MS + 6, mark: 3 });
    assert.deepEqual(findings, [
      blocked(1_000, 3),
      { kind: "still", ms: 1_000 + AGAIN_MS, mark: 3 },
      { kind: "still", ms: 1_000 + 2 * AGAIN_MS, mark: 3 },
    ]);
  });
});

it("a block is logged as JSON in a pipe, and as text on a terminal", () => {
  const record = {
    at: 1,
    pid: 7,
    plugin: "notes",
    blockedMs: 1_001,
    over: false,
    stack: ["render (file:///n.ts:12:58)", "f"],
  };
  const msg = describeBlock(record);
  assert.deepEqual(JSON.parse(blockLine(record, msg, 2, false)), {
    level: 50,
    time: 2,
    plugin: "notes",
    blockedMs: 1_001,
    stack: record.stack,
    msg,
  });
  assert.equal(blockLine(record, msg, 0, true), `00:00:00 ERROR ${msg} (in render (file:///n.ts:12:58))`);
  assert.equal(blockLine({ ...record, stack: [] }, "\u001b[2K", 0, true), "00:00:00 ERROR \\u001b[2K");
});
