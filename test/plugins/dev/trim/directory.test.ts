/** A directory that is written whole, or not at all. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { createDirectory } from "../../../../plugins/dev/trim/directory.ts";
import { root } from "../../../checkout.ts";
import { directory as temporary } from "../../../directory.ts";

describe("a new directory", () => {
  it("holds what it is filled with, and says what filling gives back", async (t) => {
    const top = temporary(t);
    writeFileSync(join(top, "tool"), "#!", { mode: 0o755 });
    const path = join(top, "a/b");
    const result = await createDirectory(path, async (directory) => {
      await directory.copy(top, [{ path: "tool", bytes: 2 }], "bin/x");
      await directory.write("note", "text");
      return 7;
    });
    assert.equal(result, 7);
    assert.deepEqual(readdirSync(path).sort(), ["bin", "note"]);
    assert.equal(readFileSync(join(path, "bin/x/tool"), "utf8"), "#!");
  });

  it("is gone after a failure, with the directories that were made for it; an empty one that was there stays", async (t) => {
    const top = temporary(t);
    for (const path of [join(top, "a/b"), top]) {
      const failing = createDirectory(path, async (directory) => {
        await directory.write("note", "text");
        throw new Error("no");
      });
      await assert.rejects(failing, { message: "no" });
      assert.deepEqual(readdirSync(top), []);
    }
  });

  it("is refused when there is something in it, which is left alone", async (t) => {
    const top = temporary(t);
    writeFileSync(join(top, "mine"), "");
    await assert.rejects(
      createDirectory(top, () => Promise.reject(new Error("filled"))),
      { name: "OccupiedDirectory", message: `${top} is not empty\nNext: name a directory that does not exist yet` },
    );
    assert.deepEqual(readdirSync(top), ["mine"]);
  });

  it("is gone when the process is interrupted while it is filled", async (t) => {
    const path = join(temporary(t), "a");
    const module = pathToFileURL(join(root, ".build/plugins/dev/trim/directory.js")).href;
    const script = `const { createDirectory } = await import(${JSON.stringify(module)});
await createDirectory(${JSON.stringify(path)}, async (directory) => {
  await directory.write("note", "text");
  process.stdout.write("filling");
  await new Promise((done) => setTimeout(done, 60_000));
});`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(child.stdout, "data");
    assert.equal(existsSync(join(path, "note")), true);
    child.kill("SIGTERM");
    assert.deepEqual((await once(child, "exit"))[0], 130);
    assert.equal(existsSync(path), false);
  });
});
