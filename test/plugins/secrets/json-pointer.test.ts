import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { follow, isPointer } from "../../../plugins/secrets/json-pointer.ts";

describe("JSON pointers", () => {
  const spelled: [text: string, ok: boolean][] = [
    ["/a", true],
    ["/", true],
    ["/a~1b/c~0d", true],
    ["/line\nbreak", true],
    [`/${"a".repeat(4_095)}`, true],
    [`/${"a".repeat(4_096)}`, false],
    ["", false],
    ["a", false],
    ["#/a", false],
    ["/a~", false],
    ["/a~2", false],
  ];
  it("start with / and have only the escapes ~0 and ~1", () => {
    for (const [text, ok] of spelled) assert.equal(isPointer(text), ok, text.slice(0, 20));
  });

  const root: unknown = JSON.parse(
    '{"a":{"b":"1"},"list":["x",{"y":"2"}],"":"3","c/d":"4","e~f":"5","__proto__":{"own":"6"},"text":"abc","none":null}',
  );
  const rows: [pointer: string, value: unknown][] = [
    ["/a/b", "1"],
    ["/list/0", "x"],
    ["/list/1/y", "2"],
    ["/", "3"],
    ["/c~1d", "4"],
    ["/e~0f", "5"],
    ["/__proto__/own", "6"], // an own key of the file is data like any other
    ["/__proto__/toString", undefined],
    ["/a/__proto__", undefined],
    ["/constructor/name", undefined],
    ["/list/length", undefined],
    ["/list/-", undefined],
    ["/list/00", undefined],
    ["/list/2", undefined],
    ["/text/0", undefined],
    ["/none/x", undefined],
    ["/a/b/c", undefined],
  ];
  it("name own values of objects and lists, and nothing of a prototype", () => {
    for (const [pointer, value] of rows) assert.equal(follow(root, pointer), value, pointer);
    for (const pointer of ["/__proto__", "/__proto__/polluted", "/toString"])
      assert.equal(follow({}, pointer), undefined);
  });
});
