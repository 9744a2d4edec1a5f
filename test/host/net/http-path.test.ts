import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { canonicalPath, withPlainSlashes } from "../../../host/net/http/path.ts";

describe("the canonical spelling of a path", () => {
  const accepted: [target: string, path: string][] = [
    ["/", "/"],
    ["/a/b", "/a/b"],
    ["/a/", "/a/"],
    ["/a/b?x=/../y&z=%2f", "/a/b"],
    ["/a#b", "/a"],
    ["/a%20b", "/a b"],
    ["/a%3Fb", "/a?b"],
    ["/%61", "/a"],
    ["/caf%C3%A9", "/café"],
    ["/cafe%CC%81", "/café"],
    ["/a;b=c", "/a;b=c"],
    ["/...", "/..."],
    ["/.a", "/.a"],
    ["/a.", "/a."],
    ["/a:b@c", "/a:b@c"],
  ];
  for (const [target, path] of accepted) it(`${target} is ${path}`, () => assert.equal(canonicalPath(target), path));

  const refused: [why: string, target: string][] = [
    ["nothing", ""],
    ["no slash", "a"],
    ["a star", "*"],
    ["a whole address", "http://127.0.0.1/a"],
    ["a query alone", "?a"],
    ["a doubled slash", "/a//b"],
    ["a doubled slash in front", "//a"],
    ["one dot", "/a/./b"],
    ["one dot at the end", "/a/."],
    ["two dots", "/a/../b"],
    ["two dots at the end", "/a/.."],
    ["encoded dots", "/a/%2e%2e/b"],
    ["half encoded dots", "/a/.%2E/b"],
    ["an encoded slash", "/a%2fb"],
    ["an encoded slash in capitals", "/a%2Fb"],
    ["a backslash", "/a\\b"],
    ["an encoded backslash", "/a%5cb"],
    ["an encoded nul", "/a%00"],
    ["an encoded line end", "/a%0d%0ab"],
    ["an encoded tab", "/a%09b"],
    ["an encoded delete", "/a%7f"],
    ["encoded twice", "/a/%252e%252e/b"],
    ["an encoded percent sign", "/a%25b"],
    ["an incomplete escape", "/a%"],
    ["an invalid escape", "/a%zz"],
    ["bytes that are not UTF-8", "/a%ff"],
    ["an overlong slash", "/a%c0%afb"],
  ];
  for (const [why, target] of refused) {
    it(`${JSON.stringify(target)} has none: ${why}`, () => assert.equal(canonicalPath(target), undefined));
  }
});

describe("a target with plain slashes", () => {
  const rows: [target: string, plain: string | undefined][] = [
    ["/open/a%2Fb%2fc?x=%2f", "/open/a/b/c?x=%2f"],
    ["/open/a%2f..", "/open/a/.."],
    ["/open/a", undefined],
    ["/open/a?x=%2f", undefined],
    ["/open%2fa", undefined],
    ["/other/a%2fb", undefined],
  ];
  for (const [target, plain] of rows)
    it(`${target}: ${plain}`, () => assert.equal(withPlainSlashes(target, ["/open/"]), plain));
});
