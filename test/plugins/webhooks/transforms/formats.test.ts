// long: runs many threads
/** Every file format, in both placements. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMIT, resultOf, scene } from "./scene.ts";

const ESM = `import { word } from "./word.js";\nexport default ({ payload }) => ({ text: word + payload.n });\n`;
const TS = `import { word } from "./word.ts";
import type { Transform } from "@svc/sdk/transform";
import type { Nothing } from "not-there";
enum Sign { Plus = "" }
const t: Transform<{ n: number }> = ({ payload }) => ({ text: word + Sign.Plus + payload.n as string });
export default t;
`;
const CJS = `const { word } = require("./word");\nvar octal = 010;\nmodule.exports = ({ payload }) => ({ text: word + payload.n });\n`;
const WORD = { "word.ts": `export const word: string = "w";` };

/** A transform that returns these words and the number of the payload. */
const says = (words: string) => `export default ({ payload }: any) => ({ text: ${words} + payload.n });`;
const SCHEMA = "payload: Type.Object({ n: Type.Number() })";
const HERE = "fileURLToPath(import.meta.url), import.meta.filename, fileURLToPath(import.meta.resolve('./t.ts'))";

const formats: [name: string, module: string, text: string, others?: Record<string, string>, exported?: string][] = [
  [".ts", "t.ts", TS, WORD],
  [".mts", "t.mts", TS, WORD],
  [
    ".cts with import = and export =",
    "t.cts",
    `import w = require("./word");\nexport = ({ payload }: any) => ({ text: w.word + payload.n });`,
    WORD,
  ],
  [".js as an ES module", "t.js", ESM, { "word.js": `export const word = "w";` }],
  [".js as CommonJS", "t.js", CJS, { "word.js": `exports.word = "w";` }],
  [".mjs", "t.mjs", ESM, { "word.js": `export const word = "w";` }],
  [".cjs", "t.cjs", CJS, { "word.cjs": `exports.word = "w";` }],
  [
    "ES modules under a package.json that says CommonJS",
    "t.js",
    ESM,
    { "word.js": `export const word = "w";`, "package.json": `{"type":"commonjs"}` },
  ],
  [
    "CommonJS under a package.json that says ES modules",
    "t.js",
    CJS,
    { "word.js": `exports.word = "w";`, "package.json": `{"type":"module"}` },
  ],
  ["an ES module that a CommonJS one requires", "t.cjs", CJS, WORD],
  [
    "a CommonJS one that an ES module imports",
    "t.mjs",
    `import w, { word } from "./word.cjs";\n${says("w.word.slice(1) + word").replace(": any", "")}`,
    { "word.cjs": `module.exports = { word: "w" };` },
  ],
  [
    "JSON",
    "t.ts",
    `import data from "./data.json" with { type: "json" };\nimport * as all from "./data.json";\n${says("data.word.slice(1) + all.word")}`,
    { "data.json": `\uFEFF{"word":"w"}` },
  ],
  ["JSON that is required", "t.cjs", CJS.replace("./word", "./data.json"), { "data.json": `{"word":"w"}` }],
  [
    "a directory with an index",
    "t.ts",
    `import { word } from "./lib";\n${says("word")}`,
    { "lib/index.ts": `export * from "../word.js";`, ...WORD },
  ],
  ["a file below a directory", "git/t.ts", TS.replace("./word.ts", "../word.ts"), WORD],
  ["an await at the top", "t.ts", `const { word } = await import("./word.ts");\n${says("word")}`, WORD],
  [
    "an import inside of a call",
    "t.ts",
    `export default async ({ payload }: any) => ({ text: (await import("./word.ts")).word + payload.n });`,
    WORD,
  ],
  [
    "files that import each other",
    "t.ts",
    `import { two } from "./two.ts";\nexport const one = () => "w";\n${says("two()")}`,
    { "two.ts": `import { one } from "./t.ts";\nexport const two = () => one();` },
  ],
  [
    "files that wait for each other",
    "t.ts",
    `await Promise.all([import("./a.ts"), import("./b.ts")]);\n${says('"w"')}`,
    {
      "a.ts": `import "./b.ts";\nawait 1;\nexport {};`,
      "b.ts": `import "./a.ts";\nawait 1;\nexport {};`,
    },
  ],
  [
    "built-in modules of Node",
    "t.ts",
    `import path, { basename } from "node:path";\nimport fs = require("fs");\n${says('basename("/x/w") + path.sep.slice(1) + (fs.existsSync ? "" : "?")')}`,
  ],
  [
    "the place of the file",
    "t.ts",
    `import { fileURLToPath } from "node:url";\nconst here = [${HERE}];\n${says('(new Set(here).size === 1 && import.meta.dirname.endsWith("transforms") ? "w" : here.join())')}`,
  ],
  ["a named transform", "t.ts", `export const transform = ({ payload }: any) => ({ text: "w" + payload.n });`],
  [
    "an export of the mapping's choice",
    "t.ts",
    `export default () => null;\nexport function other({ payload }: any) { return { text: "w" + payload.n }; }`,
    {},
    "other",
  ],
  [
    "defineTransform",
    "t.ts",
    `import { defineTransform, Type } from "@svc/sdk/transform";\nexport default defineTransform({ ${SCHEMA}, examples: [{ payload: { n: 1 }, expect: { text: "w1" } }], transform: ({ payload }) => ({ text: "w" + payload.n }) });`,
  ],
  [
    "defineTransform in CommonJS",
    "t.cjs",
    `const { defineTransform, Type } = require("@svc/sdk/transform");\nmodule.exports = defineTransform({ ${SCHEMA}, transform: ({ payload }) => ({ text: "w" + payload.n }) });`,
  ],
  ["a first line for a shell", "t.mjs", `#!/usr/bin/env node\n${says('"w"').replace(": any", "")}`],
];

describe("a transform may be written as", () => {
  for (const [name, module, text, others, exported] of formats)
    it(name, LIMIT, async (t) => {
      const ref = { module, ...(exported !== undefined && { export: exported }) };
      const files = { [module]: text, ...others };
      const transforms = await scene(t, files).configured([ref, { ...ref, placement: "worker" }]);
      for (const placed of [ref, { ...ref, placement: "worker" as const }]) {
        assert.equal(transforms.info(placed).problem, undefined);
        assert.equal(transforms.info(placed).state, "live");
        assert.deepEqual(await resultOf(transforms, placed, { n: 7 }), { text: "w7" });
      }
    });
});

it("a transform gets the very SDK of the gateway", LIMIT, async (t) => {
  const { GatewayError } = await import("@svc/sdk");
  const text = `import { GatewayError } from "@svc/sdk";\nimport { GatewayError as same } from "@svc/sdk/errors";\nimport "@svc/sdk/webhooks";\nexport default () => { throw new GatewayError(same === GatewayError ? "CONFLICT" : "INTERNAL", "mine"); };`;
  const transforms = await scene(t, { "t.ts": text }).configured([{ module: "t.ts" }]);
  await assert.rejects(resultOf(transforms, { module: "t.ts" }), ({ cause }: Error) => {
    return cause instanceof GatewayError && cause.code === "CONFLICT"; // as the transform threw it
  });
});

it("two transforms of a directory share the files they both import", LIMIT, async (t) => {
  const text = `import { count } from "./count.ts";\nexport default () => ({ n: count() });`;
  const files = { "a.ts": text, "b.ts": text, "count.ts": `let n = 0;\nexport const count = () => (n += 1);` };
  const transforms = await scene(t, files).configured([{ module: "a.ts" }, { module: "b.ts" }]);
  assert.deepEqual(await resultOf(transforms, { module: "a.ts" }), { n: 1 });
  assert.deepEqual(await resultOf(transforms, { module: "b.ts" }), { n: 2 });
});
