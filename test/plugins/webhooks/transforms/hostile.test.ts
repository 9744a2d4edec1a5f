// long: runs many threads
/** Files that do harm when they are loaded: the gateway survives, and other files still go live. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { callOf, LIMIT, resultOf, scene } from "./scene.ts";

const FINE = `export default () => ({ text: "fine" });`;
const HOSTILE: [what: string, text: string, problem: RegExp][] = [
  ["spins", "for (;;);", /took more than 1500 ms to be loaded/],
  ["never gets ready", "await new Promise(() => setInterval(() => {}, 1_000));", /took more than 1500 ms to be loaded/],
  ["grows a string", `let s = "x"; for (;;) s += s;`, /RangeError: Invalid string length/],
  ["ends the process", "process.exit(0);", /ended its thread \(exit code 0\)/],
  [
    "throws later",
    "setTimeout(() => { throw new Error('later'); }); await new Promise((done) => setTimeout(done, 10_000));",
    /threw outside of any call: later/,
  ],
  [
    "rejects unheard",
    "void Promise.reject(new Error('unheard')); await new Promise((done) => setTimeout(done, 10_000));",
    /threw outside of any call: unheard/,
  ],
  ["recurses", "(function f() { f(); })();", /Maximum call stack/],
  [
    "spins in an example",
    `export const examples = [{ payload: 1, expect: {} }];\nexport default () => { for (;;); };`,
    /took more than 1200 ms to answer example 1/,
  ],
  [
    "pretends to have passed",
    `import { parentPort } from "node:worker_threads";\nfor (const m of [null, 1, {}, { kind: "passed", key: "x" }]) parentPort.postMessage(m);\nthrow new Error("no");`,
    /Error: no/,
  ],
];

it("a file that does harm when it is loaded fails alone", LIMIT, async (t) => {
  const made = scene(t, { "first.ts": FINE, "last.ts": FINE });
  for (const [index, [, text]] of HOSTILE.entries()) made.write(`${index}.ts`, `${text}\nexport {};`);
  const hostile = HOSTILE.map((_, index) => ({ module: `${index}.ts`, timeoutMs: 700 }));
  const refs = [{ module: "first.ts" }, ...hostile, { module: "last.ts" }];
  const transforms = await made.configured(refs, { importMs: 1_500 });
  for (const [index, [what, , problem]] of HOSTILE.entries()) {
    const info = transforms.info({ module: `${index}.ts` });
    assert.equal(info.state, "broken", what);
    assert.match(info.problem ?? "", problem, what);
  }
  for (const module of ["first.ts", "last.ts"])
    assert.deepEqual(await resultOf(transforms, { module }), { text: "fine" });
});

it("a file that eats memory when it is loaded fails alone", LIMIT, async (t) => {
  const text = `const all = []; for (;;) all.push(new Array(100_000).fill(0).map((_, n) => ({ n })));`;
  const refs = [{ module: "t.ts" }, { module: "u.ts" }];
  const transforms = await scene(t, { "t.ts": text, "u.ts": FINE }).configured(refs, { importMs: 90_000 });
  assert.match(transforms.info({ module: "t.ts" }).problem ?? "", /^t\.ts: it used more than 256 MB of memory$/);
  assert.deepEqual(await resultOf(transforms, { module: "u.ts" }), { text: "fine" });
});

describe("a file that behaves in the check only", () => {
  const cases: [what: string, text: string, problem: RegExp, placement: "host" | "worker"][] = [
    [
      "throws in the gateway",
      `import { isMainThread } from "node:worker_threads";\nif (isMainThread) throw new Error("here");\nexport default () => null;`,
      /fails to load: Error: here \(t\.ts:2\)/,
      "host",
    ],
    [
      "throws in its thread",
      `import { threadId, workerData } from "node:worker_threads";\nif (workerData.kind === "serve") throw new Error("here");\nexport default () => null;`,
      /fails to load: Error: here \(t\.ts:2\)/,
      "worker",
    ],
    [
      "ends its thread",
      `import { workerData } from "node:worker_threads";\nif (workerData.kind === "serve") process.exit(3);\nexport default () => null;`,
      /fails to load: it ended its thread \(exit code 3\)/,
      "worker",
    ],
    [
      "never gets ready in the gateway",
      `import { isMainThread } from "node:worker_threads";\nif (isMainThread) await new Promise(() => {});\nexport default () => null;`,
      /not done within 1000 ms/,
      "host",
    ],
  ];
  for (const [what, text, problem, placement] of cases)
    it(`${what}: it is broken, and nothing hangs`, LIMIT, async (t) => {
      const transforms = await scene(t, { "t.ts": text }).configured([{ module: "t.ts", placement }], {
        importMs: 1_000,
      });
      assert.match(transforms.info({ module: "t.ts", placement }).problem ?? "", problem);
    });
});

it("calls wait for the first look at the directory, and not for later ones", LIMIT, async (t) => {
  const made = scene(t, { "t.ts": FINE, "spin.ts": FINE });
  const transforms = made.gateway({ importMs: 2_000 });
  const [fine, spin] = [{ module: "t.ts" }, { module: "spin.ts" }];
  const configured = transforms.configure({ root: made.root, directory: ".", refs: [fine, spin] });
  assert.deepEqual(await resultOf(transforms, fine), { text: "fine" });
  await configured;
  made.write("spin.ts", "for (;;);");
  let done = false;
  const looked = transforms.refresh().then(() => (done = true));
  assert.deepEqual(await transforms.run(spin, callOf({})), { kind: "result", value: { text: "fine" } });
  assert.equal(done, false);
  await looked;
});
