import assert from "node:assert/strict";
import { describe, it } from "node:test";
import plugin from "../../../plugins/preset-generic/plugin.ts";
import { make, presetOf } from "../preset-scene.ts";

const { id, preset } = presetOf(plugin, {});
const transformed = async (payload: unknown) => (await make(preset, { path: "generic", payload }))?.transformed;

describe("the preset generic", () => {
  it("has one mapping, for one path", async () => {
    assert.equal(id, "generic");
    assert.equal(preset.mappings.length, 1);
    const made = await make(preset, { path: "generic", payload: { text: "x" } });
    assert.deepEqual(made?.texts, { name: "Webhook" });
    assert.equal(await make(preset, { path: "other", payload: {} }), undefined);
  });

  const rows: [why: string, payload: unknown, message: string][] = [
    ["a text", { text: "Disk full" }, "Disk full"],
    [
      "title, text and link",
      { title: "Alert", message: "Disk full", url: "https://x/1" },
      "Alert\nhttps://x/1\n\nDisk full",
    ],
    ["the first of several texts", { message: "a", text: "b" }, 'a\n\nAlso sent:\n{\n  "text": "b"\n}'],
    ["a blank before a text", { message: " ", text: "b" }, 'b\n\nAlso sent:\n{\n  "message": " "\n}'],
    [
      "what else was sent",
      { title: "T", level: 3, tags: ["a"] },
      'T\n\nAlso sent:\n{\n  "level": 3,\n  "tags": [\n    "a"\n  ]\n}',
    ],
    ["an object as usual field", { body: { a: 1 } }, '{\n  "body": {\n    "a": 1\n  }\n}'],
    ["fields nobody knows", { a: 1, b: null, c: "" }, '{\n  "a": 1\n}'],
    ["a list", [1, { a: 2 }], '[\n  1,\n  {\n    "a": 2\n  }\n]'],
  ];
  for (const [why, payload, message] of rows) {
    it(`makes a message of ${why}`, async () =>
      assert.deepEqual(await transformed(payload), { kind: "agent", message }));
  }

  for (const payload of [{}, [], { source: "ci" }, { text: "", a: null }]) {
    it(`makes nothing of ${JSON.stringify(payload)}`, async () => assert.equal(await transformed(payload), undefined));
  }

  it("takes the source as name when it is a word", async () => {
    assert.deepEqual(await transformed({ source: "ci/build-1", text: "x" }), {
      kind: "agent",
      message: "x",
      name: "ci/build-1",
    });
    for (const source of ["two words", "a\nb", "x".repeat(65), 5, "<<<"]) {
      const made = (await transformed({ source, text: "x" })) as { name?: string; message: string };
      assert.equal(made.name, undefined);
      assert.equal(made.message, `x\n\nAlso sent:\n${JSON.stringify({ source }, null, 2)}`);
    }
  });

  it("reads own fields only", async () => {
    assert.deepEqual(await transformed(JSON.parse('{"__proto__": {"text": "x"}}')), {
      kind: "agent",
      message: '{\n  "__proto__": {\n    "text": "x"\n  }\n}',
    });
  });
});
