import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { expose, type Family } from "../../../plugins/metrics/exposition.ts";
import { parseExposition } from "./strict-parser.ts";

const gauge = (samples: Family["samples"], help = "help"): Family => ({ name: "g", help, type: "gauge", samples });

describe("the text", () => {
  it("has help and type above each family, and omits families without samples", () => {
    const text = expose([gauge([{ value: 1.5 }]), { ...gauge([]), name: "none" }]);
    assert.equal(text, "# HELP g help\n# TYPE g gauge\ng 1.5\n");
  });

  const values: [number, string][] = [
    [0, "0"],
    [-1, "-1"],
    [1e21, "1e+21"],
    [1e-7, "1e-7"],
    [Number.POSITIVE_INFINITY, "+Inf"],
    [Number.NEGATIVE_INFINITY, "-Inf"],
    [Number.NaN, "NaN"],
  ];
  for (const [value, text] of values)
    it(`writes ${value} as ${text}`, () => assert.ok(expose([gauge([{ value }])]).endsWith(`\ng ${text}\n`)));

  const odd = ['"quoted"', "back\\slash", "line\nbreak", '\\"\n\\n', 'a",b="c', "{}, =", "ä 🙂", ""];
  for (const value of odd) {
    it(`escapes ${JSON.stringify(value)} as a label and as help`, () => {
      const parsed = parseExposition(expose([gauge([{ labels: { a: value, b: "z" }, value: 1 }], value || "x")]));
      assert.deepEqual(parsed.get("g")?.series, [{ name: "g", labels: { a: value, b: "z" }, value: 1 }]);
    });
  }
});

describe("the strict parser of these tests", () => {
  const wrong: [what: string, text: string][] = [
    ["a truncated text", "# HELP g h\n# TYPE g gauge\ng 1"],
    ["a series without a family", "g 1\n"],
    ["a family without help", "# TYPE g gauge\ng 1\n"],
    ["a series of another family", "# HELP g h\n# TYPE g gauge\nh 1\n"],
    ["a family twice", "# HELP g h\n# TYPE g gauge\ng 1\n# HELP g h\n# TYPE g gauge\ng 2\n"],
    ["a series twice", '# HELP g h\n# TYPE g gauge\ng{a="1",b="2"} 1\ng{b="2",a="1"} 1\n'],
    ["an open quote", '# HELP g h\n# TYPE g gauge\ng{a="1} 1\n'],
    ["a bare backslash", '# HELP g h\n# TYPE g gauge\ng{a="\\x"} 1\n'],
    ["a value that is not a number", "# HELP g h\n# TYPE g gauge\ng one\n"],
    ["a counter without the suffix", "# HELP g h\n# TYPE g counter\ng 1\n"],
    ["a histogram without +Inf", '# HELP g h\n# TYPE g histogram\ng_bucket{le="1"} 1\ng_sum 1\ng_count 1\n'],
    [
      "a histogram that falls",
      '# HELP g h\n# TYPE g histogram\ng_bucket{le="1"} 2\ng_bucket{le="+Inf"} 1\ng_sum 1\ng_count 1\n',
    ],
  ];
  for (const [what, text] of wrong) it(`refuses ${what}`, () => assert.throws(() => parseExposition(text)));
});
