import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { redact, REDACTED } from "../../../host/config/redact.ts";
import { restore } from "../../../host/config/restore.ts";

const S = REDACTED;
const reference = (id: string) => ({ source: "env", id });
const condition = (value: string) => ({ hooks: { mappings: [{ match: { headers: { "x-a": value } } }] } });
const ids = (first: string, token: string, second: string, other: string) => ({
  list: [
    { id: first, token },
    { id: second, token: other },
  ],
});

describe("the sentinel", () => {
  const rows: [why: string, value: unknown, current: unknown, expected: unknown][] = [
    ["becomes the current value", { token: S }, { token: "x" }, { token: "x" }],
    ["becomes a number", { password: S }, { password: 7 }, { password: 7 }],
    ["keeps a placeholder", { token: S }, { token: "${TOKEN}" }, { token: "${TOKEN}" }],
    [
      "stands for a whole object",
      { serviceAccount: S },
      { serviceAccount: { k: [1] } },
      { serviceAccount: { k: [1] } },
    ],
    ["of a reference is its id", { token: reference(S) }, { token: reference("A") }, { token: reference("A") }],
    ["of items goes by index", { apiKey: ["new", S] }, { apiKey: ["a", "b"] }, { apiKey: ["new", "b"] }],
    [
      "of entries with ids goes by id, also when they moved",
      ids("b", S, "a", S),
      ids("a", "A", "b", "B"),
      ids("b", "B", "a", "A"),
    ],
    ["stands for a text that looks like a secret", { url: S }, { url: "https://u:p@h/" }, { url: "https://u:p@h/" }],
    ["stands for an argument", { args: ["--token", S] }, { args: ["--token", "x"] }, { args: ["--token", "x"] }],
    ["stands for a condition", condition(S), condition("x"), condition("x")],
    ["leaves the rest as it is", { a: 1, token: S, b: [null] }, { a: 9, token: "x" }, { a: 1, token: "x", b: [null] }],
  ];
  for (const [why, value, current, expected] of rows) {
    it(why, () => assert.deepEqual(restore(value, [current], {}), expected));
  }

  it("uses the second source when the first has no value", () => {
    assert.deepEqual(restore({ token: S }, [{}, { token: "inherited" }], {}), { token: "inherited" });
    assert.deepEqual(restore({ token: S }, [{ token: "mine" }, { token: "inherited" }], {}), { token: "mine" });
  });

  const refusals: [why: string, value: unknown, current: unknown, key: string, hints?: Record<string, unknown>][] = [
    ["nothing is stored", { a: { token: S } }, {}, "a.token"],
    ["the list is shorter", { apiKey: ["x", S] }, { apiKey: ["x"] }, "apiKey[1]"],
    ["the id is new", { list: [{ id: "c", token: S }] }, { list: [{ id: "a", token: "A" }] }, "list[0].token"],
    ["the key is no secret", { port: S }, { port: 1 }, "port"],
    ["a hint says it is no secret", { token: S }, { token: "x" }, "token", { token: { sensitive: false } }],
    ["the text there looks like no secret", { url: S }, { url: "https://h/" }, "url"],
    ["it is part of a text", { token: `Bearer ${S}` }, { token: "x" }, "token"],
    ["it is part of a key", { [`a${S}`]: 1 }, {}, `a${S}`],
    ["it would come from a prototype", { secret: { toString: S } }, { secret: {} }, "secret.toString"],
  ];
  for (const [why, value, current, key, hints = {}] of refusals) {
    it(`is refused, naming the key, when ${why}`, () => {
      assert.throws(
        () => restore(value, [current], hints),
        (error: Error & { code?: string }) =>
          error.code === "INVALID_REQUEST" && error.message.includes(`in key ${key} is not valid as real data`),
      );
    });
  }
});

describe("redact, then restore", () => {
  const keys = "token password plain apiKey id serviceAccount source maxTokens pin".split(" ");
  const key = fc.constantFrom(...keys);
  const leaf = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null), fc.constantFrom("${A}", "", "x"));
  const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4 },
      leaf,
      fc.array(tie("tree"), { maxLength: 3 }),
      fc.dictionary(key, tie("tree"), { maxKeys: 4, noNullPrototype: true }),
    ),
  }));
  const hints = fc.dictionary(
    fc.constantFrom("pin", "plain", "plain.pin", "*.pin", "plain[]", "token"),
    fc.record({ sensitive: fc.boolean() }),
  );

  it("returns the original", () => {
    fc.assert(
      fc.property(fc.dictionary(key, tree, { noNullPrototype: true }), hints, (config, hints) => {
        const original = structuredClone(config);
        assert.deepEqual(restore(redact(config, hints), [config], hints), original);
        assert.deepEqual(config, original, "what was given is left alone");
      }),
      { numRuns: 500 },
    );
  });
});
