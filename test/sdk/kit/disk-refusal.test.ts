import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { diskRefusal } from "@svc/kit/files";

const of = (code: string) => Object.assign(new Error("/secret/path"), { code });

describe("an error of the file system as a refusal", () => {
  const permissions = "INVALID_REQUEST" as const;
  const rows: [code: string, options: Parameters<typeof diskRefusal>[2], told: string | undefined][] = [
    ["ENOSPC", {}, "UNAVAILABLE x: the disk is full; an operator must free some space, again in 1000"],
    ["EMFILE", { permissions, isNamed: true }, "UNAVAILABLE x: too many files are open; try again, again in 1000"],
    ["EROFS", {}, undefined],
    ["EROFS", { permissions }, "INVALID_REQUEST x: the disk is read-only"],
    ["EROFS", { permissions: "UNAVAILABLE" }, "UNAVAILABLE x: the disk is read-only, again in 1000"],
    ["ENOENT", { permissions }, undefined],
    ["ENOENT", { isNamed: true }, "UNAVAILABLE x: it was removed meanwhile; try again, again in 1000"],
    ["ENAMETOOLONG", {}, undefined],
    ["ENAMETOOLONG", { isNamed: true }, "INVALID_REQUEST x: the name is too long; choose a shorter one"],
    ["EINVAL", { permissions, isNamed: true }, undefined],
  ];
  for (const [code, options, told] of rows) {
    it(`${code} ${JSON.stringify(options)}: ${told ?? "none"}`, () => {
      const refusal = diskRefusal(of(code), "x", options);
      const wait = refusal?.retryAfterMs === undefined ? "" : `, again in ${refusal.retryAfterMs}`;
      assert.equal(refusal && `${refusal.code} ${refusal.message}${wait}`, told);
    });
  }

  it("nothing else is one", () => {
    for (const thrown of [new Error("ENOSPC"), { code: "ENOSPC" }, undefined])
      assert.equal(diskRefusal(thrown, "x"), undefined);
  });
});
