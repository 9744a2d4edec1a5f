// long: runs many threads
/** Imports that a transform may not use, in any syntax. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { LIMIT, resultOf, type Scene, scene } from "./scene.ts";

const NAMES: [specifier: string, why: RegExp][] = [
  ["stranger", /import of "stranger" is refused; a transform may import files of its directory by relative path/],
  ["@someone/stranger", /is refused/],
  ["stranger/sub.js", /is refused/],
  ["jiti", /is refused/],
  ["@svc/sdk/testing", /is refused; .*@svc\/sdk\/transform/],
  ["@svc/host", /is refused/],
  ["/etc/hostname.ts", /is refused/],
  ["file:///etc/hostname.ts", /is refused/],
  ["data:text/javascript,export default 1", /is refused/],
  ["https://example.com/x.js", /is refused/],
  ["#internal", /is refused/],
  ["__proto__", /is refused/],
  ["constructor", /is refused/],
  ["../outside.ts", /leaves the transforms directory/],
  ["./lib/../../outside.ts", /leaves the transforms directory/],
  ["./link.ts", /link\.ts is a symbolic link/],
  ["./absent.ts", /cannot be resolved/],
  ["./types.d.ts", /cannot be resolved/],
  ["node:module", /can load other code/],
  ["module", /can load other code/],
];

const WAYS: [way: string, module: string, line: (specifier: string) => string][] = [
  ["an import", "t.ts", (name) => `import * as x from "${name}"; console.log(x);`],
  ["a bare import", "t.mjs", (name) => `import '${name}';`],
  ["a re-export", "t.ts", (name) => `export * from "${name}";`],
  ["a re-export by name", "t.mts", (name) => `export { x } from "${name}";`],
  ["an import inside of a function", "t.js", (name) => `export const f = () => import("${name}");`],
  ["a require", "t.cjs", (name) => `exports.f = () => require("${name}");`],
  ["a require beside imports", "t.ts", (name) => `import "node:fs"; export const f = () => require("${name}");`],
  ["an import = require", "t.cts", (name) => `import x = require("${name}"); export const f = x;`],
];

/** Code that imports from outside of the file when it runs. */
const MARK = (module: string, ran: string) =>
  `${module.endsWith("cjs") ? `require("fs")` : `process.getBuiltinModule("fs")`}.writeFileSync(${JSON.stringify(ran)}, "");`;

/** Files that would be reachable if imports were resolved on disk. */
function prey(made: Scene): Scene {
  const base = dirname(dirname(made.root));
  for (const at of [made.root, base, made.stateDir]) {
    mkdirSync(join(at, "node_modules", "stranger"), { recursive: true });
    writeFileSync(join(at, "node_modules", "stranger", "package.json"), `{"name":"stranger","main":"index.js"}`);
    writeFileSync(join(at, "node_modules", "stranger", "index.js"), "exports.x = 1;");
    writeFileSync(join(at, "node_modules", "stranger", "sub.js"), "exports.x = 1;");
  }
  writeFileSync(join(dirname(made.root), "outside.ts"), "export const x = 1;");
  symlinkSync("../outside.ts", join(made.root, "link.ts"));
  made.write("types.d.ts", "export declare const x: 1;");
  made.write("lib/empty.ts", "");
  return made;
}

describe("before a line of it runs, a transform is refused for", () => {
  for (const [way, module, line] of WAYS)
    it(`${way} from outside of the transforms`, LIMIT, async (t) => {
      const made = prey(scene(t));
      const ran = join(made.stateDir, "ran");
      const refs = NAMES.map(([name], index) => {
        const file = `${index}/${module}`;
        // One level down, so relative names get one more level.
        const specifier = name.replace(/^\.\.?\//, (start) => (start === "./" ? "../" : "../../"));
        made.write(file, `// first\n${MARK(module, ran)}\n${line(specifier)}\n`);
        return { module: file };
      });
      const transforms = await made.configured(refs);
      for (const [index, [name, why]] of NAMES.entries()) {
        const { state, problem = "" } = transforms.info({ module: `${index}/${module}` });
        assert.equal(state, "broken", name);
        assert.match(problem, why);
        assert.ok(problem.startsWith(`${index}/${module}:3: `), problem);
      }
      assert.equal(existsSync(ran), false);
      made.write(
        `fine/${module}`,
        `${MARK(module, ran)}\n${module.endsWith("cjs") ? "exports.transform" : "export const transform"} = () => null;`,
      );
      const fine = await made.configured([{ module: `fine/${module}` }]);
      assert.deepEqual([fine.info({ module: `fine/${module}` }).state, existsSync(ran)], ["live", true]);
    });

  it("an import in a file that it imports, which is named", LIMIT, async (t) => {
    const made = prey(scene(t, { "t.ts": `import "./lib/a.ts";`, "lib/a.ts": `\n\nimport "stranger";` }));
    const transforms = await made.configured([{ module: "t.ts" }]);
    assert.match(transforms.info({ module: "t.ts" }).problem ?? "", /^lib\/a\.ts:3: import of "stranger" is refused/);
  });
});

describe("names that are not literal", () => {
  const WAYS_TO_ASK = `{
    import: (name) => import(name),
    object: (name) => import({ toString: () => name }),
    require: (name) => require(name),
    alias: (name) => { const ask = require; return ask(name); },
    resolve: (name) => ({ x: require.resolve(name) && 1 }),
    module: (name) => module.require(name),
    eval: (name) => eval("require")(name),
  }`;
  const answer = `async ({ payload }) => ({ text: String((await ways[payload.way](payload.name)).x) })`;
  const files: [module: string, text: string, ways: string[]][] = [
    [
      "t.ts",
      `// @ts-nocheck\nimport { x } from "./own.ts";\nconst __dirname = x, ways = ${WAYS_TO_ASK.replace("import(name),", "import(name), meta: (name) => ({ x: import.meta.resolve(name) && 1 }),")};\nexport default ${answer};`,
      ["import", "object", "require", "alias", "resolve", "eval", "meta"],
    ],
    [
      "t.mjs",
      `import "./own.ts";\nconst ways = ${WAYS_TO_ASK};\nexport default ${answer};`,
      ["import", "object", "require", "alias"],
    ],
    [
      "t.cjs",
      `require("./own.ts");\nconst ways = ${WAYS_TO_ASK};\nmodule.exports = ${answer};`,
      ["import", "object", "require", "alias", "resolve", "module", "eval"],
    ],
  ];
  for (const placement of ["host", "worker"] as const)
    for (const [module, text, ways] of files)
      it(`follow the same rule (${module}, ${placement})`, LIMIT, async (t) => {
        const made = prey(scene(t, { [module]: text, "own.ts": "export const x = 1;" }));
        const ref = { module, placement };
        const transforms = await made.configured([ref]);
        assert.equal(transforms.info(ref).problem, undefined);
        for (const way of ways) {
          for (const [name, why] of NAMES)
            await assert.rejects(
              resultOf(transforms, ref, { way, name }),
              { name: "TransformError", message: why },
              `${way} ${name}`,
            );
          if (way !== "resolve" && way !== "meta")
            await assert.rejects(resultOf(transforms, ref, { way, name: "./lib/empty.ts" }), {
              message: /lib\/empty\.ts: is not compiled for this import; .*also be imported literally/,
            });
          assert.deepEqual(await resultOf(transforms, ref, { way, name: "./own.ts" }), { text: "1" }, way);
        }
      });
});

it("text that only looks like an import is none", LIMIT, async (t) => {
  const text = `// import "stranger";\nconst text = 'require("stranger")' + \`import("stranger")\` + /require\\("stranger"\\)/.source;\nconst own = { require: (_: string) => 1 };\nown.require("stranger");\nexport default () => ({ text });`;
  const transforms = await scene(t, { "t.ts": text }).configured([{ module: "t.ts" }]);
  assert.equal(transforms.info({ module: "t.ts" }).problem, undefined);
});
