import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { toApiSchema } from "../../../plugins/provider-google/schema.ts";

describe("a schema for Gemini", () => {
  const object = (properties: object, more: object = {}) => ({ type: "object", properties, ...more });
  const rows: [why: string, schema: unknown, wire: object][] = [
    [
      "drops keywords that the API rejects",
      object(
        { a: { type: "string", format: "uri", minLength: 1, examples: ["x"], $comment: "c" } },
        { additionalProperties: false, $schema: "x", required: ["a", "gone"], patternProperties: {} },
      ),
      object({ a: { type: "string", minLength: 1 } }, { required: ["a"] }),
    ],
    ["keeps formats that it accepts", { type: "string", format: "date-time" }, { type: "string", format: "date-time" }],
    ["makes a constant an enumeration", { const: "x" }, { type: "string", enum: ["x"] }],
    [
      "names values that are no strings in the description",
      { type: "integer", enum: [1, 2], description: "A number." },
      { type: "integer", description: "A number. One of: 1, 2." },
    ],
    ["makes null nullable", { type: ["string", "null"] }, { type: "string", nullable: true }],
    [
      "makes several types a union",
      { type: ["string", "integer"], description: "d" },
      {
        anyOf: [
          { type: "string", description: "d" },
          { type: "integer", description: "d" },
        ],
        description: "d",
      },
    ],
    [
      "makes oneOf anyOf, without null",
      { oneOf: [{ type: "string" }, { type: "number" }, { type: "null" }], default: 1 },
      { anyOf: [{ type: "string" }, { type: "number" }], nullable: true },
    ],
    ["resolves a union of one", { anyOf: [{ type: "string" }, { type: "null" }] }, { type: "string", nullable: true }],
    [
      "merges allOf",
      { allOf: [object({ a: { type: "string" } }, { required: ["a"] }), object({ b: { type: "number" } })] },
      object({ a: { type: "string" }, b: { type: "number" } }, { required: ["a"] }),
    ],
    [
      "replaces references",
      object({ a: { $ref: "#/$defs/x~1y", description: "mine" } }, { $defs: { "x/y": { type: "string" } } }),
      object({ a: { type: "string", description: "mine" } }),
    ],
    [
      "ends at a reference to itself",
      object(
        { next: { $ref: "#" }, kids: { type: "array", items: { $ref: "#/$defs/n" } } },
        { $defs: { n: object({ up: { $ref: "#/$defs/n" } }) } },
      ),
      object({
        next: object({
          next: { type: "object" },
          kids: { type: "array", items: object({ up: { type: "object" } }) },
        }),
        kids: { type: "array", items: object({ up: { type: "object" } }) },
      }),
    ],
    ["gives a lost reference a type", { $ref: "#/$defs/gone" }, { type: "string" }],
    [
      "gives items and values of any kind a type",
      object({ a: true, b: { type: "array" } }),
      object({ a: { type: "string" }, b: { type: "array", items: { type: "string" } } }),
    ],
    ["survives what is no schema", 7, { type: "string" }],
    ["does not read prototypes", { $ref: "#/constructor/prototype" }, { type: "string" }],
  ];
  for (const [why, schema, wire] of rows) it(why, () => assert.deepEqual(toApiSchema(schema), wire));

  it("stays small when references multiply", () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 40 }, (_, index) => [
        `d${index}`,
        object({ a: { $ref: `#/$defs/d${index + 1}` }, b: { $ref: `#/$defs/d${index + 1}` } }),
      ]),
    );
    assert.ok(JSON.stringify(toApiSchema({ $ref: "#/$defs/d0", $defs })).length < 500_000);
  });
});
