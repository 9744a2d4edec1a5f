import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { transformPathProblem } from "../../../sdk/files/transform-path.ts";

const ROOT = "/home/someone/.svc/hooks/transforms";

describe("a module path", () => {
  for (const path of ["build.ts", "./build.ts", "git/hub.mjs", "a..b.ts", "...ts", "a b.ts", "ü.ts", "x~.ts"])
    it(`may be ${path}`, () => assert.equal(transformPathProblem(path), undefined));

  const refused: [path: string, why: RegExp][] = [
    ["", /blank/],
    [" \t", /blank/],
    ["/etc/passwd.ts", /absolute/],
    ["~/build.ts", /~/],
    ["C:build.ts", /:/],
    ["C:\\build.ts", /:|backslash/],
    ["file:///build.ts", /:/],
    ["..", /\.\./],
    ["../build.ts", /\.\./],
    ["a/../build.ts", /\.\./],
    ["..\\build.ts", /\.\./],
    ["a/..", /\.\./],
    ["a\\build.ts", /backslash/],
    ["\\\\server\\build.ts", /backslash/],
    ["build.ts\u0000.js", /control/],
    ["build\n.ts", /control/],
    ["\u007f.ts", /control/],
  ];
  for (const [path, why] of refused)
    it(`may not be ${JSON.stringify(path)}`, () => assert.match(transformPathProblem(path) ?? "", why));
});

describe("the directory of the configuration", () => {
  for (const path of ["git", "./git", "git/hub", ROOT, `${ROOT}/git`, `${ROOT}/`])
    it(`may be ${path}`, () => assert.equal(transformPathProblem(path, ROOT), undefined));

  const refused: [path: string, why: RegExp][] = [
    ["/etc", /inside/],
    [`${ROOT}-other`, /inside/],
    ["/home/someone/.svc/hooks", /inside/],
    [`${ROOT}/../../secrets`, /\.\./],
    [`${ROOT}/a:b`, /:/],
    ["..", /\.\./],
    ["~/transforms", /~/],
    ["", /blank/],
  ];
  for (const [path, why] of refused)
    it(`may not be ${JSON.stringify(path)}`, () => assert.match(transformPathProblem(path, ROOT) ?? "", why));
});
