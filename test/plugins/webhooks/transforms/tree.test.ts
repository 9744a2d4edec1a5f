// long: runs many threads
/** Allowed content of the directory, and ways in which it must not be reached. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, linkSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { readTree } from "../../../../plugins/webhooks/transforms/tree.ts";
import { LIMIT, resultOf, type Scene, scene } from "./scene.ts";

const GOOD = `export default () => ({ text: "good" });`;
const EVIL = `export default () => ({ text: "evil" });`;
const OTHER_USER = 4_711;
const AS_ROOT = { skip: process.getuid?.() === 0 ? false : "only root can give files away" };

/** A valid module, until `attack` makes one change. */
async function attacked(t: TestContext, attack: (made: Scene) => void, module = "t.ts") {
  const made = scene(t, { "t.ts": GOOD, "lib/word.ts": "export {};" });
  attack(made);
  const transforms = await made.configured([{ module }]);
  return { transforms, info: transforms.info({ module }), ...made };
}

/** A file outside of the root. */
function outside({ root }: Scene, text: string = EVIL): string {
  const file = join(dirname(root), "outside.ts");
  writeFileSync(file, text);
  return file;
}

type Attack = (made: Scene) => void;

/** Puts something else in the place of a file. */
const instead =
  (path: string, put: (file: string, made: Scene) => void): Attack =>
  (made) => {
    made.remove(path);
    put(join(made.root, path), made);
  };

const linkInside: Attack = (made) => {
  made.write("real.ts", GOOD);
  instead("t.ts", (file) => symlinkSync("real.ts", file))(made);
};

/** Files below `lib/` with this text. */
const filled =
  (count: number, text: string): Attack =>
  ({ write }) =>
    Array.from({ length: count }, (_, index) => write(`lib/${index}.json`, text));

describe("a transform does not serve when", () => {
  const isLink = /t\.ts: is a symbolic link; put the file itself there/;
  const attacks: [what: string, attack: Attack, problem: RegExp, options?: { skip: string | boolean }][] = [
    ["it is a link to a file outside", instead("t.ts", (file, made) => symlinkSync(outside(made), file)), isLink],
    ["it is a link to a file inside", linkInside, isLink],
    ["it cannot be resolved", instead("t.ts", (file) => symlinkSync("nowhere.ts", file)), isLink],
    ["it has another name elsewhere", instead("t.ts", (file, made) => linkSync(outside(made), file)), /hard link/],
    [
      "anybody may write to it",
      ({ root }) => chmodSync(join(root, "t.ts"), 0o646),
      /t\.ts: is world-writable; run: chmod o-w/,
    ],
    [
      "anybody may write to its directory",
      ({ root }) => chmodSync(root, 0o777),
      /transforms is world-writable; run: chmod o-w/,
    ],
    ["it is a directory", instead("t.ts", (file) => mkdirSync(file)), /does not exist/],
    ["it is a pipe", instead("t.ts", (file) => execFileSync("mkfifo", [file])), /t\.ts: is not a regular file/],
    [
      "it belongs to somebody else",
      ({ root }) => chownSync(join(root, "t.ts"), OTHER_USER, 0),
      /belongs to another user \(uid 4711\)/,
      AS_ROOT,
    ],
    [
      "its directory belongs to somebody else",
      ({ root }) => chownSync(root, OTHER_USER, 0),
      /transforms belongs to another user/,
      AS_ROOT,
    ],
    ["there are too many files", filled(1_001, "1"), /has more than 1000 files/],
    ["there is too much", filled(9, `"${"x".repeat(1 << 20)}"`), /has more than 8 MiB/],
    ["one file is too large", (made) => made.write("t.ts", `//${"x".repeat(9 << 20)}`), /larger than 8 MiB/],
  ];
  for (const [what, attack, problem, options = {}] of attacks)
    it(what, { ...LIMIT, ...options }, async (t) => {
      const { info, transforms } = await attacked(t, attack);
      assert.notEqual(info.state, "live");
      assert.match(info.problem ?? "", problem);
      await assert.rejects(resultOf(transforms, { module: "t.ts" }), { name: "TransformError", message: problem });
    });

  for (const module of [
    "../outside.ts",
    "lib/../../outside.ts",
    "..\\outside.ts",
    "/etc/passwd.ts",
    "file:///outside.ts",
  ])
    it(`it is named ${module}`, LIMIT, async (t) => {
      const { info } = await attacked(t, outside, module);
      assert.equal(info.state, "broken");
    });

  for (const module of ["t.d.ts", "t.json", "t.txt", "t"])
    it(`its file is ${module}`, LIMIT, async (t) => {
      const { info } = await attacked(t, (made) => void made.write(module, "1"), module);
      assert.match(info.problem ?? "", /a transform ends in \.ts/);
    });
});

describe("a helper that cannot be trusted", () => {
  const attacks: [what: string, attack: Attack, problem: RegExp][] = [
    [
      "in a directory that is a link",
      instead("lib", (file, made) => symlinkSync(dirname(outside(made)), file)),
      /lib\/word\.ts \(lib is a symbolic link/,
    ],
    [
      "in a directory anybody may write to",
      ({ root }) => chmodSync(join(root, "lib"), 0o777),
      /lib\/word\.ts \(lib is world-writable/,
    ],
    [
      "that is a link",
      instead("lib/word.ts", (file, made) => symlinkSync(outside(made), file)),
      /lib\/word\.ts is a symbolic link/,
    ],
  ];
  for (const [what, attack, problem] of attacks)
    it(`${what} stops only the transforms that import it`, LIMIT, async (t) => {
      const made = scene(t, {
        "t.ts": `import "./lib/word.ts";\n${GOOD}`,
        "free.ts": GOOD,
        "lib/word.ts": "export {};",
      });
      attack(made);
      const transforms = await made.configured([{ module: "t.ts" }, { module: "free.ts" }]);
      assert.match(transforms.info({ module: "t.ts" }).problem ?? "", problem);
      assert.equal(transforms.info({ module: "free.ts" }).state, "live");
      assert.ok(transforms.problems().some(({ path, message }) => `${path} ${message}`.includes("lib")));
    });
});

describe("the transforms directory", () => {
  it("may be reached by a link, as people do who keep their files elsewhere", LIMIT, async (t) => {
    const { root, configured } = scene(t, { "t.ts": GOOD });
    const elsewhere = join(dirname(dirname(root)), "elsewhere");
    renameSync(root, elsewhere);
    symlinkSync(elsewhere, root);
    const transforms = await configured([{ module: "t.ts" }]);
    assert.deepEqual(await resultOf(transforms, { module: "t.ts" }), { text: "good" });
  });

  it("may be one below the root, by its name and by its path", LIMIT, async (t) => {
    const { root, gateway } = scene(t, { "git/t.ts": GOOD });
    for (const directory of ["git", join(root, "git")]) {
      const transforms = gateway();
      await transforms.configure({ root, directory, refs: [{ module: "t.ts" }] });
      assert.deepEqual(await resultOf(transforms, { module: "t.ts" }), { text: "good" });
    }
  });

  it("may not be outside of the root, nor lead there", LIMIT, async (t) => {
    const made = scene(t);
    writeFileSync(join(dirname(made.root), "t.ts"), EVIL);
    symlinkSync(dirname(made.root), join(made.root, "out"));
    for (const directory of ["..", "out", dirname(made.root), "a/../.."]) {
      const transforms = made.gateway();
      await transforms.configure({ root: made.root, directory, refs: [{ module: "t.ts" }] });
      assert.equal(transforms.info({ module: "t.ts" }).state, "broken", directory);
      assert.equal(transforms.problems().length, 1);
    }
  });

  it("may be missing, like a file in it: that is no problem of the directory", LIMIT, async (t) => {
    const { root, gateway, configured } = scene(t);
    const empty = await configured([{ module: "t.ts" }]);
    assert.equal(empty.info({ module: "t.ts" }).state, "missing");
    assert.match(empty.info({ module: "t.ts" }).problem ?? "", /transforms\/t\.ts does not exist/);
    const nowhere = gateway();
    await nowhere.configure({ root: join(root, "not", "there"), directory: ".", refs: [{ module: "t.ts" }] });
    assert.equal(nowhere.info({ module: "t.ts" }).state, "missing");
    assert.deepEqual([empty.problems(), nowhere.problems()], [[], []]);
  });

  it("is read without files of editors and package managers, and unused ones", LIMIT, async (t) => {
    const made = scene(t, { "t.ts": GOOD, "lib/a.json": "1", "b.mjs": "", "c.cts": "" });
    const left = [
      "types.d.ts",
      "x.d.mts",
      "tsconfig.json",
      "jsconfig.json",
      ".hidden.ts",
      ".git/x.ts",
      "node_modules/p/i.js",
      "README.md",
    ];
    for (const path of left) made.write(path, "1");
    const tree = await readTree(made.root, ".");
    assert.ok(tree.kind === "tree");
    assert.deepEqual([...tree.files.keys()], ["b.mjs", "c.cts", "lib/a.json", "t.ts"]);
    assert.equal(tree.refused.size, 0);
  });
});
