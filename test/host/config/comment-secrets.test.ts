/** Comments of a configuration file: those that may contain a secret are hidden from readers and restored with the text. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { hideComments, restoreComments } from "../../../host/config/comment-secrets.ts";
import { REDACTED } from "../../../host/config/redact.ts";

const LINE = `// ${REDACTED} 1`;
const BLOCK = `/* ${REDACTED} 1 */`;

describe("comments of a configuration", () => {
  const cut: [text: string, shown: string][] = [
    ['{ a: 1, // apiKey: "canary"\n b: 2 }', `{ a: 1, ${LINE}\n b: 2 }`],
    ['{ /* "token": "canary", */ b: 2 }', `{ ${BLOCK} b: 2 }`],
    ['{\n  // headers: {\n  //   "x-custom": "canary",\n  // },\n  b: 2 }', `{\n  ${LINE}\n  b: 2 }`],
    ['{ // args: ["--pass", "canary"]\n}', `{ ${LINE}\n}`],
    ["{ // baseUrl: 'https://user:canary@h/'\n}", `{ ${LINE}\n}`],
    ["{ // old: sk-canarycanarycanary\n}", `{ ${LINE}\n}`],
    ["{ a: '\\'', // password: canary\n}", `{ a: '\\'', ${LINE}\n}`],
    ["{} /* secret: canary", `{} ${BLOCK}`],
  ];
  for (const [text, shown] of cut)
    it(`${JSON.stringify(text)} is shown without its secret, and fully restored`, () => {
      assert.equal(hideComments(text), shown);
      assert.equal(restoreComments(shown, text), text);
    });

  const shown = [
    '{ a: "// token: x", b: "/* token */" }',
    "{ // port of the office\n port: 1 }",
    "{ 'it''s': 1 }",
    "{}",
  ];
  for (const text of shown) it(`${JSON.stringify(text)} stays`, () => assert.equal(hideComments(text), text));

  it("are restored where their marker was moved; a marker without a comment stays", () => {
    const text = "{ /* token: a */ x: 1, /* plain */ y: 2, /* token: b */ }";
    assert.equal(hideComments(text), `{ ${BLOCK} x: 1, /* plain */ y: 2, /* ${REDACTED} 2 */ }`);
    assert.equal(
      restoreComments(`{ /* ${REDACTED} 2 */ z: 1, /* ${REDACTED} 9 */ }`, text),
      `{ /* token: b */ z: 1, /* ${REDACTED} 9 */ }`,
    );
  });
});
