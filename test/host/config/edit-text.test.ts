import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import JSON5 from "json5";
import { rewriteText } from "../../../host/config/edit-text.ts";
import type { PlainObject } from "../../../host/config/plain-data.ts";

const WRITTEN = `// head
{
  // about the gateway
  gateway: {
    port: 1, // inline
    bind: 'lan',
    /* before the end */
  },
  list: [
    // the first
    { id: "a" },
    { id: "b" }, // the second
    [1, 2],
  ],
  "x": 0x10,
}
// end
`;
const COMMENTS = WRITTEN.match(/\/\/ .*|\/\*.*\*\//g) ?? [];

interface Written {
  gateway: Record<string, unknown>;
  list: Record<string, unknown>[];
  x?: number;
  added?: unknown;
}

const rewrite = async (text: string, change: (config: Written) => void) => {
  const next = JSON5.parse<Written>(text);
  change(next);
  const rewritten = await rewriteText(text, { ...next });
  assert.deepEqual(JSON5.parse(rewritten), next);
  return rewritten;
};

describe("an edit of the text", () => {
  it("changes one value and nothing else", async () => {
    assert.equal(await rewrite(WRITTEN, (config) => (config.gateway.port = 7)), WRITTEN.replace("port: 1", "port: 7"));
  });
  it("without a change keeps the text", async () => assert.equal(await rewrite(WRITTEN, () => {}), WRITTEN));
  it("adds a key in the style of the file", async () => {
    const text = await rewrite(WRITTEN, (config) => (config.gateway.mode = "x"));
    assert.match(text, /\n    mode: 'x',\n/);
    for (const comment of COMMENTS) assert.ok(text.includes(comment), comment);
  });
  const removals: [what: string, change: (config: Written) => void][] = [
    ["a key", (config) => delete config.x],
    ["an entry of a list", (config) => config.list.splice(2, 1)],
  ];
  for (const [what, change] of removals)
    it(`removes ${what} and keeps the comments of the others`, async () => {
      const text = await rewrite(WRITTEN, change);
      for (const comment of COMMENTS) assert.ok(text.includes(comment), comment);
    });
  it("inside a list changes only that entry", async () => {
    const changed = await rewrite(WRITTEN, (config) => (config.list[1] = { id: "c" }));
    assert.equal(changed, WRITTEN.replace('"b"', '"c"'));
  });
  it("keeps plain JSON plain JSON", async () => {
    const text = JSON.stringify({ gateway: { b: [1, { c: 2 }] }, list: [1] }, null, 2);
    const edited = await rewrite(text, (config) => {
      config.list.push({ z: null });
      config.added = [1, { deep: true }];
    });
    assert.doesNotThrow(() => JSON.parse(edited));
  });
  it("keeps a byte order mark and CRLF line ends", async () => {
    const text = '\ufeff{\r\n  "x": 1, // x\r\n  "b": 2\r\n}\r\n';
    assert.equal(await rewrite(text, (config) => (config.x = 3)), text.replace('"x": 1', '"x": 3'));
  });

  const plain: [why: string, text: string][] = [
    ["empty text", ""],
    ["an empty object", "{ }\n"],
    ["text that cannot be read", "{ a: "],
    ["a key given twice", "{a: 1, a: 2}"],
  ];
  for (const [why, text] of plain) {
    it(`writes plain JSON, indent 2, for ${why}`, async () => {
      const next = { a: 3, b: { c: [] } };
      assert.equal(await rewriteText(text, next), `${JSON.stringify(next, null, 2)}\n`);
    });
  }

  it("uses JSON5 for values that JSON cannot represent", async () => {
    const next = { a: Infinity, b: Number.NaN };
    assert.deepEqual(JSON5.parse(await rewriteText("", next)), next);
  });
  it("writes a key named __proto__ as a key", async () => {
    const next = JSON.parse('{"a": 1, "__proto__": {"b": 1}}');
    assert.deepEqual(JSON.parse(await rewriteText('{"a": 0}', next)), next);
  });
});

describe("any two configurations", () => {
  const key = fc.constantFrom("a", "b", "c-d", "e f", "ü", "__proto__", "true", "1");
  const leaf = fc.oneof(
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.string({ unit: "binary" }),
    fc.boolean(),
    fc.constant(null),
  );
  const tree = fc.letrec<{ tree: unknown }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 3 },
      leaf,
      fc.array(tie("tree"), { maxLength: 3 }),
      fc.array(fc.tuple(key, tie("tree")), { maxLength: 3 }).map((entries) => Object.fromEntries(entries)),
    ),
  })).tree;
  const config = fc
    .array(fc.tuple(key, tree), { maxLength: 4 })
    .map((entries) => Object.fromEntries(entries) as PlainObject);
  const normal = (value: unknown) => JSON.parse(JSON.stringify(value)); // -0 is 0
  const style = fc.constantFrom<(value: unknown) => string>(
    (value) => JSON.stringify(value),
    (value) => `${JSON.stringify(value, null, 2)}\n`,
    (value) => JSON5.stringify(value, null, 2),
    (value) => `// top\n${JSON5.stringify(value, { space: 4, quote: "'" })}\n/* bottom */\n`,
  );

  it("the text after the edit represents the second one", { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(config, config, style, async (before, after, write) => {
        const text = await rewriteText(write(before), after);
        assert.deepEqual(normal(JSON5.parse(text)), normal(after));
      }),
      { numRuns: 400 },
    );
  });

  it("comments at other keys survive", { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(leaf, fc.array(leaf), fc.dictionary(fc.constantFrom("x", "y"), leaf)),
        async (value) => {
          const text = `{\n  // one\n  one: 1, // first\n  edited: { x: 1 },\n  /* two */\n  two: [\n    // item\n    2,\n  ],\n}\n`;
          const edited = await rewriteText(text, { one: 1, edited: value, two: [2] });
          for (const comment of ["// one", "// first", "/* two */", "// item"])
            assert.ok(edited.includes(comment), edited);
        },
      ),
      { numRuns: 200 },
    );
  });
});
