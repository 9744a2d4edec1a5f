/** Which paths lie below a directory. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isInside } from "@svc/sdk/files";

describe("isInside", () => {
  const rows: [directory: string, path: string, inside: boolean][] = [
    ["/a", "/a", true],
    ["/a", "/a/b", true],
    ["/a", "/a/b/c", true],
    ["/a/", "/a/b", true],
    ["/", "/a", true],
    ["/a", "/ab", false],
    ["/a/b", "/a", false],
    ["/a", "/b", false],
    ["/a", "/a/..b", true],
    ["/a", "/a/../b", false],
  ];
  for (const [directory, path, inside] of rows) {
    it(`${path} in ${directory}: ${inside}`, () => assert.equal(isInside(directory, path), inside));
  }
});
