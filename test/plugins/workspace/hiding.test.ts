/** Values of a skill in the output of its command. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { hiding } from "../../../plugins/workspace/process/hiding.ts";

describe("the output of a command", () => {
  const cases: readonly (readonly [
    what: string,
    values: readonly string[],
    parts: readonly string[],
    shown: string,
  ])[] = [
    ["without values is unchanged", [], ["a", "b"], "ab"],
    ["hides a value", ["secret-1"], ["x secret-1 y"], "x [hidden] y"],
    ["hides a value that arrives in parts", ["secret-1"], ["x sec", "ret", "-1", " y"], "x [hidden] y"],
    ["shows what only begins like a value", ["secret-1"], ["x secr", "ets"], "x secrets"],
    ["shows the beginning of a value at the end", ["secret-1"], ["secret-"], "secret-"],
    ["hides the longer of two values", ["secret", "secret-1"], ["secret-1 secret"], "[hidden] [hidden]"],
    ["hides a value in parts that begins with another value", ["secret", "secret-1"], ["secret", "-1 x"], "[hidden] x"],
    ["hides a value at the end that may become a longer one", ["secret", "secret-1"], ["secret"], "[hidden]"],
    ["hides a value without the line end it was stored with", ["secret-1\n"], ["secret-1 "], "[hidden] "],
    ["shows values that may be words", ["true", "a"], ["true a"], "true a"],
    ["hides a value that overlaps itself", ["ababab"], ["aba", "babab"], "[hidden]ab"],
  ];
  for (const [what, values, parts, shown] of cases)
    it(what, () => {
      const hide = hiding(values);
      assert.equal(parts.map((part) => hide.add(part)).join("") + hide.end(), shown);
    });
});
