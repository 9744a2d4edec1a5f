/** Patches: parsing, places of hunks, and invalid texts. */
import assert from "node:assert/strict";
import { readFile, stat, writeFile, chmod, mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { GatewayError, isGatewayError } from "@svc/sdk";
import { textOf } from "@svc/sdk/models";
import { withHunks } from "../../../plugins/workspace/patch/hunks.ts";
import { parsePatch } from "../../../plugins/workspace/patch/parse.ts";
import { carryOut } from "../../../plugins/workspace/patch/tool.ts";
import { silentLog } from "../agents/silent-log.ts";
import { openScene } from "./scene.ts";

const patch = (...lines: string[]) => ["*** Begin Patch", ...lines, "*** End Patch"].join("\n");
const update = (...lines: string[]) => patch("*** Update File: f", ...lines);

/** The text after the hunks of an update. */
function applied(text: string, lines: readonly string[]): string {
  const [change] = parsePatch(update(...lines));
  assert.ok(change?.kind === "update");
  return withHunks(text, change.hunks, "f");
}

describe("a patch", () => {
  it("is parsed into sections", () => {
    const text = patch(
      "*** Add File: a/new.txt",
      "+one",
      "+",
      "+*** two",
      "*** Delete File: old.txt",
      "",
      "*** Update File: b.txt",
      "*** Move to: c.txt",
      "@@ class X",
      "@@ def f",
      " stays",
      "-goes",
      "+comes",
      "*** End of File",
    );
    assert.deepEqual(parsePatch(`\n${text}\n\n`), [
      { kind: "add", path: "a/new.txt", content: "one\n\n*** two\n" },
      { kind: "delete", path: "old.txt" },
      {
        kind: "update",
        path: "b.txt",
        moveTo: "c.txt",
        hunks: [
          {
            at: 10,
            headers: ["class X", "def f"],
            lines: [
              { sign: " ", text: "stays" },
              { sign: "-", text: "goes" },
              { sign: "+", text: "comes" },
            ],
            isAtEnd: true,
          },
        ],
      },
    ]);
  });

  const refusals: [what: string, text: string, message: RegExp][] = [
    ["no beginning", "*** Update File: a", /line 1 of the patch: a patch must start/],
    ["no end", "*** Begin Patch\n*** Delete File: a", /line 2 of the patch: a patch must end/],
    ["nothing in it", patch(), /line 2 of the patch: this patch has no file/],
    ["no section", patch("hello"), /line 2 of the patch: expected "\*\*\* Add File/],
    ["no path", patch("*** Delete File: "), /line 2 of the patch: the path is missing/],
    ["no path to move to", patch("*** Update File: a", "*** Move to:"), /line 3 of the patch: the path is missing/],
    ["a line without + in a new file", patch("*** Add File: a", "y"), /line 3 of the patch: each line of an added/],
    ["no hunks", patch("*** Update File: a"), /line 3 of the patch: the patch changes nothing in a/],
    ["a hunk that changes nothing", update("@@", " a"), /line 3 of the patch: this hunk changes nothing/],
    ["a line without a sign", update("@@", "-a", "b"), /line 5 of the patch: each line of a hunk/],
    ["too many files", patch(...Array.from({ length: 101 }, (_, n) => `*** Delete File: f${n}`)), /at most 100 files/],
    ["too many hunks", update(...Array.from({ length: 501 }, () => "@@\n+x")), /at most 500 hunks, not 501/],
  ];
  for (const [what, text, message] of refusals) {
    it(`is refused with ${what}`, () => assert.throws(() => parsePatch(text), { code: "INVALID_REQUEST", message }));
  }
});

describe("hunks", () => {
  const abc = "a\nb\nc\n";
  const twice = "one\nx\ntwo\nx\n";
  const cases: [what: string, text: string, lines: string[], expected: string | RegExp][] = [
    ["replace a line", abc, ["@@", " a", "-b", "+B", " c"], "a\nB\nc\n"],
    ["need no @@ at first", abc, ["-b", "+B"], "a\nB\nc\n"],
    ["come one after the other", abc, ["-a", "+A", "@@", "-c", "+C"], "A\nb\nC\n"],
    ["are refused in another order", abc, ["-c", "+C", "@@", "-a", "+A"], /line 5 of the patch does not match/],
    ["take lines away", abc, ["-a", "-b", "-c"], ""],
    ["add at the end when they have no place", abc, ["+d"], "a\nb\nc\nd\n"],
    ["add to an empty file", "", ["+a"], "a\n"],
    ["add after a line", abc, ["@@ a", "+x"], "a\nx\nb\nc\n"],
    ["add at the end, whatever line comes before", abc, ["@@ a", "+x", "*** End of File"], "a\nb\nc\nx\n"],
    ["keep a missing last line end", "a\nb", ["-b", "+B"], "a\nB"],
    ["get the line ends of the file", "a\r\nb\r\n", ["-b", "+B", "+c"], "a\r\nB\r\nc\r\n"],
    ["fit where only blanks at line ends differ, and leave those", "a  \nb\n", [" a", "-b", "+B"], "a  \nB\n"],
    ["take an empty line for one that stays", "a\n\nb\n", [" a", "", "-b", "+B"], "a\n\nB\n"],
    ["do not fit with another indentation", "  a\n", ["-a", "+b"], /does not match; read the file/],
    ["are refused where several places fit", twice, ["-x", "+y"], /matches 2 places; include more lines/],
    ["are led by the line before", twice, ["@@ two", "-x", "+y"], "one\nx\ntwo\ny\n"],
    ["are led as other tools write it", twice, ["@@ -3,2 +3,2 @@ two", "-x", "+y"], "one\nx\ntwo\ny\n"],
    [
      "are led by several lines",
      "c1\n f\n  x\nc2\n f\n  x\n",
      ["@@ c2", "@@ f", "-  x", "+  y"],
      "c1\n f\n  x\nc2\n f\n  y\n",
    ],
    ["are refused where that line is not", twice, ["@@ three", "-x", "+y"], /refers to the line "three"/],
    ["are tied to the end", twice, ["-x", "+y", "*** End of File"], "one\nx\ntwo\ny\n"],
    ["are refused when the end is elsewhere", abc, ["-a", "+A", "*** End of File"], /does not match/],
    ["find a place whose beginning repeats", "a\na\na\nb\n", [" a", " a", "-b", "+c"], "a\na\na\nc\n"],
  ];
  for (const [what, text, lines, expected] of cases) {
    it(what, () => {
      if (typeof expected === "string") assert.equal(applied(text, lines), expected);
      else assert.throws(() => applied(text, lines), { code: "INVALID_REQUEST", message: expected });
    });
  }

  const line = fc.constantFrom("", "a", "b", "c", " a", "+", "-x", "@@", "*** End of File", "ä  ");

  it("turn any file into the result of its diff", () => {
    const edit = fc.record({ keep: fc.boolean(), line, added: fc.array(line, { maxLength: 2 }) });
    fc.assert(
      fc.property(fc.array(edit, { minLength: 1, maxLength: 12 }), (edits) => {
        const before = edits.map((one) => `${one.line}\n`).join("");
        const after = edits.flatMap((one) => [...(one.keep ? [one.line] : []), ...one.added]);
        const signed = edits.flatMap((one) => [
          `${one.keep ? " " : "-"}${one.line}`,
          ...one.added.map((text) => `+${text}`),
        ]);
        fc.pre(signed.some((text) => !text.startsWith(" ")));
        assert.equal(applied(before, signed), after.map((text) => `${text}\n`).join(""));
      }),
      { numRuns: 300 },
    );
  });

  it("and patches of any text end in a file or a refusal", () => {
    const sections = ["Begin Patch", "End Patch", "Update File: f", "Add File: g", "Delete File: f", "Move to: h"];
    const marks = fc.constantFrom(...sections.map((section) => `*** ${section}`), "@@ a", " a", "-a", "+b");
    fc.assert(
      fc.property(
        fc.array(fc.oneof(marks, line), { maxLength: 14 }),
        fc.array(line, { maxLength: 6 }),
        (lines, file) => {
          try {
            for (const change of parsePatch(patch(...lines))) {
              if (change.kind === "update")
                assert.equal(typeof withHunks(file.join("\n"), change.hunks, "f"), "string");
            }
          } catch (error) {
            assert.ok(isGatewayError(error), String(error));
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  it("are found in linear time in a long file of equal lines", () => {
    const lines = Array.from({ length: 40_000 }, () => " a");
    assert.throws(() => applied("a\n".repeat(99_000), [...lines, "-b", "+c"]), { message: /does not match/ });
    assert.throws(() => applied("a\n".repeat(100_001), ["-a"]), { message: /more than 100000 lines/ });
  });
});

describe("apply_patch", () => {
  const files = { "a.txt": "a\n", "sub/b.txt": "b\n", "c.sh": "c\n" };

  async function openFiles(t: Parameters<typeof openScene>[0]) {
    const scene = await openScene(t);
    await mkdir(join(scene.root, "sub"));
    for (const [name, text] of Object.entries(files)) await writeFile(join(scene.root, name), text, { mode: 0o644 });
    await chmod(join(scene.root, "c.sh"), 0o755);
    return { ...scene, text: (name: string) => readFile(join(scene.root, name), "utf8") };
  }

  it("changes, adds, moves and removes", async (t) => {
    const { root, say, text } = await openFiles(t);
    const lines = [
      "*** Update File: a.txt",
      "-a",
      "+A",
      "*** Add File: new/deep/d.txt",
      "+d",
      "*** Update File: c.sh",
      "*** Move to: sub/c.sh",
      "-c",
      "+C",
      `*** Delete File: ${join(root, "sub/b.txt")}`,
    ];
    const said = await say("apply_patch", { patch: patch(...lines) });
    assert.equal(said, "done:\nM a.txt\nA new/deep/d.txt\nR c.sh -> sub/c.sh\nD sub/b.txt");
    assert.deepEqual(
      [await text("a.txt"), await text("new/deep/d.txt"), await text("sub/c.sh")],
      ["A\n", "d\n", "C\n"],
    );
    assert.deepEqual(
      [(await readdir(root)).sort(), await readdir(join(root, "sub"))],
      [["a.txt", "new", "sub"], ["c.sh"]],
    );
    const modes = ["a.txt", "new/deep/d.txt", "sub/c.sh"].map(
      async (name) => (await stat(join(root, name))).mode & 0o777,
    );
    assert.deepEqual(await Promise.all(modes), [0o644, 0o600, 0o755]);
  });

  const good = ["*** Update File: a.txt", "-a", "+A"];
  const refused: [what: string, lines: string[], message: RegExp, code?: string][] = [
    ["a hunk that does not fit", ["*** Update File: c.sh", "-x"], /c\.sh: the hunk .* does not match/],
    ["a file that is not there", ["*** Delete File: none"], /no file none/, "NOT_FOUND"],
    ["a file to update that is not there", ["*** Update File: none", "-x"], /no file none/, "NOT_FOUND"],
    ["a new file that is there", ["*** Add File: c.sh", "+x"], /c\.sh already exists/],
    ["a place that is taken", ["*** Update File: c.sh", "*** Move to: sub/b.txt"], /already exists/],
    ["the same file twice", ["*** Delete File: ./a.txt"], /in this patch twice/],
    ["a path that leads out", ["*** Add File: ../x", "+x"], /not a path below/],
    ["a place outside", ["*** Update File: c.sh", "*** Move to: /tmp/x"], /outside the workspace/],
    ["a file as a directory", ["*** Add File: c.sh/x", "+x"], /through a file/],
    ["a directory as a file", ["*** Delete File: sub"], /is a directory/],
  ];
  it("writes nothing at all where one of its changes is refused", async (t) => {
    const { root, use, text } = await openFiles(t);
    for (const [what, lines, message, code = "INVALID_REQUEST"] of refused)
      await assert.rejects(use("apply_patch", { patch: patch(...good, ...lines) }), { code, message }, what);
    for (const [name, before] of Object.entries(files)) assert.equal(await text(name), before);
    assert.deepEqual((await readdir(root)).sort(), ["a.txt", "c.sh", "sub"]);
  });

  it("reports what was done when a file fails after others", async () => {
    const step = (label: string, error?: Error) => ({
      label,
      names: [],
      run: () => (error ? Promise.reject(error) : Promise.resolve()),
    });
    const full = new GatewayError("UNAVAILABLE", "b: the disk is full; an operator has to make room");
    const result = await carryOut([step("M a"), step("M b", full), step("D c")], silentLog);
    assert.equal(result.isError, true);
    assert.equal(
      textOf(result),
      "the patch was applied in part: M b failed: b: the disk is full; an operator has to make room\n" +
        "done:\nM a\nnot done:\nM b\nD c",
    );
    const broken = await carryOut([step("M a", new Error("/secret/path"))], silentLog);
    assert.match(
      textOf(broken),
      /^the patch .* M a failed: the gateway failed; its log has the reason\ndone: nothing\n/,
    );
  });
});
