// long: runs many threads
/** Effects of a change of the directory on live transforms. */
import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { LIMIT, resultOf, scene, until } from "./scene.ts";

const says = (word: string) => `export default () => ({ text: "${word}" });`;
const REF = { module: "t.ts" };
const WORKER = { ...REF, placement: "worker" as const };

describe("without a restart", () => {
  for (const ref of [REF, WORKER])
    it(`an edit is live, of the file and of what it imports (${ref === REF ? "host" : "worker"})`, LIMIT, async (t) => {
      const text = `import { word } from "./lib/word.mjs";\nimport { more } from "./more.cjs";\nimport d from "./d.json";\nexport default () => ({ text: word + more + d.x });`;
      const made = scene(t, {
        "t.ts": text,
        "lib/word.mjs": `export const word = "a";`,
        "more.cjs": `exports.more = "b";`,
        "d.json": `{"x":"c"}`,
      });
      const transforms = await made.configured([ref]);
      assert.deepEqual(await resultOf(transforms, ref), { text: "abc" });
      const edits: [path: string, text: string, says: string][] = [
        ["lib/word.mjs", `export const word = "A";`, "Abc"],
        ["more.cjs", `exports.more = "B";`, "ABc"],
        ["d.json", `{"x":"C"}`, "ABC"],
        ["t.ts", text.replace("text: ", 'text: "!" + '), "!ABC"],
      ];
      const versions = new Set([transforms.info(ref).version]);
      for (const [path, edited, expected] of edits) {
        made.write(path, edited);
        await until(transforms, async () => ((await resultOf(transforms, ref)) as { text: string }).text === expected);
        versions.add(transforms.info(ref).version);
      }
      assert.equal(versions.size, 5);
    });

  it("a file that is dropped in is live, also when no directory was there at first", LIMIT, async (t) => {
    const made = scene(t);
    rmSync(join(made.root, ".."), { recursive: true });
    const transforms = await made.configured([REF]);
    assert.equal(transforms.info(REF).state, "missing");
    for (const word of ["one", "two"]) {
      made.write("t.ts", says(word));
      await until(transforms, () => transforms.info(REF).state === "live");
      assert.deepEqual(await resultOf(transforms, REF), { text: word });
      rmSync(join(made.root, ".."), { recursive: true });
      await until(transforms, () => transforms.info(REF).state === "missing");
    }
  });

  it("a file that is taken away serves no more", LIMIT, async (t) => {
    const made = scene(t, { "t.ts": says("a") });
    const transforms = await made.configured([REF, WORKER]);
    made.remove("t.ts");
    await until(
      transforms,
      () => transforms.info(REF).state === "missing" && transforms.info(WORKER).state === "missing",
    );
    await assert.rejects(resultOf(transforms, REF), { name: "TransformError", message: /t\.ts does not exist/ });
  });

  it("a file that an editor replaces is live", LIMIT, async (t) => {
    const made = scene(t, { "t.ts": says("a") });
    const transforms = await made.configured([REF]);
    made.write(".t.ts.swp", says("b"));
    renameSync(join(made.root, ".t.ts.swp"), join(made.root, "t.ts"));
    await until(transforms, async () => ((await resultOf(transforms, REF)) as { text: string }).text === "b");
  });

  it("a call under way ends on the version it began with", LIMIT, async (t) => {
    const slow = `export default async ({ payload }: any) => { if (payload.wait) await new Promise((done) => setTimeout(done, payload.wait)); return { text: "old" }; };`;
    const made = scene(t, { "t.ts": slow });
    const transforms = await made.configured([REF, WORKER]);
    const calls = [REF, WORKER].map((ref) => resultOf(transforms, ref, { wait: 3_000 }));
    made.write("t.ts", says("new"));
    await transforms.refresh();
    for (const ref of [REF, WORKER]) assert.deepEqual(await resultOf(transforms, ref), { text: "new" });
    for (const call of calls) assert.deepEqual(await call, { text: "old" });
  });

  it("a transform still in use keeps its state; an unused one ends", LIMIT, async (t) => {
    const count = `let n = 0;\nexport default () => ({ n: (n += 1) });`;
    const made = scene(t, { "t.ts": count, "u.ts": count });
    const transforms = await made.configured([REF]);
    assert.deepEqual(await resultOf(transforms, REF), { n: 1 });
    await transforms.configure({ root: made.root, directory: ".", refs: [REF, { module: "./u.ts" }] });
    await transforms.refresh();
    assert.deepEqual(await resultOf(transforms, REF), { n: 2 });
    assert.deepEqual(await resultOf(transforms, { module: "u.ts" }), { n: 1 });
    await transforms.configure({ root: made.root, directory: ".", refs: [{ module: "u.ts" }] });
    await assert.rejects(resultOf(transforms, REF), { name: "TransformError", message: /no mapping uses it/ });
    assert.deepEqual(await resultOf(transforms, { module: "u.ts" }), { n: 2 });
  });
});

describe("the last good version serves, and it is said why, when the newest", () => {
  const NONE = "export default () => null;";
  const example = (text: string, transform = NONE) => `export const examples = [${text}];\n${transform}`;
  const broken: [what: string, text: string, problem: RegExp][] = [
    ["cannot be read by the compiler", `export default () => ({\n  text: ;\n});`, /^t\.ts:2:9: Unexpected token/],
    ["throws when it is loaded", `const x = 1;\nnull.x;\n${NONE}`, /^t\.ts: fails to load: TypeError: .*\(t\.ts:2\)/],
    [
      "throws something odd",
      `throw { toString() { throw 1; } };`,
      /^t\.ts: fails to load: threw something that cannot/,
    ],
    [
      "exports something else",
      `export const build = 1, later = 2;`,
      /^t\.ts: exports neither "default" nor "transform"; it exports build, later/,
    ],
    ["exports no function", `export default 17;`, /^t\.ts: export "default" is a number; export a function/],
    ["exports nothing", ``, /^t\.ts: exports neither .*; it exports nothing/],
    ["needs a lost file", `\nexport * from "./gone.ts";`, /^t\.ts:2: import of "\.\/gone\.ts" cannot be resolved/],
    ["needs data that is damaged", `import "./bad.json";`, /^bad\.json: is not JSON: /],
    [
      "requires what has to be waited for",
      `require("./waits.ts");\nmodule.exports = () => null;`,
      /^t\.ts: fails to load: SyntaxError: await is only valid/,
    ],
    ["has more than types", `namespace a { export let b = 1; }\n${NONE}`, /^t\.ts: Namespaces exporting non-const are/],
    [
      "has a schema that is none",
      `export default { payload: 1, transform: () => null };`,
      /payload is not a JSON Schema/,
    ],
    ["has examples that are none", `export const examples = 1;\n${NONE}`, /examples are not a list/],
    ["has half an example", example("{ payload: 1 }"), /example 1 needs payload and expect/],
    [
      "makes something else of an example",
      example(
        `{ payload: 1, expect: null }, { name: "failed build", payload: { id: 7 }, expect: { text: "b", more: { x: 1 } } }`,
        `export default ({ payload }: any) => payload === 1 ? null : { text: "b", more: { x: payload.id, gone: undefined } };`,
      ),
      /^t\.ts: example 2 "failed build" fails: expected \{"text":"b","more":\{"x":1\}\}, got \{"text":"b","more":\{"x":7\}\}; the first difference is at \/more\/x$/,
    ],
    ["skips what an example does not", example("{ payload: 1, expect: {} }"), /expected \{\}, got null/],
    [
      "throws at an example",
      example("{ payload: 1, expect: {} }", `export default () => {\n  throw new RangeError("too much");\n};`),
      /example 1 fails: RangeError: too much \(t\.ts:3\)/,
    ],
    [
      "never answers an example",
      example("{ payload: 1, expect: {} }", "export default () => new Promise(() => {});"),
      /example 1 fails: no answer within 700 ms/,
    ],
    [
      "has an example of another shape",
      `import { defineTransform, Type } from "@svc/sdk/transform";\nexport default defineTransform({ payload: Type.Object({ id: Type.String() }), examples: [{ payload: { id: 1 }, expect: null }], transform: () => null });`,
      /example 1 fails: its payload does not match the schema: at \/id: must be string/,
    ],
    [
      "answers an example at length",
      example("{ payload: 1, expect: {} }", `export default () => ({ text: "x".repeat(100_000) });`),
      /^.{1,800}$/s,
    ],
  ];
  it("has any of these faults", LIMIT, async (t) => {
    const made = scene(t, { "bad.json": "{", "waits.ts": "await 1;\nexport {};", "other.ts": says("other") });
    const refs = broken.map((_, index) => ({ module: `${index}.ts`, timeoutMs: 700 }));
    for (const { module } of refs) made.write(module, says("good"));
    const transforms = await made.configured([...refs, { module: "other.ts" }]);
    const version = transforms.info({ module: "0.ts" }).version;
    for (const [index, [, text]] of broken.entries()) made.write(`${index}.ts`, text.replaceAll("t.ts", `${index}.ts`));
    made.write("other.ts", says("newer"));
    await transforms.refresh();
    for (const [index, [what, , problem]] of broken.entries()) {
      const info = transforms.info({ module: `${index}.ts` });
      assert.deepEqual([info.state, info.version], ["stale", version], what);
      assert.match(info.problem?.replaceAll(`${index}.ts`, "t.ts") ?? "", problem, what);
      assert.deepEqual(await resultOf(transforms, { module: `${index}.ts` }), { text: "good" }, what);
    }
    assert.deepEqual(await resultOf(transforms, { module: "other.ts" }), { text: "newer" });
    made.write("0.ts", says("mended"));
    await until(transforms, () => transforms.info({ module: "0.ts" }).state === "live");
    assert.deepEqual(await resultOf(transforms, { module: "0.ts" }), { text: "mended" });
  });

  it("is reverted: then nothing is reloaded", LIMIT, async (t) => {
    const count = `let n = 0;\nexport default () => ({ n: (n += 1) });`;
    const made = scene(t, { "t.ts": count });
    const transforms = await made.configured([REF]);
    await resultOf(transforms, REF);
    made.write("t.ts", "(");
    await until(transforms, () => transforms.info(REF).state === "stale");
    made.write("t.ts", count);
    await until(transforms, () => transforms.info(REF).state === "live");
    assert.deepEqual(await resultOf(transforms, REF), { n: 2 });
  });
});

describe("examples", () => {
  it(
    "are counted, get headers in lower case and the path of the mapping, and may be anything exact",
    LIMIT,
    async (t) => {
      const text = `import { defineTransform } from "@svc/sdk/transform";
export default defineTransform({
  examples: [
    { payload: { n: 1 }, headers: { "X-Kind": "k" }, expect: { text: "k|git/hub|http://localhost/git/hub" } },
    { payload: { n: 1 }, path: "other", expect: { text: "undefined|other|http://localhost/other" } },
    { payload: null, expect: null },
  ],
  transform: ({ payload, headers, path, url }) => (payload ? { text: [String(headers["x-kind"]), path, url.href].join("|"), extra: undefined } : null),
});`;
      const transforms = await scene(t, { "t.ts": text }).configured([{ ...REF, path: "git/hub" }]);
      assert.equal(transforms.info(REF).problem, undefined);
      assert.equal(transforms.info(REF).examples, 3);
    },
  );
});

describe("after a restart", () => {
  for (const ref of [REF, WORKER])
    it(
      `the last good version serves when the newest is broken (${ref === REF ? "host" : "worker"})`,
      LIMIT,
      async (t) => {
        const made = scene(t, {
          "t.ts": `import { word } from "./word.ts";\nexport default () => ({ text: word });`,
          "word.ts": `export const word = "good";`,
        });
        const first = await made.configured([ref]);
        const { version } = first.info(ref);
        await first.stop();
        made.write("word.ts", "(");
        const second = await made.configured([ref]);
        const { state, problem, version: now } = second.info(ref);
        assert.deepEqual([state, now], ["stale", version]);
        assert.match(problem ?? "", /^word\.ts:1:/);
        assert.deepEqual(await resultOf(second, ref), { text: "good" });
        await second.stop();
        const third = await made.configured([ref]); // the memory outlives a restart in which nothing was good
        assert.equal(third.info(ref).state, "stale");
      },
    );

  it("a modified copy is not used, and is created again when needed", LIMIT, async (t) => {
    const made = scene(t, { "t.ts": says("good") });
    const first = await made.configured([REF]);
    await first.stop();
    const snap = join(made.stateDir, "cache", "snap");
    const hash = readdirSync(snap).find((name) => /^[0-9a-f]{64}$/.test(name)) ?? "";
    writeFileSync(join(snap, hash, "t.ts.ts"), says("evil"));
    made.write("t.ts", "(");
    const second = await made.configured([REF]);
    assert.equal(second.info(REF).state, "broken");
    await second.stop();
    made.write("t.ts", says("good"));
    const third = await made.configured([REF]);
    assert.deepEqual(await resultOf(third, REF), { text: "good" });
    assert.equal(readFileSync(join(snap, hash, "t.ts.ts"), "utf8"), says("good"));
  });

  it("damaged notes of what was good are no reason to fail", LIMIT, async (t) => {
    const made = scene(t, { "t.ts": "(" });
    mkdirSync(join(made.stateDir, "cache", "snap"), { recursive: true });
    writeFileSync(join(made.stateDir, "cache", "snap", "last-good.json"), `{"["t.ts"]": `);
    const transforms = await made.configured([REF]);
    assert.equal(transforms.info(REF).state, "broken");
  });
});

describe("the state directory", () => {
  it("holds private copies, and only a few", LIMIT, async (t) => {
    const made = scene(t, { "lib/t.ts": says("0") });
    const ref = { module: "lib/t.ts" };
    const transforms = await made.configured([ref]);
    for (let n = 1; n < 8; n += 1) {
      made.write("lib/t.ts", says(String(n)));
      await transforms.refresh();
    }
    assert.deepEqual(await resultOf(transforms, ref), { text: "7" });
    const snap = join(made.stateDir, "cache", "snap");
    const copies = readdirSync(snap).filter((name) => name !== "last-good.json");
    assert.equal(copies.length, 4);
    const files = copies.flatMap((name) => [name, `${name}/lib`, `${name}/lib/t.ts.ts`]);
    const modes = ["", "last-good.json", ...files];
    for (const path of modes) assert.equal(statSync(join(snap, path)).mode & 0o077, 0, path);
    for (const copy of copies) assert.equal(statSync(join(snap, copy, ".compiled-1")).mode & 0o777, 0o700);
  });

  it("keeps what was compiled: a restart with the same files compiles nothing", LIMIT, async (t) => {
    const text = `import { more } from "./more.mjs";\nimport d from "./d.json";\nexport default (): object => ({ text: more + d.x });`;
    const files = { "t.ts": text, "more.mjs": `export const more = "b";`, "d.json": `{"x":"c"}` };
    const made = scene(t, files);
    const compiled = () => {
      const snap = join(made.stateDir, "cache", "snap");
      const places = readdirSync(snap).map((name) => join(snap, name, ".compiled-1"));
      const names = places.filter(existsSync).flatMap((at) => readdirSync(at).map((name) => join(at, name)));
      return names.map((name) => [name, statSync(name).mtimeMs] as const);
    };
    for (const ref of [REF, WORKER]) {
      const first = await made.configured([ref]);
      await first.stop();
      const before = compiled();
      assert.equal(before.length, 3);
      const second = await made.configured([ref]);
      assert.deepEqual(await resultOf(second, ref), { text: "bc" });
      assert.deepEqual(compiled(), before);
    }
  });

  it("may be reached by a link", LIMIT, async (t) => {
    const made = scene(t, {
      "t.ts": `import "./u.ts";\nlet n = 0;\nexport const count = () => (n += 1);\nexport default () => ({ n });`,
      "u.ts": `import { count } from "./t.ts";\nexport const add = () => count();\nexport default () => ({ n: add() });`,
    });
    const stateDir = join(made.stateDir, "..", "linked");
    symlinkSync(made.stateDir, stateDir);
    const transforms = await made.configured([REF, { module: "u.ts" }], { stateDir });
    assert.deepEqual(await resultOf(transforms, { module: "u.ts" }), { n: 1 });
    assert.deepEqual(await resultOf(transforms, REF), { n: 1 });
  });

  it("that takes no copy is what is wrong with the transforms", LIMIT, async (t) => {
    const made = scene(t, { "t.ts": says("a") });
    writeFileSync(join(made.stateDir, "cache"), "");
    const transforms = await made.configured([REF]);
    assert.equal(transforms.info(REF).state, "broken");
    assert.match(transforms.info(REF).problem ?? "", /^t\.ts: cannot be copied to .*snap: ENOTDIR/);
  });

  it("is not shared: each gateway has its own copies of the same directory", LIMIT, async (t) => {
    const made = scene(t, { "t.ts": `let n = 0;\nexport default () => ({ n: (n += 1) });` });
    const [one, other] = [
      await made.configured([REF, WORKER]),
      await made.configured([REF, WORKER], { stateDir: join(made.stateDir, "other") }),
    ];
    for (const ref of [REF, WORKER]) {
      assert.deepEqual(await resultOf(one, ref), { n: 1 });
      assert.deepEqual(await resultOf(other, ref), { n: 1 });
      assert.equal(one.info(ref).version, other.info(ref).version);
    }
    await one.stop();
    assert.deepEqual(await resultOf(other, WORKER), { n: 2 });
    assert.ok(existsSync(join(made.stateDir, "other", "cache", "snap", "last-good.json")));
  });
});
