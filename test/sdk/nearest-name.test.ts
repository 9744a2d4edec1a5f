import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { editDistance, nearestName } from "@svc/sdk/errors";

describe("words", () => {
  const slips: [one: string, other: string, distance: number][] = [
    ["same", "same", 0],
    ["form", "from", 1],
    ["tomatos", "tomatoes", 1],
    ["kitten", "sitting", 3],
    ["", "ab", 2],
  ];
  for (const [one, other, count] of slips)
    it(`are ${count} apart: "${one}", "${other}"`, () => assert.equal(editDistance(one, other, 3), count));
  it("are not counted beyond the limit", () => assert.ok(editDistance("abcdefgh", "hgfedcba", 2) > 2));
});

describe("the nearest name", () => {
  const known = ["sessions.list", "sessions.get", "send", "models.list", "acme/gpt-5", "acme/gpt-5-mini"];
  const names: [name: string, meant: string | undefined][] = [
    ["sesions.list", "sessions.list"],
    ["session.gets", "sessions.get"],
    ["Models.List", "models.list"],
    ["sned", "send"],
    ["acme/gtp-5", "acme/gpt-5"],
    ["no.such", undefined],
    ["", undefined],
    ["se", undefined],
    ["x".repeat(100_000), undefined],
  ];
  for (const [name, meant] of names)
    it(`to ${JSON.stringify(name.slice(0, 20))} is ${meant ?? "none"}`, () =>
      assert.equal(nearestName(name, known), meant));
});
