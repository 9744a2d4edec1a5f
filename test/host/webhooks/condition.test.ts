import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { compileCondition, compileHeaderMatch, ConditionError } from "../../../host/webhooks/condition.ts";

const payload = { action: "opened", n: 3, ok: true, none: null, labels: [{ name: "bug" }], deep: { er: "x" } };

describe("a condition on the payload", () => {
  const holds: Record<string, unknown>[] = [
    {},
    { action: "opened" },
    { n: 3, ok: true, none: null },
    { action: ["closed", "opened"] },
    { "labels[0].name": "bug" },
    { action: { not: "closed" } },
    { action: { not: ["closed", "edited"] } },
    { gone: { not: "closed" } },
    { none: { exists: true } },
    { gone: { exists: false } },
    { deep: { exists: true } },
  ];
  for (const when of holds) {
    it(`holds: ${JSON.stringify(when)}`, () => assert.equal(compileCondition(when)(payload), undefined));
  }

  const fails: [when: Record<string, unknown>, why: string][] = [
    [{ action: "closed" }, 'action is "opened", not "closed"'],
    [{ action: ["closed", "edited"] }, 'action is "opened", not one of "closed", "edited"'],
    [{ n: "3" }, "n is 3, not the expected value"],
    [{ ok: 1 }, "ok is true, not the expected value"],
    [{ none: false }, "none is null, not the expected value"],
    [{ gone: null }, "gone is missing, not the expected value"],
    [{ deep: "x" }, "deep is an object, not the expected value"],
    [{ labels: "bug" }, "labels is a list, not the expected value"],
    [{ action: { not: "opened" } }, 'action is "opened"'],
    [{ action: { not: ["closed", "opened"] } }, 'action is "opened"'],
    [{ none: { exists: false } }, "none exists"],
    [{ gone: { exists: true } }, "gone is missing"],
    [{ "action.length": 6 }, "action.length is missing, not the expected value"],
    [{ constructor: { exists: true } }, "constructor is missing"],
    [{ action: "opened", n: 4 }, "n is 3, not the expected value"],
  ];
  for (const [when, why] of fails) {
    it(`does not hold: ${JSON.stringify(when)}`, () => assert.equal(compileCondition(when)(payload), why));
  }

  it("cuts long values in its reason", () => {
    const why = compileCondition({ a: "b" })({ a: "x".repeat(100_000) });
    assert.match(String(why), /^a is "x{50,70}\.\.\.", not the expected value$/);
  });

  it("does not reveal a secret", () => {
    const why = compileCondition({ "auth.token": "right" })({ auth: { token: "wrong" } });
    assert.equal(why, "auth.token does not have the expected value");
  });

  const refused: [why: string, when: Record<string, unknown>, message: RegExp][] = [
    ["a key that is not a place", { "a | b": 1 }, /"a \| b" is not a place/],
    ["an empty key", { "": 1 }, /"" is not a place/],
    ["an object without operator", { a: {} }, /^a: give it/],
    ["an unknown operator", { a: { gt: 3 } }, /^a: give it/],
    ["two operators", { a: { exists: true, not: 1 } }, /^a: give it/],
    ["a word for exists", { a: { exists: "yes" } }, /^a: give it/],
    ["an object for not", { a: { not: { exists: true } } }, /^a\.not: give it/],
    ["an empty list", { a: [] }, /^a: an empty list/],
    ["an empty list for not", { a: { not: [] } }, /^a\.not: an empty list/],
    ["a list in a list", { a: [["b"]] }, /^a: give it/],
    ["NaN", { a: Number.NaN }, /^a: give it/],
    ["undefined", { a: undefined }, /^a: give it/],
  ];
  for (const [why, when, message] of refused) {
    it(`refuses ${why}`, () => {
      assert.throws(
        () => compileCondition(when),
        (error) => error instanceof ConditionError && message.test(error.message),
      );
    });
  }
});

describe("a condition on headers", () => {
  const headers = { "x-github-event": "push", "x-hook-token": "wrong" };

  it("accepts names in any case and one of several values", () => {
    assert.equal(compileHeaderMatch({})(headers), undefined);
    assert.equal(compileHeaderMatch({ "X-GitHub-Event": "push" })(headers), undefined);
    assert.equal(compileHeaderMatch({ "x-github-event": ["ping", "push"] })(headers), undefined);
  });

  const fails: [wanted: Record<string, string | string[]>, why: string][] = [
    [{ "x-github-event": "Push" }, 'header x-github-event is "push", not "Push"'],
    [{ "X-None": ["a", "b"] }, "header x-none is missing, not the expected value"],
    [{ constructor: "x" }, "header constructor is missing, not the expected value"],
    [{ "x-hook-token": "right" }, "header x-hook-token does not have the expected value"],
  ];
  for (const [wanted, why] of fails) {
    it(`does not hold: ${JSON.stringify(wanted)}`, () => assert.equal(compileHeaderMatch(wanted)(headers), why));
  }

  const refused: [why: string, wanted: Record<string, unknown>, message: RegExp][] = [
    ["a name with a space", { "x y": "a" }, /"x y" is not a valid header name/],
    ["an empty name", { "": "a" }, /"" is not a valid header name/],
    ["no values", { a: [] }, /header a: give it a text/],
    ["a number", { a: 1 }, /header a: give it a text/],
    ["one name in two spellings", { A: "1", a: "2" }, /header a is named twice/],
  ];
  for (const [why, wanted, message] of refused) {
    it(`refuses ${why}`, () => {
      assert.throws(
        () => compileHeaderMatch(wanted as Record<string, string>),
        (error) => error instanceof ConditionError && message.test(error.message),
      );
    });
  }
});
