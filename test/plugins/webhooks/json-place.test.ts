import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { describePlace, firstBadPlace } from "../../../plugins/webhooks/json-place.ts";

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

describe("the place where a text stops being JSON", () => {
  const rows: [text: string, place: string][] = [
    ["", "line 1, column 1, where the text ends"],
    ["{", "line 1, column 2, where the text ends"],
    ['{"a": 1', "line 1, column 8, where the text ends"],
    ['{"a": "b', "line 1, column 9, where the text ends"],
    ['{\n  "a": 1,\n}', 'line 3, column 1: "}"'],
    ["{a: 1}", 'line 1, column 2: "a"'],
    ["{'a': 1}", `line 1, column 2: "'"`],
    ['{"a" 1}', 'line 1, column 6: "1"'],
    ['{"a": 1 "b": 2}', 'line 1, column 9: "\\""'],
    ["[1,]", 'line 1, column 4: "]"'],
    ["[1}", 'line 1, column 3: "}"'],
    ["[1] 2", 'line 1, column 5: "2"'],
    ["01", 'line 1, column 2: "1"'],
    ["[1.]", 'line 1, column 3: "."'],
    ["nul", 'line 1, column 1: "n"'],
    ['"a\nb"', 'line 1, column 3: "\\n"'],
    ['["ü", "\\x"]', 'line 1, column 8: "\\\\"'],
    ["// note\n{}", 'line 1, column 1: "/"'],
    ["]", 'line 1, column 1: "]"'],
    [":", 'line 1, column 1: ":"'],
    ["[🙂]", 'line 1, column 2: "🙂"'],
    ["[\u009b]", 'line 1, column 2: "\\u009b"'],
  ];
  for (const [text, place] of rows) {
    it(`of ${JSON.stringify(text)} is ${place}`, () => {
      const found = firstBadPlace(text);
      assert.ok(found !== undefined && !isJson(text));
      assert.equal(describePlace(text, found), place);
    });
  }

  it("is none for JSON, whatever it holds and however it is indented", () => {
    fc.assert(
      fc.property(fc.json(), fc.integer({ min: 0, max: 4 }), (text, indent) => {
        assert.equal(firstBadPlace(JSON.stringify(JSON.parse(text), null, indent)), undefined);
      }),
    );
  });

  it("is there exactly when the runtime refuses the text", () => {
    const pieces = fc.constantFrom(...'{}[],:"\\1-0.e \nx'.split(""), '"a"', "true");
    const texts = fc.oneof(
      fc.array(pieces, { maxLength: 12 }).map((some) => some.join("")),
      fc.tuple(fc.json(), fc.nat(), fc.string({ maxLength: 2 })).map(([json, at, put]) => {
        const place = at % (json.length + 1);
        return json.slice(0, place) + put + json.slice(place + 1);
      }),
      fc.string(),
    );
    fc.assert(
      fc.property(texts, (text) => {
        const place = firstBadPlace(text);
        assert.equal(place === undefined, isJson(text));
        if (place !== undefined) assert.ok(place >= 0 && place <= text.length);
      }),
      { numRuns: 2_000 },
    );
  });

  it("is found in large and deep texts, too", () => {
    const large = [`"${"a".repeat(4e6)}`, `"${"\\n".repeat(2e6)}`, "[".repeat(1e6), `[${"1,".repeat(1e6)}`];
    for (const text of large) assert.equal(firstBadPlace(text), text.length);
  });
});
