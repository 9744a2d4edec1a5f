import assert from "node:assert/strict";
import { chmodSync, chownSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { it } from "node:test";
import { sharedPlace } from "@svc/sdk/files";
import { directory, put } from "../directory.ts";

it("a place that another user could change is named: the file, what it leads to, or a directory above it", async (t) => {
  const top = directory(t);
  const [above, file, link] = [join(top, "above"), join(top, "above", "file"), join(top, "link")];
  mkdirSync(above);
  put(file, "x", 0o600);
  symlinkSync(file, link);
  const rows: readonly (readonly [aboveMode: number, fileMode: number, found: string | undefined])[] = [
    [0o755, 0o644, undefined],
    [0o755, 0o666, file],
    [0o777, 0o600, above],
    [0o1777, 0o600, undefined],
    [0o775, 0o600, undefined], // the group is that of this process
  ];
  for (const [aboveMode, fileMode, found] of rows) {
    chmodSync(above, aboveMode);
    chmodSync(file, fileMode);
    const expected = found === undefined ? undefined : { path: found, fault: "writable" };
    for (const path of [file, link])
      assert.deepEqual(await sharedPlace(path), expected, `${aboveMode.toString(8)} ${path}`);
  }
  chmodSync(above, 0o1777);
  assert.equal(await sharedPlace(above, true), undefined, "for what lies in it");
  assert.deepEqual(await sharedPlace(above), { path: above, fault: "writable" });
  assert.equal(await sharedPlace(join(top, "missing")), undefined);
});

it(
  "a place of another user is named",
  { skip: process.getuid?.() !== 0 && "only root gives files away" },
  async (t) => {
    const file = join(directory(t), "file");
    put(file, "x", 0o600);
    chownSync(file, 65_534, 65_534);
    assert.deepEqual(await sharedPlace(file), { path: file, fault: "foreign" });
  },
);
