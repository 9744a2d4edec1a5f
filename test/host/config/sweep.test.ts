/**
 * Every key of the host with every empty, blank and wrong value. The keys come from the schema, the expected result from an
 * independent JSON Schema check. Root cause: design/security.md "fail-open on empty".
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { givenConfig } from "../../../host/config/file.ts";
import { HOST_SECTIONS } from "../../../host/config/host-schema.ts";
import { hostConfig } from "../../../host/config/sections.ts";

type Node = Record<string, unknown>;
const VALUES: readonly unknown[] = [
  null,
  "",
  [],
  {},
  " ",
  "*",
  "0",
  "true",
  0,
  -1,
  1.5,
  true,
  false,
  [null],
  [""],
  ["*"],
  { x: 1 },
];

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether the schema accepts the value. Supports the keywords the host uses, and throws for others. */
function accepts(schema: Node, value: unknown): boolean {
  const types: Record<string, (value: unknown) => boolean> = {
    string: (it) => typeof it === "string",
    integer: (it) => Number.isInteger(it),
    number: (it) => typeof it === "number",
    boolean: (it) => typeof it === "boolean",
    null: (it) => it === null,
    array: Array.isArray,
    object: isPlain,
  };
  const checks: Record<string, (rule: never) => boolean> = {
    type: (rule: string) => types[rule]?.(value) ?? false,
    enum: (rule: unknown[]) => rule.includes(value),
    const: (rule: unknown) => rule === value,
    minLength: (rule: number) => typeof value !== "string" || value.length >= rule,
    maxLength: (rule: number) => typeof value !== "string" || value.length <= rule,
    pattern: (rule: string) => typeof value !== "string" || new RegExp(rule).test(value),
    minimum: (rule: number) => typeof value !== "number" || value >= rule,
    maximum: (rule: number) => typeof value !== "number" || value <= rule,
    minItems: (rule: number) => !Array.isArray(value) || value.length >= rule,
    maxItems: (rule: number) => !Array.isArray(value) || value.length <= rule,
    uniqueItems: (rule: boolean) => !rule || !Array.isArray(value) || new Set(value).size === value.length,
    minProperties: (rule: number) => !isPlain(value) || Object.keys(value).length >= rule,
    items: (rule: Node) => !Array.isArray(value) || value.every((item) => accepts(rule, item)),
    format: (rule: string) => {
      assert.equal(rule, "regex", "the sweep knows no other format");
      return typeof value !== "string" || isExpression(value);
    },
    required: (rule: string[]) => !isPlain(value) || rule.every((key) => key in value),
    anyOf: (rule: Node[]) => rule.some((choice) => accepts(choice, value)),
    properties: (rule: Record<string, Node>) =>
      !isPlain(value) || Object.entries(rule).every(([key, child]) => !(key in value) || accepts(child, value[key])),
    patternProperties: (rule: Record<string, Node>) =>
      !isPlain(value) ||
      Object.entries(rule).every(([pattern, child]) =>
        Object.entries(value).every(([key, item]) => !new RegExp(pattern).test(key) || accepts(child, item)),
      ),
    additionalProperties: (rule: boolean | Node) => {
      if (!isPlain(value) || rule === true) return true;
      const known = Object.keys((schema["properties"] ?? {}) as object);
      const patterns = Object.keys((schema["patternProperties"] ?? {}) as object);
      const rest = Object.keys(value).filter(
        (key) => !known.includes(key) && !patterns.some((pattern) => new RegExp(pattern).test(key)),
      );
      return rest.every((key) => rule !== false && accepts(rule, value[key]));
    },
  };
  const silent = [
    "description",
    "title",
    "default",
    "reload",
    "sensitive",
    "group",
    "order",
    "advanced",
    "placeholder",
    "tags",
  ];
  return Object.entries(schema).every(([keyword, rule]) => {
    if (silent.includes(keyword) || keyword.startsWith("~")) return true;
    const check = checks[keyword];
    assert.ok(check, `the sweep does not know the keyword ${keyword}`);
    return check(rule as never);
  });
}

function isExpression(text: string): boolean {
  try {
    return Boolean(new RegExp(text, "u"));
  } catch {
    return false;
  }
}

/** Every path in a schema; `*` is a map entry, `0` an item. */
function places(schema: Node, path: readonly string[]): { path: readonly string[]; schema: Node }[] {
  const below = [
    ...Object.entries((schema["properties"] ?? {}) as Record<string, Node>),
    ...Object.values((schema["patternProperties"] ?? {}) as Record<string, Node>).map(
      (child) => ["any", child] as const,
    ),
    ...(isPlain(schema["additionalProperties"]) ? [["any", schema["additionalProperties"]] as const] : []),
  ].flatMap(([key, child]) => places(child, [...path, key]));
  return [{ path, schema }, ...below];
}

/** `{ a: { b: value } }`, plus the keys that the parent objects require. */
function nest(path: readonly string[], value: unknown): Record<string, unknown> {
  return path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value) as Record<string, unknown>;
}

for (const [section, schema] of Object.entries(HOST_SECTIONS)) {
  describe(`every empty and wrong value in ${section}`, () => {
    const plain = JSON.parse(JSON.stringify(schema)) as Node;
    for (const place of places(plain, [section])) {
      it(`${place.path.join(".")} is accepted unchanged or refused by name`, () => {
        for (const value of VALUES) {
          const config = nest(place.path, value);
          const { config: read, issues } = hostConfig(givenConfig("/x/svc.json", config));
          const accepted = accepts(plain, config[section]);
          const told = `${JSON.stringify(value)}: ${JSON.stringify(issues)}`;
          assert.equal(issues.length === 0, accepted, told);
          if (accepted)
            assert.deepEqual(read[section as keyof typeof read], config[section], "no value is turned into another");
          for (const { path, message } of issues) {
            assert.ok(path === section || path.startsWith(`${section}.`) || path.startsWith(`${section}[`), told);
            assert.ok(message.length > 3, told);
          }
          if (!accepts(place.schema, value)) {
            const named = place.path.join(".");
            const near = issues.some(({ path }) => path.startsWith(named) || named.startsWith(path));
            assert.ok(near, `the issue is told where it is: ${told}`);
          }
        }
      });
    }
    it("an unknown key is refused", () => {
      const { issues } = hostConfig(givenConfig("/x/svc.json", { [section]: { "no such key": 1 } }));
      assert.match(String(issues[0]?.message), /unexpected property 'no such key'/);
    });
  });
}
