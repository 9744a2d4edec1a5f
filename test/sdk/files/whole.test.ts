/** Files that are there whole or not at all. The fault tests of the configuration fail each step of a replacement. */
import assert from "node:assert/strict";
import { link, open, readdir, readFile, rename, stat, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createFile, type FileCalls, replaceFile } from "@svc/sdk/files";
import { tempDirectory } from "../../host/config/scene.ts";

const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8);

describe("a whole file", () => {
  it("is made once, however many make it, and is the first one's", async (t) => {
    const directory = tempDirectory(t);
    const path = join(directory, "key");
    const made = await Promise.all(
      [1, 2, 3, 4, 5].map(async (n) => ((await createFile(path, `${n}`)) ? [`${n}`] : [])),
    );
    assert.deepEqual(made.flat(), [await readFile(path, "utf8")]);
    assert.equal(await modeOf(path), "600");
    assert.equal(await createFile(path, "later"), false);
    assert.deepEqual(await readdir(directory), ["key"]);
  });

  it("takes the place of another one, private, after what comes before", async (t) => {
    const directory = tempDirectory(t);
    const path = join(directory, "note");
    await writeFile(path, "old", { mode: 0o644 });
    const seen: string[] = [];
    await replaceFile(path, Buffer.from("new"), { before: async () => void seen.push(await readFile(path, "utf8")) });
    assert.deepEqual([seen, await readFile(path, "utf8"), await modeOf(path)], [["old"], "new", "600"]);
    assert.deepEqual(await readdir(directory), ["note"]);
  });

  it("stays as it was when what comes before throws", async (t) => {
    const directory = tempDirectory(t);
    const path = join(directory, "note");
    await writeFile(path, "old");
    await assert.rejects(replaceFile(path, "new", { before: () => Promise.reject(new Error("not now")) }), /not now/);
    assert.equal(await readFile(path, "utf8"), "old");
    assert.deepEqual(await readdir(directory), ["note"]);
  });

  for (const step of ["open", "link", "rename"] as const) {
    it(`leaves nothing of itself when ${step} fails`, async (t) => {
      const directory = tempDirectory(t);
      const path = join(directory, "note");
      const fail = () => Promise.reject(Object.assign(new Error("no space left"), { code: "ENOSPC" }));
      const files: FileCalls = { link, open, rename, unlink, [step]: fail };
      const work = step === "link" ? createFile(path, "new", files) : replaceFile(path, "new", { files });
      await assert.rejects(work, { code: "ENOSPC" });
      assert.deepEqual(await readdir(directory), []);
    });
  }

  it("needs its directory", async (t) => {
    const path = join(tempDirectory(t), "none/note");
    await assert.rejects(replaceFile(path, "new"), { code: "ENOENT" });
    await assert.rejects(createFile(path, "new"), { code: "ENOENT" });
  });
});
