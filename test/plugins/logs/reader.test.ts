import assert from "node:assert/strict";
import { appendFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { passes, prettyLine } from "../../../plugins/logs/lines.ts";
import { type Answer, readBack, readOn, tail } from "../../../plugins/logs/reader.ts";
import { firstLines, lastLines, windowOf } from "../../../plugins/logs/tail.ts";

const all = () => true;

function place(t: TestContext, name = "svc-2026-03-02.log") {
  const directory = mkdtempSync(join(tmpdir(), "svc-logs-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const path = join(directory, name);
  return {
    path,
    write: (text: string, to = name) => appendFileSync(join(directory, to), text),
    replace: (text: string) => writeFileSync(path, text),
    rename: (to: string, from = name) => renameSync(join(directory, from), join(directory, to)),
    remove: (what: string) => rmSync(join(directory, what)),
  };
}

describe("the last lines", () => {
  it("of a missing file are none", async (t) => {
    const { path } = place(t);
    const none = { file: path, cursor: 0, size: 0, lines: [], truncated: false, reset: false };
    assert.deepEqual(await tail({ path }), none);
    assert.deepEqual(await tail({ path, cursor: 7 }), none);
    assert.deepEqual(await tail({ path: join(path, "..", "nowhere", "x.log") }), {
      ...none,
      file: join(path, "..", "nowhere", "x.log"),
    });
  });

  it("are returned oldest first, at most the limit, and the cursor is the size", async (t) => {
    const { path, write } = place(t);
    write("1\n2\n3\n");
    const part = "svc-2026-03-02.1.log";
    assert.deepEqual(await tail({ path, limit: 2 }), {
      file: path,
      cursor: 6,
      size: 6,
      begin: 2,
      lines: ["2", "3"],
      truncated: false,
      reset: false,
      part,
    });
  });

  const windows: [
    what: string,
    cursor: number | undefined,
    maxBytes: number,
    lines: string[],
    truncated: boolean,
    reset: boolean,
  ][] = [
    ["without a cursor, all", undefined, 100, ["11", "22", "33"], false, false],
    ["without a cursor, as far as the bytes go, no half line", undefined, 4, ["33"], true, false],
    ["without a cursor, from the start of a line", undefined, 3, ["33"], true, false],
    ["after a cursor", 3, 100, ["22", "33"], false, false],
    ["after a cursor inside a line, which is dropped", 4, 100, ["33"], false, false],
    ["after the end", 9, 100, [], false, false],
    ["after a cursor beyond the end: it shrank", 10, 100, ["11", "22", "33"], false, true],
    ["after a cursor that is too far behind", 0, 6, ["22", "33"], true, true],
  ];
  for (const [what, cursor, maxBytes, lines, truncated, reset] of windows) {
    it(`are, ${what}`, async (t) => {
      const { path, write } = place(t);
      write("11\n22\n33\n");
      const answer = await tail({ path, cursor, maxBytes });
      assert.deepEqual([answer.lines, answer.truncated, answer.reset, answer.cursor], [lines, truncated, reset, 9]);
    });
  }

  it("are of the newest day when there is no file of today, and never of another series", async (t) => {
    const { path, write } = place(t);
    write("old\n", "svc-2026-02-27.log");
    write("full\n", "svc-2026-02-28.1.log");
    write("yesterday\n", "svc-2026-02-28.log");
    write("other\n", "audit-2026-03-01.log");
    const { file, lines } = await tail({ path });
    assert.deepEqual([file, lines], [join(path, "..", "svc-2026-02-28.log"), ["yesterday"]]);
    const own = place(t, "own.log");
    own.write("full\n", "own.1.log");
    assert.deepEqual((await tail({ path: own.path })).lines, []);
  });

  it("may lack a final line feed", () =>
    assert.deepEqual(lastLines(Buffer.from("a\nb"), 9, false, all), { lines: ["a", "b"], begin: 0 }));
  it("of one endless line are none", () =>
    assert.deepEqual(lastLines(Buffer.from("abc"), 9, true, all), { lines: [], begin: 0 }));
  it("are read from a window that fits", () =>
    assert.deepEqual(windowOf(10, 4, 6), { from: 6, to: 10, truncated: false, reset: false }));
});

describe("reading back", () => {
  it("returns every line once, over all files, even in small steps", async (t) => {
    const { path, write } = place(t);
    write("1\n2\n", "svc-2026-03-01.log");
    write("3\n\n4\n", "svc-2026-03-02.1.log");
    write("5\n6\n7\n");
    for (const more of [{ limit: 1 }, { maxBytes: 4 }, { limit: 2, maxBytes: 5 }]) {
      let answer: Answer = await tail({ path, ...more });
      const lines = [...answer.lines];
      while (answer.begin !== undefined) {
        answer = await readBack({ path, ...more }, answer.begin, answer.part);
        lines.unshift(...answer.lines);
      }
      assert.deepEqual(lines, ["1", "2", "3", "", "4", "5", "6", "7"]);
    }
  });

  it("skips filtered lines, gets past an endless one, and ends where the file is gone", async (t) => {
    const { path, write } = place(t);
    write(`first\n${"x".repeat(50)}\nlast\n`);
    const { begin = 0, part } = await readBack({ path, maxBytes: 20, keep: (line) => line === "first" }, 61);
    const lines: string[] = [];
    for (let at: number | undefined = begin; at;)
      ({ begin: at } = await readBack({ path, maxBytes: 20, keep: (line) => lines.push(line) > 0 }, at, part));
    assert.equal(lines[0]?.length, 11);
    assert.equal(lines.at(-1), "first");
    assert.equal((await readBack({ path }, 5, "svc-2026-01-01.log")).begin, undefined);
  });
});

describe("continued reading", () => {
  const start: Pick<Answer, "cursor"> & { part: string } = { cursor: 0, part: "svc-2026-03-02.1.log" };

  /** Everything a follower gets from a place on. */
  async function follow(path: string, from: typeof start, more: object = {}) {
    const lines: string[] = [];
    let { cursor, part } = from;
    for (;;) {
      const answer = await readOn({ path, cursor, ...more }, part);
      lines.push(...answer.lines);
      const next = { cursor: answer.cursor, part: answer.part ?? part };
      if (next.cursor === cursor && next.part === part) return { lines, ...next };
      ({ cursor, part } = next);
    }
  }

  it("skips nothing, even in small steps", async (t) => {
    const { path, write } = place(t);
    const lines = Array.from({ length: 50 }, (_, i) => `line ${i}`);
    write(`${lines.join("\n")}\n`);
    for (const more of [{ limit: 1 }, { maxBytes: 10 }, { limit: 7, maxBytes: 30 }])
      assert.deepEqual((await follow(path, start, more)).lines, lines);
  });

  it("returns the rest of files renamed meanwhile, then the new ones", async (t) => {
    const { path, write, rename } = place(t);
    write("1\n");
    const first = await follow(path, start);
    write("2\n");
    rename("svc-2026-03-02.1.log");
    write("3\n");
    rename("svc-2026-03-02.2.log");
    write("4\n");
    write("5\n", "svc-2026-03-03.log");
    const { lines } = await follow(path.replace("03-02", "03-03"), first);
    assert.deepEqual([first.lines, lines], [["1"], ["2", "3", "4", "5"]]);
  });

  it("waits for the end of a line, except in a complete file", async (t) => {
    const { path, write, rename } = place(t);
    write("1\nha");
    const first = await follow(path, start);
    assert.deepEqual([first.lines, first.cursor], [["1"], 2]);
    write("lf");
    rename("svc-2026-03-02.1.log");
    write("3\n");
    assert.deepEqual((await follow(path, first)).lines, ["half", "3"]);
  });

  it("reports lost lines when the file was deleted or shrank", async (t) => {
    const { path, write, rename, remove, replace } = place(t);
    write("1\n2\n");
    rename("svc-2026-03-02.3.log");
    write("4\n");
    const gone = await readOn({ path, cursor: 2 }, "svc-2026-03-02.2.log");
    assert.deepEqual([gone.lines, gone.reset, gone.part], [["1", "2"], true, "svc-2026-03-02.3.log"]);
    remove("svc-2026-03-02.3.log");
    replace("5\n");
    const shrunk = await readOn({ path, cursor: 9 }, "svc-2026-03-02.1.log");
    assert.deepEqual([shrunk.lines, shrunk.reset], [["5"], true]);
    remove("svc-2026-03-02.log");
    assert.deepEqual((await readOn({ path, cursor: 9 }, "svc-2026-03-02.1.log")).lines, []);
  });

  it("returns an endless line in pieces", () => {
    assert.deepEqual(firstLines(Buffer.from("abc"), 9, true, all), { lines: ["abc"], bytes: 3 });
    assert.deepEqual(firstLines(Buffer.from("abc"), 9, false, all), { lines: [], bytes: 0 });
  });

  it("skips filtered lines", async (t) => {
    const { path, write } = place(t);
    write("1\n2\n3\n");
    const answer = await readOn({ path, cursor: 0, limit: 1, keep: (line) => line === "3" }, start.part);
    assert.deepEqual([answer.lines, answer.cursor], [["3"], 6]);
  });
});

describe("a line", () => {
  const line = JSON.stringify({
    level: 40,
    time: Date.UTC(2026, 0, 2),
    plugin: "notes",
    msg: "odd\u001b",
    err: { message: "why" },
  });
  const filters: [filter: object, expected: boolean][] = [
    [{}, true],
    [{ level: "warn" }, true],
    [{ level: "error" }, false],
    [{ subsystem: "notes" }, true],
    [{ subsystem: "host" }, false],
    [{ level: "info", subsystem: "notes" }, true],
    [{ text: "why" }, true],
    [{ text: "nothing" }, false],
  ];
  for (const [filter, expected] of filters)
    it(`${expected ? "passes" : "does not pass"} ${JSON.stringify(filter)}`, () =>
      assert.equal(passes(line, filter), expected));

  it("of the gateway itself belongs to host; one that is not JSON matches no filter", () => {
    assert.equal(passes('{"level":30,"msg":"x"}', { subsystem: "host" }), true);
    assert.equal(passes("plain text", { level: "trace" }), false);
    assert.equal(passes("{ cut off", { level: "trace" }), false);
  });

  it("is shown to people with time, level, subsystem and sentence", () => {
    assert.equal(prettyLine(line), "2026-01-02 00:00:00Z  WARN   notes  odd\\u001b (why)");
    const refused =
      '{"level":30,"time":1767312000000,"plugin":"channels","msg":"refused","who":"bob","why":"not in x"}';
    assert.match(prettyLine(refused), /refused \(who: bob, why: not in x\)$/);
    assert.equal(prettyLine("plain\u0007"), "plain\\u0007");
  });
});
