import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parsePlace, readPlace } from "../../../host/webhooks/payload-path.ts";

const payload: unknown = JSON.parse(`{
  "a": { "b": [{ "c": 1 }, { "c": 2 }], "empty": null, "text": "abc", "first name": "Ada", "$ref": "#/x" },
  "m": [[1, 2], [3]], "0": "zero",
  "__proto__": { "x": 1 }, "constructor": { "x": 1 }, "prototype": { "x": 1 }
}`);

describe("a place", () => {
  const rows: [place: string, value: unknown][] = [
    ["a.b[0].c", 1],
    ["a.b[1].c", 2],
    ["m[0][1]", 2],
    ["m[1]", [3]],
    ["m.1[0]", 3],
    ["0", "zero"],
    ["a.empty", null],
    ["a.first name", "Ada"],
    ["a.$ref", "#/x"],
    ["a.b[2].c", undefined],
    ["a.b.c", undefined],
    ["a.b.length", undefined],
    ["a.text.length", undefined],
    ["a.text[0]", undefined],
    ["a[0]", undefined],
    ["a.b.map", undefined],
    ["a.toString", undefined],
    ["a.hasOwnProperty", undefined],
    ["__proto__", undefined],
    ["__proto__.x", undefined],
    ["constructor.x", undefined],
    ["prototype.x", undefined],
    ["a.__proto__", undefined],
    ["a.constructor.name", undefined],
    ["gone.deep[0].er", undefined],
    ["a.empty.x", undefined],
  ];
  for (const [text, value] of rows) {
    it(`${text} is ${JSON.stringify(value) ?? "missing"}`, () => {
      const place = parsePlace(text);
      assert.ok(place);
      assert.deepEqual(readPlace(payload, place), value);
    });
  }

  it("of a list begins with an index", () => {
    const place = parsePlace("[1].id");
    assert.ok(place);
    assert.equal(readPlace([{ id: 1 }, { id: 2 }], place), 2);
  });

  it("in nothing at all is missing", () => {
    const place = parsePlace("a.b");
    assert.ok(place);
    for (const value of [undefined, null, 0, "a", true]) assert.equal(readPlace(value, place), undefined);
  });

  const none = [
    ["", " ", ".", "a.", ".a", "a..b", "a[", "a[]", "a[-1]", "a[x]", "a]", "a[0", "a[0]b", "a[1.5]", "a[1234567890]"],
    ['a["x"]', "a['x']", "a | upper", "a || b", "f(a)", "a ? b : c", "a = b", "#if a", "/if", "!a", "{a", "a}"],
    ["a. b", "a .b", " a", "a ", "a\u0000b", "a\nb"],
  ].flat();
  for (const text of none) it(`is not ${JSON.stringify(text)}`, () => assert.equal(parsePlace(text), undefined));
});
