/** Every rule of `$include`. Spec: http/config.md §2.1. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { linkSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { readConfigFile } from "../../../host/config/file.ts";
import { tempDirectory } from "./scene.ts";

type Contents = Record<string, unknown>;

/** Files by path below a fresh directory; `conf/svc.json` is the main one. */
function filesOf(t: TestContext, files: Contents): string {
  const root = tempDirectory(t);
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), typeof content === "string" ? content : JSON.stringify(content));
  }
  return root;
}

/** The main file and files next to it. */
const main = (svc: unknown, beside: Contents = {}): Contents => ({
  "conf/svc.json": svc,
  ...Object.fromEntries(Object.entries(beside).map(([name, content]) => [`conf/${name}`, content])),
});

const read = (root: string, env = {}) => readConfigFile(join(root, "conf/svc.json"), env);

async function resolved(t: TestContext, files: Contents, env = {}): Promise<unknown> {
  const { issues, resolved } = await read(filesOf(t, files), env);
  assert.deepEqual(issues, []);
  return resolved;
}

async function issueOf(root: string): Promise<string> {
  const { issues, resolved, parsed } = await read(root);
  assert.deepEqual(
    issues.map(({ path }) => path),
    [""],
    "one issue, of the whole file",
  );
  assert.deepEqual(resolved, {});
  assert.ok(Object.keys(parsed).length > 0, "the content of the main file is known");
  return String(issues[0]?.message);
}

describe("an included file", () => {
  const x = { $include: "x.json" };
  const rows: [why: string, files: Contents, expected: unknown][] = [
    ["stands for its object", main({ a: { $include: "./x.json5" } }, { "x.json5": "{b: 1}" }), { a: { b: 1 } }],
    ["may be the whole configuration", main(x, { "x.json": { a: 1 } }), { a: 1 }],
    ["may hold a list", main({ a: x }, { "x.json": [1, 2] }), { a: [1, 2] }],
    ["may be an item", main({ a: [x] }, { "x.json": { b: 1 } }), { a: [{ b: 1 }] }],
    [
      "is overridden by the keys next to it, in any order",
      main({ a: { z: 1, ...x, b: { d: 2 } } }, { "x.json": { z: 0, b: { c: 1, d: 1 } } }),
      { a: { z: 1, b: { c: 1, d: 2 } } },
    ],
    [
      "of a list of files is overridden by later ones, lists one after the other",
      main(
        { $include: ["x.json", "y.json"], l: [5] },
        { "x.json": { a: 1, l: [1, 2], o: { p: 1 } }, "y.json": { a: 2, l: [3], o: { q: 2 } } },
      ),
      { a: 2, l: [1, 2, 3, 5], o: { p: 1, q: 2 } },
    ],
    ["of no file is an empty object", main({ a: { $include: [] } }), { a: {} }],
    [
      "is found from the file that names it",
      main(
        { $include: "sub/x.json" },
        {
          "sub/x.json": { a: { $include: "./y.json" }, b: { $include: "../z.json" } },
          "sub/y.json": {},
          "z.json": [1],
        },
      ),
      { a: {}, b: [1] },
    ],
    ["may be used twice side by side", main({ a: x, b: x }, { "x.json": { c: 1 } }), { a: { c: 1 }, b: { c: 1 } }],
  ];
  for (const [why, files, expected] of rows) it(why, async (t) => assert.deepEqual(await resolved(t, files), expected));

  it("may use variables, and an absolute path", async (t) => {
    const root = filesOf(t, { "conf/x.json": { a: "${NAME}" } });
    writeFileSync(join(root, "conf/svc.json"), JSON.stringify({ $include: join(root, "conf/x.json") }));
    assert.deepEqual((await read(root, { NAME: "ada" })).resolved, { a: "ada" });
  });

  it("may be a link that stays in the directory, or in a directory that is a link itself", async (t) => {
    const root = filesOf(t, { "real/svc.json": { $include: "link.json" }, "real/x.json": { a: 1 } });
    symlinkSync("x.json", join(root, "real/link.json"));
    symlinkSync("real", join(root, "conf"));
    assert.deepEqual((await read(root)).resolved, { a: 1 });
  });

  it("does not affect the hash, and is not copied into the written file", async (t) => {
    const root = filesOf(t, { "conf/svc.json": { $include: "x.json" }, "conf/x.json": { a: 1 } });
    const before = await read(root);
    writeFileSync(join(root, "conf/x.json"), '{"a": 2}');
    const after = await read(root);
    assert.deepEqual([after.hash, after.parsed], [before.hash, { $include: "x.json" }]);
    assert.deepEqual([before.resolved, after.resolved], [{ a: 1 }, { a: 2 }]);
  });

  it("loses its prototype keys; so do the keys next to the include", async (t) => {
    const value = (await resolved(t, {
      "conf/svc.json":
        '{"a": {"$include": ["x.json", "x.json"], "__proto__": {"polluted": 1}}, "b": {"$include": "x.json"}}',
      "conf/x.json": '{"__proto__": {"polluted": 1}, "l": [{"constructor": {"prototype": {"polluted": 1}}, "c": 1}]}',
    })) as object;
    assert.deepEqual(value, { a: { l: [{ c: 1 }, { c: 1 }] }, b: { l: [{ c: 1 }] } });
    assert.ok(!JSON.stringify(value).includes("polluted"));
    assert.equal(({} as Record<string, unknown>)["polluted"], undefined);
  });

  it("may be the tenth level, not the eleventh", async (t) => {
    const chain = (length: number) =>
      Object.fromEntries(
        Array.from({ length: length + 1 }, (_, index) => [
          index === 0 ? "conf/svc.json" : `conf/${index}.json`,
          index === length ? { end: true } : { a: { $include: `${index + 1}.json` } },
        ]),
      );
    assert.match(JSON.stringify(await resolved(t, chain(10))), /"end":true/);
    assert.match(await issueOf(filesOf(t, chain(11))), /"11\.json".*more than 10 levels/);
  });
});

describe("a hostile or broken include", () => {
  const of = (path: unknown, files: Contents = {}) => ({ ...main({ $include: path }), ...files });
  const rows: [why: string, files: Contents, message: RegExp][] = [
    ["a number", main({ a: { $include: 1 } }), /must be a path or a list of paths/],
    ["a list with a number", of(["x.json", 1], { "conf/x.json": {} }), /must be a path or a list/],
    ["nothing", of(""), /outside/],
    ["the directory", of("."), /outside/],
    ["a missing file", of("gone.json"), /"gone\.json".*ENOENT/],
    ["a directory below", of("sub", { "conf/sub/x": "" }), /EISDIR|regular/],
    ["a parent directory", of("../x.json", { "x.json": {} }), /outside/],
    ["a path through the parent directory", of("../other/x.json", { "other/x.json": {} }), /outside/],
    ["a directory whose name has the same beginning", of("../conf2/x.json", { "conf2/x.json": {} }), /outside/],
    ["an absolute path", of("/etc/hostname"), /outside/],
    ["a null byte", of("x\u0000.json"), /null bytes/],
    ["itself", main({ a: { $include: "svc.json" } }), /includes itself/],
    ["a cycle", of("x.json", { "conf/x.json": { $include: "./svc.json" } }), /includes itself/],
    ["broken text", of("x.json", { "conf/x.json": "{" }), /"x\.json".*JSON5/],
    ["a list next to keys", main({ $include: "x.json", a: 1 }, { "x.json": [1] }), /must hold one object/],
    ["a list as the whole configuration", of("x.json", { "conf/x.json": [1] }), /must hold one object/],
    ["a huge file", of("x.json", { "conf/x.json": `"${"x".repeat(2 << 20)}"` }), /larger than 2 MiB/],
  ];
  for (const [why, files, message] of rows)
    it(`is refused: ${why}`, async (t) => assert.match(await issueOf(filesOf(t, files)), message));

  it("is refused: links to files or directories outside", async (t) => {
    const root = filesOf(t, { "conf/svc.json": { $include: "link.json" }, "secret/x.json": { a: "CANARY" } });
    symlinkSync("../secret/x.json", join(root, "conf/link.json"));
    assert.match(await issueOf(root), /outside/);
    writeFileSync(join(root, "conf/svc.json"), JSON.stringify({ $include: "dir/x.json" }));
    symlinkSync("../secret", join(root, "conf/dir"));
    const message = await issueOf(root);
    assert.match(message, /outside/);
    assert.ok(!message.includes("CANARY"));
  });

  it("is refused: a hard link, a pipe (without waiting for it)", async (t) => {
    const root = filesOf(t, { "conf/svc.json": { $include: "x.json" }, "secret.json": { a: 1 } });
    linkSync(join(root, "secret.json"), join(root, "conf/x.json"));
    assert.match(await issueOf(root), /hard links/);
    writeFileSync(join(root, "conf/svc.json"), JSON.stringify({ $include: "pipe" }));
    execFileSync("mkfifo", [join(root, "conf/pipe")]);
    assert.match(await issueOf(root), /not a regular file/);
  });

  it("is refused: an exponential number of includes", { timeout: 120_000 }, async (t) => {
    const many = (name: string) => ({ list: Array.from({ length: 20 }, () => ({ $include: name })) });
    const files = { "1.json": many("2.json"), "2.json": many("3.json"), "3.json": {} };
    assert.match(await issueOf(filesOf(t, main(many("1.json"), files))), /more than 256 included files/);
  });
});
