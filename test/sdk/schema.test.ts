import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  closedSchema,
  deepFreeze,
  describeViolations,
  matches,
  NonEmpty,
  Strict,
  Type,
  violations,
  withDefaults,
} from "@svc/sdk";

const Schema = Strict({
  name: NonEmpty,
  size: Type.Optional(Type.Integer({ minimum: 1, default: 5 })),
  mode: Type.Optional(Type.Union([Type.Literal("a"), Type.Literal("b")])),
  level: Type.Optional(Type.Enum(["low", "high"])),
  inner: Type.Optional(Strict({ deep: Type.Array(Type.String()) })),
});

describe("violations", () => {
  const cases: [value: unknown, text: string][] = [
    [{ name: "x" }, ""],
    [5, "at root: must be object"],
    [{}, "at root: must have required properties name"],
    [{ name: "x", more: 1 }, "at root: unexpected property 'more'"],
    [{ name: "x", inner: { deep: [], more: 1 } }, "at /inner: unexpected property 'more'"],
    [{ name: "x", inner: { deep: ["a", 1] } }, "at /inner/deep/1: must be string"],
    [{ name: "x", mode: 1 }, 'at /mode: must be one of "a", "b"'],
    [{ name: "x", level: "mid" }, 'at /level: must be one of "low", "high"'],
    [{ name: "", size: 1.5 }, "at /name: must not have fewer than 1 characters; at /size: must be integer"],
  ];
  for (const [value, text] of cases) {
    it(`of ${JSON.stringify(value)} are told: ${text || "none"}`, () => {
      assert.equal(describeViolations(Schema, value), text);
      assert.equal(matches(Schema, value), text === "");
    });
  }

  it("are at most twenty", () => {
    const many = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`k${index}`, 1]));
    const found = violations(Schema, { name: "x", ...many });
    assert.ok(found.length > 0 && found.length <= 20, `${found.length}`);
    assert.deepEqual(found[0], { path: "", message: "unexpected property 'k0'", unexpected: "k0" });
  });

  it("prototype names are ordinary unknown keys", () => {
    assert.equal(matches(Schema, JSON.parse('{"name":"x","__proto__":{"size":1}}')), false);
    assert.equal(({} as Record<string, unknown>)["size"], undefined);
  });
});

it("withDefaults copies, fills in and does not validate", () => {
  const given = { name: "x" };
  assert.deepEqual(withDefaults(Schema, given), { name: "x", size: 5 });
  assert.deepEqual(given, { name: "x" });
  assert.deepEqual(withDefaults(Schema, { name: 1 }), { name: 1, size: 5 });
});

describe("closedSchema", () => {
  it("refuses unknown keys, keeps defaults, and leaves the original alone", () => {
    const open = Type.Object({ size: Type.Integer({ default: 5 }) });
    const closed = closedSchema(open);
    assert.deepEqual(withDefaults(closed, {}), { size: 5 });
    assert.deepEqual([matches(closed, { size: 1, more: 1 }), matches(open, { size: 1, more: 1 })], [false, true]);
  });

  it("leaves a schema alone that says something about further keys", () => {
    const given = Type.Object({}, { additionalProperties: Type.String() });
    assert.equal(closedSchema(given), given);
    const map = Type.Record(Type.String(), Type.Integer());
    assert.equal(closedSchema(map), map);
  });
});

it("deepFreeze freezes plain data and nothing else", () => {
  const map = new Map();
  const value = deepFreeze({ list: [{ n: 1 }], map });
  assert.ok(Object.isFrozen(value.list[0]) && !Object.isFrozen(map));
});
